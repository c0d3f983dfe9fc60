"""Records and compares a user's script on both versions, and finds the culprits of differences."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from rlregress import progress
from rlregress.model import differences as model
from rlregress.model.recorded_traces import ComparedTraining, UncomparedTraining
from rlregress.model.upgrade_result import ScriptNames, ScriptResult
from rlregress.trace.child_processes import note_skipped_task
from rlregress.upgrade import recordings
from rlregress.upgrade.both_versions import BothVersions, ExecutedCode
from rlregress.upgrade.culprits import attribution
from rlregress.upgrade.evidence import compared_trainings, names_in_script
from rlregress.upgrade.evidence.compared_trainings import Training
from rlregress.upgrade.recordings import Recorded, Traces
from rlregress.upgrade.verdict import entries


def compare_script(versions: BothVersions, script: Training) -> tuple[ScriptResult, ExecutedCode]:
    """Return the result of a script on both versions, and the code that it executed."""
    script, traces, steps = _record_capped_script(versions, script)
    pieces, options = versions.inventory.pieces, versions.options
    differing = [piece for piece in pieces if piece.can_change_results]
    if script.name in traces[0] and script.name in traces[1]:
        recorded = recordings.compare_trainings_of_both_versions(
            versions.runtimes, [script], traces, differing, options
        )
    else:
        note_skipped_task(f"{script.name}; --steps records fewer environment steps")
        late = compared_trainings.report_training_not_in_time(script, options.minutes)
        recorded = Recorded(not_traced=[late], traces=traces)
    recorded = versions.explain_differing_trainings(recorded, [script], differing, pieces, {})
    compared_script = recorded.traced[0] if recorded.traced else recorded.not_traced[0]
    checks = entries.make_training_entries(
        recorded.traced, recorded.not_traced, (), "", model.SCRIPT
    )
    executed = ExecutedCode(
        *recorded.traces, entries.map_checks_to_states(checks, recorded.culprits)
    )
    functions = attribution.select_functions_that_explain(
        recorded.culprits.values(), (), (), recorded.executions
    )
    result = ScriptResult(
        training=compared_script,
        entries=(
            *checks,
            *entries.make_untraced_steps_entry(script.name, steps),
            *versions.list_entries_of_code(recorded.executions, executed),
        ),
        executions=tuple(recorded.executions),
        culprits=recorded.culprits,
        hunks=attribution.collect_differing_lines(
            functions, recordings.collect_executed_lines(recorded.traces[1])
        ),
        names=_find_broken_names_in_script(versions, compared_script),
        costs=recorded.costs,
    )
    return result, executed


def _record_capped_script(versions: BothVersions, script: Training) -> tuple[Training, Traces, int]:
    """Return the script as compared, its traces, and its steps if it was cut.

    A script that has not ended in time is compared as far as both versions have come.
    """
    progress.begin_stage(f"recording {script.name} on both versions", 2)
    with versions.options.limit_stage("script"):
        old, new = versions.runtimes.record_on_both_versions([script], {"old": True, "new": True})
    if script.name not in old or script.name not in new:
        return script, (old, new), 0
    steps = compared_trainings.count_common_steps(old[script.name], new[script.name])
    if steps is None:
        return script, (old, new), 0
    if not steps:
        return script, ({}, {}), 0
    versions.options.say(
        f"{script.name} has not ended: its first {steps} environment steps are compared"
    )
    note_skipped_task(f"{script.name} after {steps} environment steps; --steps records fewer")
    old, new = (
        {script.name: compared_trainings.cut_trace_at_step(traces[script.name], steps)}
        for traces in (old, new)
    )
    return compared_trainings.cut_training_at_step(script, steps), (old, new), steps


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
