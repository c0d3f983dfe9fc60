"""How far rounding goes is measured, by copies of the old version that differ by nothing else.

Where two traces first differ by little, the old version is recorded again, several times, with the
numbers of that event moved by one unit in the last place, up or down at random. Departures of the
new version up to a few times those of the copies, within the same update, are rounding. From where
a copy does something else than the old version, rounding decides, and nothing more is compared.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from rlregress.model.recorded_traces import Comparison, Divergence, Event, Trace
from rlregress.tracing.align import event_differences
from rlregress.tracing.trace_comparison import EXACT, GROWN, INCIDENTAL, KINDS

#: copies of the old version, and how many times further than those the new one may go.
COPIES, FURTHER = 8, 4.0
#: relative size of a first difference up to which it may be one of rounding, and below which it is.
_SMALL, _UNIT = 1e-4, 1e-6


def find_rounding_start(comparison: Comparison) -> int | None:
    """The number of the old version's event at which rounding may begin; None: it explains nothing.

    Of a difference in what is logged, or in names, types or shapes, it does not.
    """
    first = comparison.rounding or comparison.first
    if comparison.verdict == "equal" or first is None or first.a is None or first.b is None:
        return None
    if comparison.interface is not None or first.part in (*EXACT, ""):
        return None
    if first.a.kind in INCIDENTAL or first.gap > _SMALL:
        return None
    return first.a.index


def measure_rounding(
    comparison: Comparison, a: Trace, b: Trace, copies: Sequence[Trace]
) -> Comparison:
    """A comparison of two traces, with rounding measured.

    Args:
        comparison: without it.
        copies: of the old version, nudged at event ``find_rounding_start(comparison)``.
    """
    old, new = _main(a), _main(b)
    departs = _departs(old, new, _limits(old, [_main(copy) for copy in copies]))
    if departs is None:
        if (
            comparison.trains_the_same
            and comparison.first is not None
            and math.isinf(comparison.first.gap)
        ):
            # no rounding changes the words of a file, or whether there is one
            return comparison
        first = comparison.rounding or comparison.first
        return replace(comparison, verdict="close", first=first, rounding=None, growth=())
    number, part = departs
    if comparison.verdict == "diverged" or not part:
        return comparison
    x, y = old[number], new[number]
    before = tuple(old[max(0, number - 3) : number])
    first = Divergence(kind=KINDS.get((x.kind, part), "data"), part=part, a=x, b=y, before=before)
    return replace(comparison, verdict="diverged", first=first, rounding=comparison.first)


def _main(trace: Trace) -> list[Event]:
    return [event for event in trace.events if event.kind not in INCIDENTAL]


def _limits(old: Sequence[Event], copies: Sequence[Sequence[Event]]) -> list[float]:
    """Return for each event the allowed deviation, up to where a copy diverges.

    As far as the furthest copy within the same update, or before it, and a few times more.
    """
    end, gaps = len(old), [0.0] * len(old)
    for copy in copies:
        end = min(end, len(copy))
        for number in range(end):
            differing = event_differences(old[number], copy[number])
            if old[number].key != copy[number].key or any(gap > GROWN for _, gap in differing):
                end = number
                break
            gaps[number] = max([gaps[number], *(gap for _, gap in differing)])
    limits: list[float] = []
    largest, start_event = 0.0, 0
    for number in range(end):
        largest = max(largest, gaps[number])
        if old[number].kind == "optimizer" or number == end - 1:
            limits += [FURTHER * largest + _UNIT] * (number + 1 - start_event)
            start_event = number + 1
    return limits


def _departs(
    old: Sequence[Event], new: Sequence[Event], limits: Sequence[float]
) -> tuple[int, str] | None:
    """The first event, and its part, beyond the limits; no part: it is another event."""
    for number, limit in enumerate(limits):
        if number >= len(new) or old[number].key != new[number].key:
            return number, ""
        for part, gap in event_differences(old[number], new[number]):
            if part in EXACT or gap > limit:
                return number, part
    if len(limits) == len(old) != len(new):
        return len(old), ""
    return None
