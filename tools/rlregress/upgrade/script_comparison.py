"""Records and compares a user's script on both versions, and finds the culprits of differences."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from rlregress import progress
from rlregress.model.recorded_traces import ComparedTraining, UncomparedTraining
from rlregress.model.upgrade_result import ScriptNames, ScriptResult
from rlregress.trace.child_processes import note_skipped_task
from rlregress.upgrade.both_versions import BothVersions, ExecutedCode
from rlregress.upgrade.evidence import compared_trainings, names_in_script
from rlregress.upgrade.evidence.compared_trainings import Training
from rlregress.upgrade.recordings import RecordedTrainings
from rlregress.upgrade.verdict import entries


def compare_script(versions: BothVersions, script: Training) -> tuple[ScriptResult, ExecutedCode]:
    """Return the result of a script on both versions, and the code that it executed."""
    pieces = versions.inventory.pieces
    recorded = RecordedTrainings(
        versions=versions,
        trainings=[script],
        differing=[piece for piece in pieces if piece.can_change_results],
    )
    steps = _record_capped_script(recorded)
    if script.name in recorded.old and script.name in recorded.new:
        recorded.compare(recorded.trainings)
    else:
        note_skipped_task(f"{script.name}; --steps records fewer environment steps")
        recorded.not_traced.append(
            compared_trainings.report_training_not_in_time(script, versions.options.minutes)
        )
    recorded.explain(pieces, {})
    compared_script = recorded.traced[0] if recorded.traced else recorded.not_traced[0]
    result = ScriptResult(
        training=compared_script,
        entries=(entries.make_untraced_steps_entry(script.name, steps),) if steps else (),
        names=_find_broken_names_in_script(versions, compared_script),
    )
    return recorded.add_to_result(result)


def _record_capped_script(recorded: RecordedTrainings) -> int:
    """Record the script; return its environment steps if it was cut there, else 0.

    A script that has not ended in time is compared as far as both versions have come.
    """
    (script,), versions = recorded.trainings, recorded.versions
    name = script.name
    progress.begin_stage(f"recording {name} on both versions", 2)
    with versions.options.limit_stage("script"):
        old, new = versions.runtimes.record_on_both_versions([script], {"old": True, "new": True})
    recorded.old, recorded.new = old, new
    if name not in old or name not in new:
        return 0
    steps = compared_trainings.count_common_steps(old[name], new[name])
    if steps is None:
        return 0
    if not steps:
        recorded.old, recorded.new = {}, {}
        return 0
    versions.options.say(f"{name} has not ended: its first {steps} environment steps are compared")
    note_skipped_task(f"{name} after {steps} environment steps; --steps records fewer")
    recorded.old, recorded.new = (
        {name: compared_trainings.cut_trace_at_step(traces[name], steps)} for traces in (old, new)
    )
    recorded.trainings = [compared_trainings.cut_training_at_step(script, steps)]
    return steps


def _find_broken_names_in_script(
    versions: BothVersions, compared_script: ComparedTraining | UncomparedTraining
) -> ScriptNames | None:
    """Return the names that are gone and that the script uses; None: none is gone."""
    broken = versions.inventory.broken_names
    path = Path((versions.options.script or {})["script"])
    if not broken:
        return None
    names = names_in_script.find_lost_names_in_script(path, broken, versions.runtimes)
    if isinstance(compared_script, ComparedTraining) and compared_script.crash is None:
        # what ended in an error may not have imported everything
        places = {
            place
            for trace in (compared_script.old, compared_script.new)
            for place in trace.header["folders_imported"]
        }
        own = names_in_script.list_user_files(path, names)
        old = versions.inventory.list_package_folders("old")
        names = replace(names, unused=names_in_script.find_unused_names(broken, own, places, old))
    return names
