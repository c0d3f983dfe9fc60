"""The trainings of a framework on both sides: recorded, compared, and searched for causes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from rlregress import progress
from rlregress.model.code import Changed
from rlregress.model.explain import Repeated
from rlregress.model.recorded_traces import Comparison, NotTraced, Trace, Traced
from rlregress.model.upgrade_result import Cause
from rlregress.tracing import rounding
from rlregress.tracing.child_processes import is_over, note_cut
from rlregress.upgrade import (
    compared_trainings,
    culprit_search,
    diverging_groups,
    expected_stages,
)
from rlregress.upgrade.compared_trainings import Training
from rlregress.upgrade.sides import Noted, Sides
from rlregress.upgrade.training_selection import Difference
from rlregress.upgrade.upgrade_options import Options

#: of the old and of the new version, by the names of trainings.
Traces = tuple[Mapping[str, Trace], Mapping[str, Trace]]


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """What was recorded of the trainings of a framework, and what came of it.

    Attributes:
        held: those that were compared; lost: those that could not be.
        same: names of those that execute nothing that differs: the old version was not recorded.
        traces: of the old and of the new version, by name.
        stand_ins: training -> the one that stands for it; see ``diverging_groups``.
    """

    held: Sequence[Traced] = ()
    lost: Sequence[NotTraced] = ()
    same: Sequence[str] = ()
    traces: Traces = field(default_factory=lambda: ({}, {}))
    stand_ins: Mapping[str, str] = field(default_factory=dict)


def record(
    sides: Sides,
    trainings: Sequence[Training],
    lines: Mapping[str, Noted],
    difference: Difference | None,
    differing: Sequence[Changed],
    options: Options,
) -> Recorded:
    """Record trainings and compare them with the old version.

    Args:
        lines: label of a side -> what is noted there of the code that is executed.
        difference: what differs; the old version is recorded of the trainings that execute some of
            it. None: of all.
        differing: the functions that may be reverted.
    """
    if not trainings:
        return Recorded()
    trainings = sorted(trainings, key=lambda training: " " in training.name)
    progress.begin(expected_stages.RECORDING, 2 * len(trainings))
    until = options.until("traces")
    if difference is None:
        a, b = sides.record(trainings, lines, until=until)
        same: list[str] = []
    else:
        a, b = sides.record_new_first(trainings, lines, partial(_affected, difference), until)
        same = [name for name, trace in b.items() if not difference.executed_by(trace)]
        options.say(
            f"{trainings[0].owner}: {len(same)} of {len(trainings)} trainings execute nothing that "
            + (f"differs; {difference.because}" if difference.because else "differs")
        )
    unsupported = [
        compared_trainings.unsupported(name, why)
        for name in same
        if (why := str(b[name].header.get("not_offered", "")))
    ]
    without = {lost.name for lost in unsupported}
    of_both = [training for training in trainings if training.name not in same]
    held = _compare(sides, of_both, (a, b), differing, options)
    return replace(
        held,
        lost=[*unsupported, *held.lost],
        same=[name for name in same if name not in without],
        traces=(held.traces[0], {**b, **held.traces[1]}),
    )


def _affected(difference: Difference, new: Mapping[str, Trace]) -> list[str]:
    """Return the trainings that execute something that differs, in the order that says most."""
    executed = {name: difference.executed_by(trace) for name, trace in new.items()}
    return diverging_groups.ordered({name: keys[0] for name, keys in executed.items() if keys})


def _compare(
    sides: Sides,
    trainings: Sequence[Training],
    traces: Traces,
    differing: Sequence[Changed],
    options: Options,
) -> Recorded:
    """Compare trainings that were recorded on both versions."""
    a, b = traces
    once = {
        t.name: compared_trainings.compared_once(t.name, a[t.name], b[t.name])
        for t in trainings
        if t.name in a and t.name in b and not is_over()
    }
    late = [training for training in trainings if training.name not in once]
    trainings = [training for training in trainings if training.name in once]
    of = _representatives(once, (a, b), differing)
    again = _repeat(sides, trainings, once, (a, b), of, options)
    # what does not repeat itself is not compared by whoever reads them later, either
    a = {**a, **{name: both[0].trace for name, both in again.items()}}
    b = {**b, **{name: both[1].trace for name, both in again.items()}}
    once |= _measured(sides, trainings, once, (a, b), of, options)
    held: list[Traced] = []
    lost = [compared_trainings.too_late(training, options.minutes) for training in late]
    if late:
        options.say(f"{len(late)} trainings were not compared: --minutes are over")
        note_cut(f"{len(late)} of {len(late) + len(trainings)} trainings of {late[0].owner}")
    for training in trainings:
        name, comparison = training.name, once[training.name]
        if isinstance(comparison, NotTraced):
            lost.append(comparison)
            if comparison.counts:
                options.say(f"{training.owner} {comparison}")
            continue
        both = compared_trainings.with_repetitions(
            name, comparison, a[name], b[name], again.get(name)
        )
        held.append(both)
        if both.plain:
            options.say(f"{training.owner} {name}: {both.word}")
    words = Counter(traced_training.word for traced_training in held if not traced_training.plain)
    if words:
        counts = ", ".join(f"{count} {word}" for word, count in words.most_common())
        options.say(f"{trainings[0].owner} scenarios: {counts}")
    stand_ins = {name: cause for name, cause in of.items() if cause != name}
    return Recorded(
        held=diverging_groups.likewise(held, stand_ins),
        lost=lost,
        traces=(a, b),
        stand_ins=stand_ins,
    )


def _representatives(
    once: Mapping[str, Comparison | NotTraced],
    traces: Traces,
    differing: Sequence[Changed],
) -> dict[str, str]:
    """Return of each training that diverges the one that stands for it."""
    diverging = {
        name: comparison
        for name, comparison in once.items()
        if isinstance(comparison, Comparison) and compared_trainings.diverges(comparison)
    }
    of = diverging_groups.representatives(
        diverging, traces, {traced_training.key for traced_training in differing}
    )
    stand_for_all = len(set(of.values()))
    progress.change(expected_stages.REPETITION, 2 * stand_for_all)
    progress.change(
        culprit_search.STAGE, expected_stages.expected_reverted(stand_for_all, len(differing))
    )
    return of


def _repeat(
    sides: Sides,
    trainings: Sequence[Training],
    once: Mapping[str, Comparison | NotTraced],
    traces: Traces,
    of: dict[str, str],
    options: Options,
) -> dict[str, tuple[Repeated, Repeated]]:
    """Record trainings that diverge again, on both versions.

    Args:
        of: training -> the one that stands for it; those that one which does not repeat itself
            stood for stand for themselves afterwards.
    """
    a, b = traces
    again: dict[str, tuple[Repeated, Repeated]] = {}
    wanted = [training for training in trainings if of.get(training.name) == training.name]
    while wanted:
        options.say(
            f"recording {len(wanted)} trainings again, to see whether they repeat themselves"
        )
        progress.begin(expected_stages.REPETITION, 2 * len(wanted))
        one, other = sides.record(
            [compared_trainings.naming(t, once[t.name]) for t in wanted],
            again=True,
            until=options.until("causes"),
        )
        names = [training.name for training in wanted if training.name in one.keys() & other.keys()]
        if len(names) < len(wanted):
            note_cut("repetitions of trainings that differ: they count as different")
        again |= {n: compared_trainings.repeated((a[n], b[n]), (one[n], other[n])) for n in names}
        # what stands for others has to repeat itself
        loose = {
            n for n in names if not all(traced_training.repeats for traced_training in again[n])
        }
        wanted = [t for t in trainings if of.get(t.name) in loose and t.name not in again]
        of.update({training.name: training.name for training in wanted})
    if again:
        noisy = sum(
            not all(traced_training.repeats for traced_training in both) for both in again.values()
        )
        sentence = f"{noisy} of {len(again)} do not" if noisy else "all do: no difference is noise"
        options.say(f"do they repeat themselves? {sentence}")
    return again


def _measured(
    sides: Sides,
    trainings: Sequence[Training],
    once: Mapping[str, Comparison | NotTraced],
    traces: Traces,
    of: Mapping[str, str],
    options: Options,
) -> dict[str, Comparison | NotTraced]:
    """Comparisons that rounding may explain, with rounding measured.

    Of those that diverge likewise and are close, one alone.
    """
    copies: dict[str, list[Training]] = {}
    for training in trainings:
        found = once[training.name]
        if isinstance(found, Comparison) and (
            found.verdict == "diverged" or of.get(training.name) == training.name
        ):
            begin = rounding.find_rounding_start(found)
            if begin is not None:
                copies[training.name] = compared_trainings.perturbed_copies(training, begin)
    if not copies:
        return {}
    options.say(f"measuring rounding: {rounding.COPIES} copies of {len(copies)} trainings")
    progress.begin("measuring rounding", sum(map(len, copies.values())))
    recorded = sides.record_once(
        "A",
        [copy for copies_of_one in copies.values() for copy in copies_of_one],
        until=options.until("causes"),
    )
    a, b = traces
    made: dict[str, Comparison | NotTraced] = {}
    for name, each_of in copies.items():
        found = once[name]
        assert isinstance(found, Comparison)
        copied = [recorded[t.name] for t in each_of if t.name in recorded]
        if len(copied) < len(each_of):
            note_cut("rounding of trainings that differ by little: they count as different")
            continue
        made[name] = rounding.measure_rounding(found, a[name], b[name], copied)
    return made


def causes_of(
    sides: Sides,
    held: Sequence[Traced],
    trainings: Sequence[Training],
    differing: Sequence[Changed],
    pieces: Sequence[Changed],
    options: Options,
) -> dict[str, Cause]:
    """Diverging training -> its culprits, which are found by reverting changed functions.

    Args:
        differing: the functions that may be reverted.
        pieces: all code that differs; of it, what culprits call is named with them.
    """
    parted = [t for t in held if t.comparison.verdict != "equal" and t.repeats]
    by_name = {training.name: training for training in trainings}
    if parted and differing:
        of = "a training differ" if len(parted) == 1 else f"{len(parted)} trainings differ"
        options.say(f"looking for the functions that make {of}")
    if parted:
        progress.begin(culprit_search.STAGE)
    found = culprit_search.causes(
        parted,
        by_name,
        differing,
        lambda jobs: sides.record_once("B", list(jobs), until=options.until("causes")),
        until=options.until("causes"),
    )
    if parted and differing and is_over(options.until("causes")):
        note_cut("the rest of the search for culprits")
    return {
        name: culprit_search.with_one_sided_functions(cause, pieces)
        for name, cause in found.items()
    }


def lines_of(traces: Mapping[str, Trace]) -> dict[str, set[int]]:
    """File -> lines that trainings executed."""
    hit: dict[str, set[int]] = {}
    for trace in traces.values():
        for file, (lines, _) in trace.header.get("lines", {}).items():
            hit.setdefault(file, set()).update(lines)
    return hit
