"""Groups of trainings that diverge at the same place: one of each is searched for culprits."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from rlregress.model.recorded_traces import ComparedTraining, Comparison, Divergence, Trace
from rlregress.trace import rounding


def choose_representatives(
    diverging: Mapping[str, Comparison],
    traces: tuple[Mapping[str, Trace], Mapping[str, Trace]],
    changed: Collection[tuple[str, str]],
    sole_differences: Mapping[str, tuple[str, str]],
) -> dict[str, str]:
    """Return diverging training -> the shortest with the same cause, or the same first difference.

    Generated trainings are the last to represent others: each of their events is a training.

    Args:
        diverging: training -> its comparison.
        traces: of the old and of the new version, by training.
        changed: file and name of each function that differs.
        sole_differences: training -> the only changed piece of code that it executes. If that
            changes one training by more than rounding, it is the cause in all of them, wherever
            they diverge.
    """
    training_changes = {
        name
        for name, comparison in diverging.items()
        if comparison.verdict == "diverged" and not comparison.trains_the_same
    }
    beyond_rounding = {
        name for name in training_changes if rounding.find_rounding_start(diverging[name]) is None
    }
    causes = {sole_differences[name] for name in beyond_rounding & sole_differences.keys()}
    of_causes = {name for name in training_changes if sole_differences.get(name) in causes}
    new = traces[1]

    def rank(name: str) -> tuple[bool, bool, int]:
        may_be_rounding = name in of_causes - beyond_rounding
        return may_be_rounding, bool(new[name].header.get("generated")), len(new[name].events)

    shortest: dict[object, str] = {}
    keys: dict[str, tuple[object, ...]] = {}
    for name in sorted(diverging, key=rank):
        executed = {key for trace in traces for key in trace[name].called_functions}
        keys[name] = (
            frozenset(executed.intersection(changed)),
            sole_differences[name]
            if name in of_causes
            else _describe_first_difference(diverging[name]),
        )
        shortest.setdefault(keys[name], name)
    return {name: shortest[key] for name, key in keys.items()}


def order_trainings_to_spread_functions(first_functions: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the trainings, ordered so that each changed function is executed early.

    Plain trainings before scenarios.

    Args:
        first_functions: training -> the first function that it executes and that differs.
    """
    turns: Counter[tuple[str, ...]] = Counter()
    keys = {}
    for name in sorted(first_functions, key=lambda name: " " in name):
        function = tuple(first_functions[name])
        keys[name] = turns[function]
        turns[function] += 1
    return sorted(first_functions, key=lambda name: (keys[name], " " in name))


def _describe_first_difference(comparison: Comparison) -> tuple[object, ...]:
    """Return the kind of the first difference, and where it is."""
    first = comparison.first
    if first is None:
        return (comparison.verdict,)
    if comparison.trains_the_same:
        # times and random names differ in each training: only equal texts make a group
        return first.kind, _list_differing_digests(first)
    events = [(event.file, event.function) if event else None for event in (first.old, first.new)]
    return (comparison.verdict, first.kind, first.part, *events)


def _list_differing_digests(first: Divergence) -> frozenset[tuple[str, ...]]:
    """Return the last word of the name, and both digests, of each part that differs."""
    old, new = (event.parts if event is not None else {} for event in (first.old, first.new))
    digests = {
        name: tuple(parts[name].digest if name in parts else "" for parts in (old, new))
        for name in {*old, *new}
    }
    return frozenset(
        ("".join(re.findall(r"\w+", name)[-1:]), *pair)
        for name, pair in digests.items()
        if pair[0] != pair[1]
    )


def name_representatives(
    traced: Iterable[ComparedTraining], representatives: Mapping[str, str]
) -> list[ComparedTraining]:
    """Return the trainings, each with its representative and a note on it.

    Args:
        representatives: training -> the one that was searched in its place.
    """
    return [
        replace(training, notes=(*training.notes, _NOTE.format(name)), representative=name)
        if (name := representatives.get(training.name, training.name)) != training.name
        else training
        for training in traced
    ]


_NOTE = (
    "it executes the same changed functions as {}, and no other change or first differs in the "
    "same function or content: that one was recorded again, and searched for the cause"
)
