"""Rounding, measured by copies of the old version that differ in the last bits alone.

If two traces first differ by little, the old version is recorded again several times, with the
numbers of that event changed by one unit in the last place, up or down at random. Deviations of the
new version up to a few times those of the copies, within the same update, are rounding.

From some event on a copy may act differently from the old version, such as take another action. The
new version is compared with the other copies. If it acts differently only after a copy has,
rounding may be the reason: this is no change. Later events are not compared, only counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import accumulate, zip_longest

from rlregress.model.recorded_traces import Comparison, Divergence, Event, Trace
from rlregress.trace.align import list_differing_parts
from rlregress.trace.trace_comparison import (
    EXACT,
    GROWN,
    INCIDENTAL,
    KINDS,
    drop_incidental_events,
    find_first_nonnumeric_differences,
)

#: rounded copies of the old training, and how many times further from it than these the new may be.
COPIES, FURTHER = 8, 4.0
#: relative size of a first difference: up to the first it may be rounding, below the second it is.
_SMALL, _UNIT = 1e-4, 1e-6


def find_rounding_start(comparison: Comparison) -> int | None:
    """Return the index of the old event where rounding may begin; None: it cannot be the reason.

    Rounding explains no difference in logs, names, types or shapes.
    """
    first = comparison.rounding or comparison.first
    if comparison.verdict == "equal" or first is None or first.old is None or first.new is None:
        return None
    if comparison.interface is not None or first.part in (*EXACT, ""):
        return None
    if first.old.kind in INCIDENTAL or first.relative_difference > _SMALL:
        return None
    return first.old.index


def measure_rounding_of_comparison(
    comparison: Comparison, old: Trace, new: Trace, copies: Sequence[Trace]
) -> Comparison:
    """Return the comparison, judged anew by how far perturbed copies deviate from the old trace.

    Args:
        comparison: the comparison without this measurement.
        copies: traces of the old version, perturbed at event ``find_rounding_start(comparison)``.
    """
    old_events, new_events = drop_incidental_events(old), drop_incidental_events(new)
    complete = [copy for copy in copies if _is_copy_complete(copy, old)]
    # if only one version ended in an error, the difference is not rounding
    if not complete or bool(new.failure) != bool(old.failure):
        return comparison
    deviations = [
        _measure_deviations_of_events(old_events, drop_incidental_events(copy)) for copy in complete
    ]
    ends, limits = [*map(len, deviations)], _find_limits_of_deviations(old_events, deviations)
    departure = _find_event_beyond_limits(old_events, new_events, limits)
    number, part = departure or (len(limits), "")
    if departure is not None and number < min(ends):
        if comparison.verdict == "diverged" or not part:
            return comparison
        x, y = old_events[number], new_events[number]
        kind, before = KINDS.get((x.kind, part), "data"), tuple(old_events[:number][-3:])
        first = Divergence(kind=kind, part=part, old=x, new=y, before=before)
        return replace(comparison, verdict="diverged", first=first, rounding=comparison.first)
    first_rounding = comparison.rounding or comparison.first
    old_part, new_part = _cut_trace_before_event(old, number), _cut_trace_before_event(new, number)
    up_to_departures = [
        (
            _cut_trace_before_event(old, min(end, number)),
            _cut_trace_before_event(copy, min(end, number)),
        )
        for copy, end in zip(complete, ends, strict=True)
    ]
    words = _find_nonnumeric_difference_not_in_copies(old_part, new_part, up_to_departures)
    if words is not None:
        return replace(comparison, verdict="diverged", first=words, rounding=first_rounding)
    if comparison.verdict == "diverged":
        compared = len(old_part.events)
        remaining = max(len(old.events) - compared, len(new.events) - len(new_part.events))
        comparison = replace(comparison, compared=compared, not_compared=remaining)
    # what is close by the usual limits is compared to its end
    return replace(comparison, verdict="close", first=first_rounding, rounding=None, growth=())


def _cut_trace_before_event(trace: Trace, event_number: int) -> Trace:
    """Return a trace cut before a main event, by number; all of it without such an event."""
    main = drop_incidental_events(trace)
    return replace(
        trace,
        events=trace.events[: main[event_number].index] if main[event_number:] else trace.events,
    )


def _find_nonnumeric_difference_not_in_copies(
    old: Trace, new: Trace, copies: Iterable[tuple[Trace, Trace]]
) -> Divergence | None:
    """Return the first incidental event that differs by more than numbers, but not in a copy.

    Args:
        copies: the old version with each copy, both cut where they begin to act differently.
    """
    in_copies = {key for pair in copies for key in find_first_nonnumeric_differences(*pair)}
    divergences = find_first_nonnumeric_differences(old, new)
    return next((d for key, d in divergences.items() if key not in in_copies), None)


def _is_copy_complete(copy: Trace, old: Trace) -> bool:
    """Return whether a copy was recorded as far as the old version.

    Where an error or a time limit ends a copy, rounding has decided nothing.
    """
    is_cut = bool(copy.header.get("stopped")) and len(copy.events) < len(old.events)
    return bool(copy.failure) == bool(old.failure) and not is_cut


def _measure_deviations_of_events(old: Sequence[Event], copy: Sequence[Event]) -> list[float]:
    """Return how far each event of a copy deviates, up to where it acts differently."""
    deviations: list[float] = []
    for x, y in zip(old, copy, strict=False):
        largest = max((gap for _, gap in list_differing_parts(x, y)), default=0.0)
        if x.key != y.key or largest > GROWN:
            break
        deviations.append(largest)
    return deviations


def _find_limits_of_deviations(
    old: Sequence[Event], deviations: Sequence[Sequence[float]]
) -> list[float]:
    """Return for each event the largest deviation that still counts as rounding.

    This is ``FURTHER`` times the largest deviation of any copy up to the end of the same update.
    The list ends where the last copy acts differently.

    Args:
        deviations: those of each copy, up to where it acts differently.
    """
    limits: list[float] = []
    largest = [*accumulate(map(max, zip_longest(*deviations, fillvalue=0.0)), max)]
    for number, gap in enumerate(largest):
        if old[number].kind == "optimizer" or number == len(largest) - 1:
            limits += [FURTHER * gap + _UNIT] * (number + 1 - len(limits))
    return limits


def _find_event_beyond_limits(
    old: Sequence[Event], new: Sequence[Event], limits: Sequence[float]
) -> tuple[int, str] | None:
    """Return the first event, and its part, beyond the limits; no part: it is another event."""
    for number, limit in enumerate(limits):
        if number >= len(new) or old[number].key != new[number].key:
            return number, ""
        for part, gap in list_differing_parts(old[number], new[number]):
            if part in EXACT or gap > limit:
                return number, part
    if len(limits) == len(old) != len(new):
        return len(old), ""
    return None
