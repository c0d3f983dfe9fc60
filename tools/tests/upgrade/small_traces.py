"""Losses, traces of them and what was compared, for the tests of what is concluded from these."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rlregress.model.recorded_traces import (
    Comparison,
    Divergence,
    Event,
    NotTraced,
    Part,
    Place,
    Trace,
    Traced,
)
from rlregress.upgrade.evidence import compared_trainings

FILE = "package/agent.py"


def part(value: float | str, **fields: Any) -> Part:
    """Return the part of a number or a text."""
    if isinstance(value, str):
        return Part(digest=value, norm=None, values=(), text=value, **fields)
    return Part(digest=repr(value), norm=abs(value), values=(value,), **fields)


def event(kind: str, name: str = "x", **fields: Any) -> Event:
    """Return an event, without a place unless ``fields`` have one."""
    nowhere = {"index": 0, "file": "", "line": 0, "function": "", "parts": {}}
    return Event(kind=kind, name=name, **{**nowhere, **fields})


def loss(
    line: int = 1, *callers: int, value: float = 1.0, file: str = FILE, function: str = "f"
) -> Event:
    """Return a loss that is handed to backward in a line, called from other lines of the file."""
    above = tuple(Place(file=FILE, line=caller, function="f") for caller in callers)
    return event("backward", "loss", file=file, line=line, function=function,
                 parts={"loss": part(value)}, callers=above)  # fmt: skip


def trace(*events: Event, **header: Any) -> Trace:
    """A trace of a training that ended well."""
    return Trace(header={"failure": "", "seeded": [], "lines": {}, **header}, events=events)


def divergence(old: Event | None, new: Event | None) -> Divergence:
    """The first difference, of a loss."""
    return Divergence(kind="loss", part="loss", old=old, new=new, before=())


def traced(
    name: str, old: Trace, new: Trace, verdict: str = "diverged", first: Divergence | None = None,
    not_compared: int = 0, **more: Any,
) -> Traced:  # fmt: skip
    """A training on both versions, which repeats itself."""
    given: Mapping[str, Any] = {"repeats": True, "notes": (), **more}
    comparison = Comparison(verdict=verdict, compared=1, first=first, not_compared=not_compared)
    return Traced(name=name, comparison=comparison, old=old, new=new, **given)


def compare_training(
    name: str,
    old: Trace,
    new: Trace,
    record_again: Callable[[Comparison], tuple[Trace, Trace] | None],
) -> Traced | NotTraced:
    """Compare a training as an upgrade does: with its repetitions where the versions differ."""
    comparison = compared_trainings.compare_recorded_training(name, old, new)
    if isinstance(comparison, NotTraced):
        return comparison
    again = record_again(comparison) if compared_trainings.needs_repetition(comparison) else None
    pairs = compared_trainings.pair_repetitions((old, new), again) if again is not None else None
    return compared_trainings.describe_compared_training(name, comparison, old, new, pairs)
