"""What makes a training part, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rlregress.model.recorded_traces import Traced
from rlregress.model.upgrade_result import Cause, ChangedDetail, details_of

#: functions of one side alone that are named.
_NEW = 4
#: of functions that move a training: whether that is all.
_MOVED = {
    None: "with their old code this training changes",
    True: "with their old code the new version trains as the old one does",
    False: "with their old code this training changes, and still differs from the old version",
}


def lines(cause: Cause | None, details: Sequence[ChangedDetail]) -> list[str]:
    """In words: what makes a training part."""
    if cause is None:
        return []
    sentences = []
    if cause.alone is not None:
        sentences.append(
            f"culprit: {cause.alone}: with its old code the new version trains as the old one does"
        )
    elif cause.moving:
        names = ", ".join(map(str, cause.movers))
        sentences.append(f"influenced by {names}: {_MOVED[cause.whole]}")
    elif cause.together:
        names = ", ".join(map(str, cause.together))
        whole = "; the new version then trains as the old one does" if cause.whole else ""
        sentences.append(f"influenced by {names}, or by some of them, reverted together{whole}")
    elif cause.functions:
        sentences.append(f"first differs in changed code: {', '.join(map(str, cause.functions))}")
    if cause.new:
        more = f" and {len(cause.new) - _NEW} more" if len(cause.new) > _NEW else ""
        names = ", ".join(map(str, cause.new[:_NEW]))
        sentences.append(f"uses functions that only one version has: {names}{more}")
    for detail in details_of(cause, details):
        sentences.append(f"explained by {detail.id} [{detail.scope}]: {detail.words}")
    return sentences


def together(
    traced: Sequence[Traced], of: Mapping[str, Cause], details: Sequence[ChangedDetail]
) -> list[list[Traced]]:
    """Trainings that part at the same line, in the same value and for the same cause, in one list.

    A training without a cause, or that does not repeat itself, stands alone.
    """
    groups: dict[object, list[Traced]] = {}
    for training in traced:
        key: object = training.name
        first, explanation = training.comparison.first, lines(of.get(training.name), details)
        if first is not None and explanation and training.repeats:
            places = tuple(
                (event.kind, event.place) if event is not None else None
                for event in (first.a, first.b)
            )
            key = (first.kind, first.part, places, tuple(explanation), tuple(training.notes))
        groups.setdefault(key, []).append(training)
    return list(groups.values())


def others(traced: Sequence[Traced]) -> str:
    """The head of a list of the trainings after the first."""
    return f"{len(traced) - 1} more diverge at the same line, for the same reason"
