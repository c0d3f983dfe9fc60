"""Alignment of two traces, one of which has events that the other lacks."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rlregress.model.recorded_traces import Event, estimate_relative_difference

#: how many events ahead the place is searched from which both traces are the same.
WINDOW = 400
#: how many equal events in a row an alignment needs.
AGREEING = 3
#: kinds of events that show whether trainings agree; a generator draws the same numbers anyway.
_ALIGNED = ("step", "output", "loss", "backward", "optimizer", "parameters")


def list_differing_parts(old: Event, new: Event) -> list[tuple[str, float]]:
    """Return the parts in which two events differ, causes before effects, and by how much."""
    differences = []
    for name, part in old.parts.items():
        new_part = new.parts.get(name)
        if new_part is None:
            differences.append((name, math.inf))
        elif part.digest != new_part.digest:
            differences.append((name, estimate_relative_difference(part, new_part)))
    # such as an observation that only the new version returns at the end of an episode
    return differences + [(name, math.inf) for name in new.parts if name not in old.parts]


def find_first_differing_part(old: Event, new: Event) -> tuple[str, float]:
    """Return the first part that differs and its relative gap; ("", 0) if none differs."""
    return next(iter(list_differing_parts(old, new)), ("", 0.0))


def are_events_similar(old: Event, new: Event, limit: float) -> bool:
    """Return whether two events are the same or differ within the limit."""
    if old.key != new.key:
        return False
    return all(gap < limit for _, gap in list_differing_parts(old, new))


def find_next_matching_events(
    old: Sequence[Event], new: Sequence[Event], i: int, j: int, limit: float, may_skip_both: bool
) -> tuple[int, int] | None:
    """Return the nearest pair of indices from which both traces agree, or None.

    Args:
        i, j: the indices at which the two traces differ.
        limit: relative difference up to which events count as the same; 0: bit-identical only.
        may_skip_both: whether events may be skipped in both traces, not only in one.
    """
    for skipped in range(1, WINDOW):
        of_old = range(skipped + 1) if may_skip_both else (0, skipped)
        for n in sorted(of_old, key=lambda n: min(n, skipped - n)):
            i2, j2 = i + n, j + skipped - n
            if i2 <= len(old) and j2 <= len(new) and _is_plausible_match(old, new, i2, j2, limit):
                return i2, j2
    return None


def _is_plausible_match(
    old: Sequence[Event], new: Sequence[Event], i: int, j: int, limit: float
) -> bool:
    """Return whether enough of the following events agree, including a decisive one."""
    count, decisive = 0, False
    while i + count < len(old) and j + count < len(new):
        if count >= AGREEING and decisive:
            return True
        old_event, new_event = old[i + count], new[j + count]
        if not are_events_similar(old_event, new_event, limit):
            return False
        decisive = decisive or old_event.kind in _ALIGNED
        count += 1
    # fewer equal events will do if both traces end with them
    return i + count == len(old) and j + count == len(new)
