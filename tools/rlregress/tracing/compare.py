"""Two traces: equal to the bit, close, or diverged, and where first.

Events are aligned, not counted: an event that only one side has is noted and skipped when the two
go on alike after it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from rlregress.tracing.trace import Event, Part, Trace

#: relative difference of reordered arithmetic in float32, at first.
CLOSE = 1e-6
#: what it may grow to in a few hundred updates before it is a difference of its own.
GROWN = 1e-2
#: events to look ahead for the place where both sides go on alike.
WINDOW = 400
#: equal events in a row that make an alignment believable.
AGREEING = 3

#: kind of event, part -> kind of difference.
KINDS = {
    ("reset", "observation"): "environment",
    ("step", "action"): "exploration",
    ("step", "observation"): "environment",
    ("step", "reward"): "environment",
    ("step", "flags"): "environment",
    ("draw", "value"): "sampling",
    ("parameters", "value"): "initialisation",
    ("backward", "loss"): "loss",
    ("optimizer", "parameters"): "parameters",
    ("optimizer", "gradient"): "gradient",
    ("optimizer", "learning_rate"): "schedule",
    ("optimizer", "update"): "optimiser",
    ("write", "value"): "target update",
}


@dataclass(frozen=True)
class Divergence:
    """The first event that differs.

    Attributes:
        kind: initialisation, exploration, environment, sampling, loss, gradient, schedule,
            optimiser, parameters, target update, or order (other events happen).
        part: of the event, which value differs; empty for order.
        a, b: the event on either side; None where the trace has ended.
        before: the events just before it, the same on both sides.
    """

    kind: str
    part: str
    a: Event | None
    b: Event | None
    before: tuple[Event, ...]

    @property
    def ratio(self) -> float | None:
        """B over A of the first values, or of the norms, where that is a number."""
        if self.a is None or self.b is None or not self.part:
            return None
        return _ratio(self.a.parts[self.part], self.b.parts[self.part])


@dataclass(frozen=True)
class Comparison:
    """What two traces have to say of each other.

    Attributes:
        verdict: "equal", "close" or "diverged".
        compared: events that were compared.
        first: where they part; None if they are equal.
        growth: (event number, relative difference of the loss) after the first difference.
        extra: events that only one side has, skipped where both go on alike.
    """

    verdict: str
    compared: int
    first: Divergence | None = None
    growth: tuple[tuple[int, float], ...] = ()
    extra: tuple[tuple[str, Event], ...] = field(default=())


def _ratio(a: Part, b: Part) -> float | None:
    one, other = (p.values[0] if len(p.values) == 1 else p.norm for p in (a, b))
    if one is None or other is None or one == 0.0 or not math.isfinite(one + other):
        return None
    return other / one


def difference(a: Part, b: Part) -> float:
    """Largest relative difference of the kept numbers; infinite where none can be compared."""
    if a.digest == b.digest:
        return 0.0
    pairs = list(zip(a.values, b.values, strict=False))
    if a.norm is not None and b.norm is not None:
        pairs.append((a.norm, b.norm))
    if not pairs or len(a.values) != len(b.values):
        return math.inf
    worst = 0.0
    for one, other in pairs:
        scale = max(abs(one), abs(other), abs(a.norm or 0.0), abs(b.norm or 0.0))
        gap = abs(one - other)
        worst = max(worst, math.inf if not math.isfinite(gap) else gap / scale if scale else 0.0)
    return worst


def _event_difference(a: Event, b: Event) -> tuple[str, float]:
    """The first part that differs, and by how much; ("", 0) if none does."""
    for name, part in a.parts.items():
        other = b.parts.get(name)
        if other is None:
            return name, math.inf
        if part.digest != other.digest:
            return name, difference(part, other)
    return "", 0.0


def _same(a: Event, b: Event) -> bool:
    return a.key == b.key and a.digests == b.digests


def _resume(a: Sequence[Event], b: Sequence[Event], i: int, j: int) -> tuple[int, int] | None:
    """The nearest places after (i, j) from which both sides are the same for a while."""
    for skipped in range(1, WINDOW):
        for i2, j2 in ((i, j + skipped), (i + skipped, j)):
            pairs = list(zip(a[i2 : i2 + AGREEING], b[j2 : j2 + AGREEING], strict=False))
            ends = i2 >= len(a) and j2 >= len(b)
            if ends or (len(pairs) == AGREEING and all(_same(x, y) for x, y in pairs)):
                return i2, j2
    return None


def compare(a: Trace, b: Trace) -> Comparison:
    """Walk both traces side by side to the first event that is not the same."""
    one, other = a.events, b.events
    i = j = compared = 0
    extra: list[tuple[str, Event]] = []
    first: Divergence | None = None
    growth: list[tuple[int, float]] = []
    while i < len(one) or j < len(other):
        x = one[i] if i < len(one) else None
        y = other[j] if j < len(other) else None
        if x is not None and y is not None and x.key == y.key:
            part, gap = _event_difference(x, y)
            compared += 1
            if not part or (gap <= CLOSE and first is None) or (first is not None and gap < GROWN):
                if part and first is None:
                    first = Divergence(KINDS[x.kind, part], part, x, y, one[max(0, i - 3) : i])
                if part and x.kind == "backward":
                    growth.append((x.index, gap))
                i, j = i + 1, j + 1
                continue
            resumed = None
        else:
            part, resumed = "", _resume(one, other, i, j)
        if resumed is not None:
            extra += [("A", event) for event in one[i : resumed[0]]]
            extra += [("B", event) for event in other[j : resumed[1]]]
            i, j = resumed
            continue
        found = first
        if found is None or part or x is None or y is None or x.key != y.key:
            kind = KINDS[x.kind, part] if x is not None and part else "order"
            here = Divergence(kind, part, x, y, one[max(0, i - 3) : i])
            found = first if first is not None else here
        later = _growth(one[i:], other[j:])
        return Comparison("diverged", compared, found, (*growth, *later), tuple(extra))
    if first is not None:
        return Comparison("close", compared, first, tuple(growth), tuple(extra))
    return Comparison(
        "diverged" if extra and not compared else "equal", compared, None, (), tuple(extra)
    )


def _growth(a: Sequence[Event], b: Sequence[Event]) -> list[tuple[int, float]]:
    """Relative difference of the losses that follow, one after the other, by their place."""
    by_place: dict[tuple[str, str, str], list[Event]] = {}
    for event in b:
        if event.kind == "backward":
            by_place.setdefault(event.key, []).append(event)
    found = []
    seen: dict[tuple[str, str, str], int] = {}
    for event in a:
        if event.kind != "backward":
            continue
        number = seen.get(event.key, 0)
        seen[event.key] = number + 1
        others = by_place.get(event.key, [])
        if number < len(others):
            found.append(
                (event.index, difference(event.parts["loss"], others[number].parts["loss"]))
            )
    return found
