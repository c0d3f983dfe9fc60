"""Why a training parts: the changed function whose old code makes both sides do the same again.

Every changed function that a training has entered is a suspect, those where the traces part first.
Side A's code of it is put into side B, and the training is recorded again: if it then does what side
A does, that function is the cause; if it parts later, it is a part of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rlregress.tracing.compare import Comparison, Divergence, compare
from rlregress.tracing.trace import Trace
from rlregress.upgrade.functions import CHANGED, Changed, Function

#: suspects of one training that are tried.
_TRIED = 8


@dataclass(frozen=True)
class Cause:
    """What makes a training part.

    Attributes:
        place: changed functions where the traces part, or that called what stands there.
        shown: the function whose old code makes both sides do the same again.
        later: functions whose old code lets the traces part later only.
    """

    place: tuple[Changed, ...] = ()
    shown: Changed | None = None
    later: tuple[Changed, ...] = ()

    @property
    def functions(self) -> tuple[Changed, ...]:
        """The functions that are named, the surest first."""
        shown = (self.shown,) if self.shown is not None else ()
        return tuple(dict.fromkeys((*shown, *self.later, *self.place)))


def at(first: Divergence | None, functions: Iterable[Changed]) -> tuple[Changed, ...]:
    """Changed functions where two traces part, the nearest first."""
    if first is None:
        return ()
    frames = []
    for event, side in ((first.b, "b"), (first.a, "a")):
        if event is not None and event.file:
            frames.append((side, event.file, event.line))
            frames += [(side, caller.file, caller.line) for caller in event.callers]
    found = []
    for side, file, line in frames:
        inside = [f for f in functions if f.file == file and _holds(getattr(f, side), line)]
        # the innermost one
        found += sorted(inside, key=lambda f: -_first(getattr(f, side)))[:1]
    return tuple(dict.fromkeys(found))


def _holds(function: Function | None, line: int) -> bool:
    return function is not None and function.first <= line <= function.last


def _first(function: Function) -> int:
    return function.first


def suspects(
    first: Divergence | None, entered: Iterable[tuple[str, str]], functions: Sequence[Changed]
) -> list[Changed]:
    """Changed functions that can be tried, the nearest to where the traces part first."""
    names = set(entered)
    near = at(first, functions)
    rest = [f for f in functions if f.key in names and f not in near]
    every = [*near, *rest]
    return [f for f in every if f.how == CHANGED and not f.at_import][:_TRIED]


def swap(function: Changed) -> dict[str, Any]:
    """Side A's code of a function, for a recording on side B."""
    path = function.paths[0]
    assert path is not None
    return {
        "file": function.file,
        "function": function.name,
        "text": path.read_text(encoding="utf-8"),
    }


def found(
    parted: Comparison, a: Trace, tried: Mapping[Changed, Trace], place: tuple[Changed, ...]
) -> Cause:
    """The cause, from traces of side B with the old code of one function each."""
    later = []
    for function, trace in tried.items():
        if trace.failure:
            continue
        comparison = compare(a, trace)
        if comparison.verdict != "diverged":
            return Cause(place, function)
        if comparison.equal > parted.equal:
            later.append(function)
    return Cause(place, None, tuple(later))
