"""The trainings of a framework on both sides: recorded, compared, and searched for causes."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rlregress import progress
from rlregress.frameworks.base import Adapter
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
    training_selection,
)
from rlregress.upgrade.compared_trainings import Training
from rlregress.upgrade.inventory import Inventory
from rlregress.upgrade.sides import ExecutedFunctions, Noted, Sides
from rlregress.upgrade.upgrade_options import Options


@dataclass(frozen=True, kw_only=True)
class SameCode:
    """What is known of trainings before any is recorded.

    Attributes:
        functions: name -> file -> functions executed, of the trainings that run no code by which
            the sides differ. Of the files in which a function differs.
        unsupported: those that neither version has, as the framework says before it runs such code.
        met: of the others, the first function that differs.
    """

    functions: Mapping[str, Mapping[str, Sequence[str]]] = field(default_factory=dict)
    unsupported: Sequence[NotTraced] = ()
    met: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def left(self, trainings: Iterable[Training]) -> list[Training]:
        """Those that have to be recorded, in the order in which they say most."""
        settled = {*self.functions, *(lost.name for lost in self.unsupported)}
        return diverging_groups.ordered(
            [training for training in trainings if training.name not in settled], self.met
        )


def same_code(
    sides: Sides,
    adapter: Adapter,
    found: Inventory,
    trainings: Sequence[Training],
    differing: Sequence[Changed],
    options: Options,
) -> SameCode:
    """Which trainings run no code by which the sides differ."""
    triggers = training_selection.triggers(
        found.folders("old"), found.folders("new"), _sources(adapter), options.until("selection")
    )
    if triggers.because:
        options.say(f"{adapter.full_name}: every training is traced, as {triggers.because}")
        return SameCode()
    if triggers.functions:
        files = sorted({function.file for function in differing})
        progress.begin(expected_stages.SELECTION, len(trainings))
        until = options.until("selection")
        executed = sides.entering(trainings, triggers, found.folders("new"), files, until)
    else:
        # what differs at import is executed by any training: the plain ones are traced for it
        scenarios_ = [t.name for t in trainings if t.name != t.name.partition(" ")[0]]
        names = scenarios_ if differing else [training.name for training in trainings]
        executed = dict.fromkeys(names, ExecutedFunctions({}))
    # of a file that was only imported, nothing but what runs at import
    same: dict[str, Mapping[str, Sequence[str]]] = {
        name: {**dict.fromkeys(of.imported, ()), **of.functions}
        for name, of in executed.items()
        if of.functions is not None
    }
    unsupported = [
        compared_trainings.unsupported(name, of.unsupported)
        for name, of in executed.items()
        if of.unsupported
    ]
    options.say(
        f"{adapter.full_name}: {len(same)} of {len(trainings)} trainings run no code that differs"
        + (f", {len(unsupported)} are unsupported" if unsupported else "")
    )
    met = {name: functions.met for name, functions in executed.items() if functions.met}
    return SameCode(functions=same, unsupported=unsupported, met=met)


def _sources(adapter: Adapter) -> list[Path]:
    """The source files of an adapter's trainings."""
    file = Path(inspect.getfile(type(adapter)))
    if file.name != "__init__.py":
        return [file]
    return [path for path in file.parent.rglob("*.py") if "probes" not in path.parts]


def compared(
    sides: Sides,
    trainings: Sequence[Training],
    lines: Mapping[str, Noted],
    differing: Sequence[Changed],
    options: Options,
) -> tuple[
    list[Traced], list[NotTraced], tuple[dict[str, Trace], dict[str, Trace]], dict[str, str]
]:
    """What is compared with the other version, what could not be, and the traces themselves.

    Also, of each training for which another one stands, that one; see ``diverging_groups``.
    """
    if not trainings:
        return [], [], ({}, {}), {}
    progress.begin(expected_stages.RECORDING, 2 * len(trainings))
    a, b = sides.record(trainings, lines, until=options.until("traces"))
    once = {
        t.name: compared_trainings.compared_once(t.name, a[t.name], b[t.name])
        for t in trainings
        if t.name in a and t.name in b and not is_over()
    }
    late = [training for training in trainings if training.name not in once]
    trainings = [training for training in trainings if training.name in once]
    diverging = {
        n: trace
        for n, trace in once.items()
        if isinstance(trace, Comparison) and compared_trainings.diverges(trace)
    }
    of = diverging_groups.representatives(
        diverging, (a, b), {traced_training.key for traced_training in differing}
    )
    stand_for_all = len(set(of.values()))
    progress.change(expected_stages.REPETITION, 2 * stand_for_all)
    progress.change(
        expected_stages.CULPRITS, expected_stages.count_reverted(stand_for_all, len(differing))
    )
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
        # what does not repeat itself is not compared by whoever reads them later, either
        a = {**a, **{n: again[n][0].trace for n in names}}
        b = {**b, **{n: again[n][1].trace for n in names}}
        # what stands for others has to repeat itself
        loose = {
            n for n in names if not all(traced_training.repeats for traced_training in again[n])
        }
        wanted = [t for t in trainings if of.get(t.name) in loose and t.name not in again]
        of.update({training.name: training.name for training in wanted})
    once |= _measured(sides, trainings, once, (a, b), of, options)
    if again:
        noisy = sum(
            not all(traced_training.repeats for traced_training in both) for both in again.values()
        )
        sentence = f"{noisy} of {len(again)} do not" if noisy else "all do: no difference is noise"
        options.say(f"do they repeat themselves? {sentence}")
    held: list[Traced] = []
    lost = [compared_trainings.too_late(training, options.minutes) for training in late]
    if late:
        options.say(f"{len(late)} trainings were not compared: --minutes are over")
        note_cut(f"{len(late)} of {len(late) + len(trainings)} trainings of {late[0].owner}")
    for training in trainings:
        name = training.name
        comparison = once[name]
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
    return diverging_groups.likewise(held, stand_ins), lost, (a, b), stand_ins


def _measured(
    sides: Sides,
    trainings: Sequence[Training],
    once: Mapping[str, Comparison | NotTraced],
    traces: tuple[Mapping[str, Trace], Mapping[str, Trace]],
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
        [traced_training for each_of in copies.values() for traced_training in each_of],
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
        progress.begin(expected_stages.CULPRITS)
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
