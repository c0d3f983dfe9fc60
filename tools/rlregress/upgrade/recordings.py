"""The trainings of a framework on both versions: recorded, compared, and searched for culprits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType

from rlregress import progress
from rlregress.model.code import ChangedPiece
from rlregress.model.explain import RepeatedTrace
from rlregress.model.recorded_traces import ComparedTraining, Comparison, Trace, UncomparedTraining
from rlregress.model.upgrade_result import Cost, Culprits, PieceExecution
from rlregress.trace import rounding
from rlregress.trace.child_processes import is_time_over, note_skipped_task
from rlregress.upgrade.culprits import culprit_search, diverging_groups
from rlregress.upgrade.differences.training_selection import ExecutableDifferences
from rlregress.upgrade.evidence import compared_trainings
from rlregress.upgrade.evidence.compared_trainings import Training
from rlregress.upgrade.evidence.runtimes import NotedFunctions, Runtimes
from rlregress.upgrade.upgrade_options import Options

#: for the old and for the new version: name of a training -> its trace.
Traces = tuple[Mapping[str, Trace], Mapping[str, Trace]]


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """The recorded trainings of a framework, and their comparison.

    Attributes:
        traced: trainings that were compared; not_traced: trainings that could not be.
        same: names of trainings that execute nothing that differs: not recorded in the old version.
        traces: of the old and of the new version, by name.
        stand_ins: training -> its representative; see ``diverging_groups``.
        culprits: training that differs -> its culprits.
        executions: of the pieces of code, with the results of direct calls.
        costs: time and memory of trainings that execute changed code.
    """

    traced: Sequence[ComparedTraining] = ()
    not_traced: Sequence[UncomparedTraining] = ()
    same: Sequence[str] = ()
    traces: Traces = field(default_factory=lambda: ({}, {}))
    stand_ins: Mapping[str, str] = field(default_factory=dict)
    culprits: Mapping[str, Culprits] = field(default_factory=dict)
    executions: Sequence[PieceExecution] = ()
    costs: tuple[Cost, ...] = ()


def record_and_compare_trainings(
    runtimes: Runtimes,
    trainings: Sequence[Training],
    lines: Mapping[str, NotedFunctions],
    difference: ExecutableDifferences | None,
    differing: Sequence[ChangedPiece],
    options: Options,
) -> Recorded:
    """Record trainings on the new version, on the old one where needed, and compare the traces.

    Args:
        lines: label of a version -> functions whose executed code is noted.
        difference: the old version records only trainings that execute some of this. None: it
            records all.
        differing: the functions that may be reverted.
    """
    if not trainings:
        return Recorded()
    trainings = sorted(trainings, key=lambda training: " " in training.name)
    progress.begin_stage("recording trainings on both versions", 2 * len(trainings))
    same: list[str] = []
    if difference is None:
        with options.limit_stage("traces"):
            old, new = runtimes.record_on_both_versions(trainings, lines)
    else:
        choose = partial(_select_trainings_to_compare, difference)
        with options.limit_stage("traces"):
            old, new = runtimes.record_new_then_chosen_old(trainings, lines, choose)
        same = [
            name for name, trace in new.items() if not difference.select_executed_differences(trace)
        ]
        options.say(
            f"{trainings[0].owner}: {len(same)} of {len(trainings)} trainings execute nothing that "
            + (f"differs; {difference.because}" if difference.because else "differs")
        )
    unsupported = [
        compared_trainings.report_training_of_neither_version(name, why)
        for name in same
        if (why := str(new[name].header.get("not_offered", "")))
    ]
    without = {lost.name for lost in unsupported}
    on_both = [training for training in trainings if training.name not in same]
    sole_differences = {
        name: key
        for name, trace in new.items()
        if difference is not None and (key := difference.find_sole_difference(trace))
    }
    compared = compare_trainings_of_both_versions(
        runtimes, on_both, (old, new), differing, options, sole_differences
    )
    return replace(
        compared,
        not_traced=[*unsupported, *compared.not_traced],
        same=[name for name in same if name not in without],
        traces=(compared.traces[0], {**new, **compared.traces[1]}),
    )


def _select_trainings_to_compare(
    difference: ExecutableDifferences, new: Mapping[str, Trace]
) -> list[str]:
    """Return the trainings that execute something that differs, spread over changed functions."""
    executed = {name: difference.select_executed_differences(trace) for name, trace in new.items()}
    return diverging_groups.order_trainings_to_spread_functions(
        {name: keys[0] for name, keys in executed.items() if keys}
    )


def compare_trainings_of_both_versions(
    runtimes: Runtimes,
    trainings: Sequence[Training],
    traces: Traces,
    differing: Sequence[ChangedPiece],
    options: Options,
    sole_differences: Mapping[str, tuple[str, str]] = MappingProxyType({}),
) -> Recorded:
    """Compare trainings that were recorded on both versions.

    Args:
        sole_differences: training -> the only changed piece of code that it executes.
    """
    old, new = traces
    once = {
        t.name: compared_trainings.compare_recorded_training(t.name, old[t.name], new[t.name])
        for t in trainings
        if t.name in old and t.name in new and not is_time_over()
    }
    late = [t for t in trainings if t.name not in once]
    trainings = [t for t in trainings if t.name in once]
    diverging = {
        name: comparison
        for name, comparison in once.items()
        if isinstance(comparison, Comparison) and comparison.verdict != "equal"
    }
    stand_for = diverging_groups.choose_representatives(
        diverging, (old, new), {piece.key for piece in differing}, sole_differences
    )
    repetitions = _record_diverging_trainings_again(
        runtimes, trainings, once, (old, new), stand_for, options
    )
    # later readers of these traces must skip the values that do not repeat, too
    old = {**old, **{name: both[0].trace for name, both in repetitions.items()}}
    new = {**new, **{name: both[1].trace for name, both in repetitions.items()}}
    once |= _compare_with_rounding_measured(
        runtimes, trainings, once, (old, new), stand_for, sole_differences, options
    )
    traced, not_traced = _describe_trainings(trainings, once, (old, new), repetitions, options)
    if late:
        options.say(f"{len(late)} trainings were not compared: --minutes are over")
        note_skipped_task(
            f"{len(late)} of {len(late) + len(trainings)} trainings of {late[0].owner}"
        )
    report_late = partial(compared_trainings.report_training_not_in_time, minutes=options.minutes)
    # what rounding explains in a representative is not explained in what it represents
    verdicts = {training.name: training.comparison.verdict for training in traced}
    stand_ins = {
        name: recorded
        for name, recorded in stand_for.items()
        if recorded != name and verdicts.get(name) == verdicts.get(recorded)
    }
    return Recorded(
        traced=diverging_groups.name_representatives(traced, stand_ins),
        not_traced=[*map(report_late, late), *not_traced],
        traces=(old, new),
        stand_ins=stand_ins,
    )


def _describe_trainings(
    trainings: Sequence[Training],
    once: Mapping[str, Comparison | UncomparedTraining],
    traces: Traces,
    repetitions: Mapping[str, tuple[RepeatedTrace, RepeatedTrace]],
    options: Options,
) -> tuple[list[ComparedTraining], list[UncomparedTraining]]:
    """Describe each training by its comparison, or by why there is none; say what came out."""
    old, new = traces
    traced: list[ComparedTraining] = []
    not_traced: list[UncomparedTraining] = []
    for training in trainings:
        name, comparison = training.name, once[training.name]
        if isinstance(comparison, UncomparedTraining):
            not_traced.append(comparison)
            if comparison.is_supported_by_both_versions:
                options.say(f"{training.owner} {comparison}")
            continue
        both = compared_trainings.describe_compared_training(
            name, comparison, old[name], new[name], repetitions.get(name)
        )
        traced.append(both)
        if both.has_no_scenario:
            options.say(f"{training.owner} {name}: {both.verdict_in_words}")
    words = Counter(t.verdict_in_words for t in traced if not t.has_no_scenario)
    if words:
        counts = ", ".join(f"{count} {word}" for word, count in words.most_common())
        options.say(f"{trainings[0].owner} scenarios: {counts}")
    return traced, not_traced


def _record_diverging_trainings_again(
    runtimes: Runtimes,
    trainings: Sequence[Training],
    compared: Mapping[str, Comparison | UncomparedTraining],
    traces: Traces,
    stand_ins: dict[str, str],
    options: Options,
) -> dict[str, tuple[RepeatedTrace, RepeatedTrace]]:
    """Record diverging trainings once more, on both versions.

    Args:
        stand_ins: training -> its representative. If that does not repeat itself, each of its
            trainings represents itself afterwards.
    """
    old, new = traces
    repetitions: dict[str, tuple[RepeatedTrace, RepeatedTrace]] = {}
    to_repeat = [t for t in trainings if stand_ins.get(t.name) == t.name]
    while to_repeat:
        options.say(
            f"recording {len(to_repeat)} trainings again, to see whether they repeat themselves"
        )
        progress.begin_stage("recording trainings again", 2 * len(to_repeat))
        named = [
            compared_trainings.request_names_of_differing_values(t, compared[t.name])
            for t in to_repeat
        ]
        with options.limit_stage("causes"):
            old_again, new_again = runtimes.record_on_both_versions(named, repeats=True)
        recorded = old_again.keys() & new_again.keys()
        names = [t.name for t in to_repeat if t.name in recorded]
        if len(names) < len(to_repeat):
            note_skipped_task("repetitions of trainings that differ: they count as different")
        repetitions |= {
            n: compared_trainings.compare_versions_with_their_repetitions(
                (old[n], new[n]), (old_again[n], new_again[n])
            )
            for n in names
        }
        # a training that stands for others must give the same trace when it is repeated
        loose = {n for n in names if not all(version.repeats for version in repetitions[n])}
        to_repeat = [
            t for t in trainings if stand_ins.get(t.name) in loose and t.name not in repetitions
        ]
        stand_ins.update({training.name: training.name for training in to_repeat})
    if repetitions:
        noisy = sum(not all(version.repeats for version in x) for x in repetitions.values())
        options.say(
            f"{noisy} of {len(repetitions)} differ from their repetition"
            if noisy
            else "all equal their repetition: no difference is noise"
        )
    return repetitions


def _compare_with_rounding_measured(
    runtimes: Runtimes,
    trainings: Sequence[Training],
    compared: Mapping[str, Comparison | UncomparedTraining],
    traces: Traces,
    stand_ins: Mapping[str, str],
    sole_differences: Mapping[str, tuple[str, str]],
    options: Options,
) -> dict[str, Comparison | UncomparedTraining]:
    """Compare again with rounding measured, where rounding may explain a divergence.

    Of close trainings that diverge at the same place, only one is compared again. If rounding is
    no reason for a representative, it is none for trainings with the same sole difference.
    """
    measured = {
        training.name: comparison
        for training in trainings
        if isinstance(comparison := compared[training.name], Comparison)
    }
    starts = {name: rounding.find_rounding_start(measured[name]) for name in measured}
    copies: dict[str, list[Training]] = {}
    for training in trainings:
        name, begin = training.name, starts.get(training.name)
        representative = stand_ins.get(name, name) if name in sole_differences else name
        if begin is None or starts[representative] is None:
            continue
        if measured[name].verdict == "diverged" or stand_ins.get(name) == name:
            copies[name] = compared_trainings.make_perturbed_copies(training, begin)
    if not copies:
        return {}
    options.say(f"measuring rounding: {rounding.COPIES} copies of {len(copies)} trainings")
    progress.begin_stage("measuring rounding", sum(map(len, copies.values())))
    with options.limit_stage("causes"):
        recorded = runtimes.record_without_storing(
            "old", [copy for copies_of_one in copies.values() for copy in copies_of_one]
        )
    old, new = traces
    comparisons: dict[str, Comparison | UncomparedTraining] = {}
    for name, perturbed in copies.items():
        copied = [recorded[t.name] for t in perturbed if t.name in recorded]
        if len(copied) < len(perturbed):
            note_skipped_task(
                "rounding of trainings that differ by little: they count as different"
            )
            continue
        comparisons[name] = rounding.measure_rounding_of_comparison(
            measured[name], old[name], new[name], copied
        )
    return comparisons


def find_culprits_of_diverging(
    runtimes: Runtimes,
    recorded: Recorded,
    trainings: Sequence[Training],
    differing: Sequence[ChangedPiece],
    pieces: Sequence[ChangedPiece],
    options: Options,
) -> dict[str, Culprits]:
    """Return diverging training -> its culprits, found by reverting changed functions.

    Args:
        differing: the functions that may be reverted.
        pieces: all code that differs; functions among it that culprits call are named with them.
    """
    diverging = [
        t
        for t in recorded.traced
        if t.comparison.verdict != "equal" and t.repeats and t.name not in recorded.stand_ins
    ]
    by_name = {training.name: training for training in trainings}
    if diverging and differing:
        options.say(f"searching for culprits; diverging trainings: {len(diverging)}")
    if diverging:
        progress.begin_stage("looking for culprits")
    with options.limit_stage("causes"):
        found = culprit_search.search_culprits(
            diverging, by_name, differing, partial(runtimes.record_without_storing, "new")
        )
        if diverging and differing and is_time_over():
            note_skipped_task("the rest of the search for culprits")
    found = {n: culprit_search.add_one_sided_callees(own, pieces) for n, own in found.items()}
    stand_ins = recorded.stand_ins.items()
    return found | {name: found[searched] for name, searched in stand_ins if searched in found}


def collect_executed_lines(traces: Mapping[str, Trace]) -> dict[str, set[int]]:
    """Return file -> the lines that trainings executed."""
    hit: dict[str, set[int]] = {}
    for trace in traces.values():
        for file, (lines, _) in trace.header.get("lines", {}).items():
            hit.setdefault(file, set()).update(lines)
    return hit
