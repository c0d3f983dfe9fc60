"""A script of the user on both versions: recorded, compared, and what makes it differ."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from rlregress import progress
from rlregress.model import differences as model
from rlregress.model.code import Changed
from rlregress.model.differences import Entry
from rlregress.model.recorded_traces import Comparison, NotTraced, Trace, Traced
from rlregress.model.upgrade_result import Culprits, ScriptNames, ScriptResult
from rlregress.trace.child_processes import note_cut
from rlregress.upgrade import expected_stages, recordings
from rlregress.upgrade.both_versions import BothVersions, ExecutedCode
from rlregress.upgrade.culprits import attribution
from rlregress.upgrade.evidence import compared_trainings, names_in_script
from rlregress.upgrade.evidence.compared_trainings import Training
from rlregress.upgrade.recordings import Traces
from rlregress.upgrade.verdict import entries


def compare_script(both: BothVersions, script: Training) -> tuple[ScriptResult, ExecutedCode]:
    """Return the result of a script on both versions, and the code that it executed."""
    script, traces, steps, seconds = _record_script(both, script)
    differing = [piece for piece in both.inventory.pieces if piece.counts]

    def expect_stages(differs: bool) -> None:
        progress.expect(
            expected_stages.list_script_stages(seconds, len(differing), differs, both.options)
        )

    compared_script = _compare_recordings(both, script, traces, expect_stages)
    check, culprits_by_training = _explain_script(both, script, compared_script, differing)
    executed = ExecutedCode(
        traces=traces, checks=entries.collect_evidence([check], culprits_by_training)
    )
    executions = both.find_executions(both.inventory.pieces, traces, {})
    executions = both.repeat_calls(executions, [script], traces[1], culprits_by_training.values())
    compared, not_compared = (
        ([compared_script], []) if isinstance(compared_script, Traced) else ([], [compared_script])
    )
    costs = both.measure_costs([script], compared, not_compared, executions)
    functions = attribution.select_explaining_functions(
        culprits_by_training.values(), (), (), executions
    )
    result = ScriptResult(
        training=compared_script,
        entries=(
            check,
            *entries.list_untraced_steps(script.name, steps),
            *both.list_pieces(executions, executed),
        ),
        executions=tuple(executions),
        culprits=culprits_by_training,
        hunks=attribution.pair_lines(functions, recordings.collect_executed_lines(traces[1])),
        names=_find_missing_names(both, compared_script),
        costs=costs,
    )
    return result, executed


def _record_script(both: BothVersions, script: Training) -> tuple[Training, Traces, int, float]:
    """Return the script as it is compared, its traces, its steps if it was cut, and its seconds.

    A script that has not ended in time is compared as far as both versions have come.
    """
    progress.begin(f"recording {script.name} on both versions", 2)
    until = both.options.until("script")
    old, new = both.runtimes.record([script], {"old": True, "new": True}, until=until)
    if script.name not in old or script.name not in new:
        return script, (old, new), 0, 0.0
    seconds = max(traces[script.name].header.get("wall_seconds", 0.0) for traces in (old, new))
    steps = compared_trainings.count_common_steps(old[script.name], new[script.name])
    if steps is None:
        return script, (old, new), 0, seconds
    if not steps:
        return script, ({}, {}), 0, seconds
    both.options.say(
        f"{script.name} has not ended: its first {steps} environment steps are compared"
    )
    note_cut(f"{script.name} after {steps} environment steps; --steps records fewer")
    old, new = (
        {script.name: compared_trainings.cut_trace(traces[script.name], steps)}
        for traces in (old, new)
    )
    return compared_trainings.cut_training(script, steps), (old, new), steps, seconds


def _compare_recordings(
    both: BothVersions, script: Training, traces: Traces, expect: Callable[[bool], None]
) -> Traced | NotTraced:
    """Compare both versions, and each with itself if they differ.

    Args:
        expect: is told whether they differ, before what follows from it begins.
    """
    name, options = script.name, both.options
    old_traces, new_traces = traces

    def record_again(comparison: Comparison) -> tuple[Trace, Trace] | None:
        expect(True)
        options.say("recording the script again, to see whether it repeats itself")
        progress.begin(expected_stages.REPETITION, 2)
        named = compared_trainings.name_first_difference(script, comparison)
        old, new = both.runtimes.record([named], again=True, until=options.until("causes"))
        if name in old and name in new:
            return old[name], new[name]
        note_cut(f"whether {name} repeats itself: it counts as different")
        return None

    compared_script: Traced | NotTraced
    if name in old_traces and name in new_traces:
        expect(False)
        compared_script = compared_trainings.compare_training(
            name, old_traces[name], new_traces[name], record_again
        )
    else:
        note_cut(f"{name}; --steps records fewer environment steps")
        compared_script = compared_trainings.report_too_late(script, options.minutes)
    word = compared_script.word if isinstance(compared_script, Traced) else "could not be compared"
    options.say(f"script {name}: {word}")
    return compared_script


def _explain_script(
    both: BothVersions,
    script: Training,
    compared_script: Traced | NotTraced,
    differing: list[Changed],
) -> tuple[Entry, dict[str, Culprits]]:
    """Return the entry of the script, and its culprits."""
    if isinstance(compared_script, NotTraced):
        return entries.make_untraced(compared_script, "", model.SCRIPT), {}
    check = entries.make_traced(compared_script, "", model.SCRIPT)
    return check, both.find_culprits([compared_script], [script], differing)


def _find_missing_names(
    both: BothVersions, compared_script: Traced | NotTraced
) -> ScriptNames | None:
    """Return the names that are gone and that the script uses; None: none is gone."""
    broken = both.inventory.broken
    path = Path((both.options.script or {})["script"])
    names = names_in_script.find_names_gone(path, broken, both.runtimes) if broken else None
    if names is not None and isinstance(compared_script, Traced) and compared_script.crash is None:
        # what ended in an error may not have imported everything
        places = {
            place
            for trace in (compared_script.old, compared_script.new)
            for place in trace.header["folders_imported"]
        }
        own = names_in_script.list_user_files(path, names)
        old = both.inventory.folders("old")
        names = replace(names, unused=names_in_script.find_unused(broken, own, places, old))
    return names
