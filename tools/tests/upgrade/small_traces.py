"""Losses, traces of them and what was compared, for the tests of what is concluded from these."""

from __future__ import annotations

from rlregress.model.recorded_traces import (
    ComparedTraining,
    Comparison,
    Divergence,
    Event,
    Part,
    Place,
    Trace,
    UncomparedTraining,
)
from rlregress.upgrade.evidence import compared_trainings

FILE = "package/agent.py"


def part(value, **fields):
    """Return the part of a number or a text."""
    if isinstance(value, str):
        return Part(digest=value, norm=None, values=(), text=value, **fields)
    return Part(digest=repr(value), norm=abs(value), values=(value,), **fields)


def event(kind, name="x", **fields):
    """Return an event, without a place unless ``fields`` have one."""
    nowhere = {"index": 0, "file": "", "line": 0, "function": "", "parts": {}}
    return Event(kind=kind, name=name, **{**nowhere, **fields})


def loss(line=1, *callers, value=1.0, file=FILE, function="f"):
    """Return a loss that is handed to backward in a line, called from other lines of the file."""
    above = tuple(Place(file=FILE, line=caller, function="f") for caller in callers)
    return event("backward", "loss", file=file, line=line, function=function,
                 parts={"loss": part(value)}, callers=above)  # fmt: skip


def trace(*events, **header):
    """A trace of a training that ended well."""
    return Trace(header={"failure": "", "seeded": [], "lines": {}, **header}, events=events)


def divergence(old, new):
    """The first difference, of a loss."""
    return Divergence(kind="loss", part="loss", old=old, new=new, before=())


def traced(name, old, new, verdict="diverged", first=None, not_compared=0, **more):
    """A training on both versions, which repeats itself."""
    comparison = Comparison(verdict=verdict, compared=1, first=first, not_compared=not_compared)
    given = {"repeats": True, "notes": (), **more}
    return ComparedTraining(name=name, comparison=comparison, old=old, new=new, **given)


def compare_training(name, old, new, record_again):
    """Compare a training as an upgrade does: with its repetitions where the versions differ."""
    comparison = compared_trainings.compare_recorded_training(name, old, new)
    if isinstance(comparison, UncomparedTraining):
        return comparison
    again = record_again(comparison) if comparison.verdict != "equal" else None
    pairs = (
        compared_trainings.compare_versions_with_their_repetitions((old, new), again)
        if again is not None
        else None
    )
    return compared_trainings.describe_compared_training(name, comparison, old, new, pairs)
