"""A comparison of traces in plain words."""

from __future__ import annotations

from collections.abc import Sequence

from rlregress.tracing.compare import Comparison, Divergence
from rlregress.tracing.trace import Event, Part, Trace

#: kind of event -> what happened there.
_EVENTS = {
    "reset": "a reset of {name}",
    "step": "a step of {name}",
    "draw": "a draw of {name}",
    "data": "numbers handed to torch",
    "parameters": "the networks as they begin",
    "backward": "a loss on its way back",
    "optimizer": "a step of {name}",
    "write": "values written in place",
    "final": "the {name} as the training leaves them",
}
#: kind of difference -> what it means.
_KINDS = {
    "initialisation": "the networks begin with other parameters",
    "exploration": "another action was taken with the same parameters",
    "environment": "the environment answered the same action otherwise",
    "sampling": "something else was drawn",
    "data": "the same events, but other numbers: observations, a minibatch, or a rollout's results",
    "loss": "the loss has another value on the same data and parameters",
    "gradient": "the same loss has another gradient",
    "schedule": "the learning rate is another",
    "optimiser": "the optimiser made another step of the same gradient and learning rate",
    "parameters": "the parameters were changed outside of the optimiser",
    "target update": "other values were written in place, as target networks are",
    "order": "other events happen on the two sides",
}
#: the same, where the part says more than the kind.
_PARTS = {"size": "the optimiser is given another number of tensors, or of parameters in them"}
#: relative difference up to which a first difference may come from the order of additions.
_ROUNDING = 1e-5
_DRAWS = "random draws, such as minibatch sampling"


def _numbers(part: Part) -> str:
    shown = ", ".join(f"{x:.9g}" for x in part.values)
    norm = f", norm {part.norm:.9g}" if part.norm is not None and len(part.values) > 1 else ""
    return f"[{shown}]{norm}" if len(part.values) != 1 else shown


def event(found: Event) -> str:
    """What happened, and where."""
    what = _EVENTS[found.kind].format(name=found.name)
    where = f", {found.place} in {found.function}" if found.file else ""
    return f"event {found.index + 1}: {what}{where}"


def divergence(first: Divergence) -> list[str]:
    """The first difference: what it is, both lines, both values, what came just before."""
    meaning = _PARTS.get(first.part, _KINDS[first.kind])
    if first.a is not None and first.a.kind == "final":
        meaning = "all events are the same, and yet the networks end with other values"
    lines = [f"first difference ({first.kind}): {meaning}"]
    for side, found in (("A", first.a), ("B", first.b)):
        if found is None:
            lines.append(f"  {side}: the trace has ended")
            continue
        value = f": {first.part} {_numbers(found.parts[first.part])}" if first.part else ""
        lines.append(f"  {side}: {event(found)}{value}")
        above = [f"{c.file}:{c.line} in {c.function}" for c in found.callers]
        if above:
            lines.append(f"     called from {', from '.join(above)}")
    if first.ratio is not None:
        lines.append(f"  B / A: x{first.ratio:.6g}")
    if first.before:
        lines.append("  just before, the same on both sides:")
        lines += [f"    {event(found)}" for found in first.before]
    return lines


def _growth(growth: Sequence[tuple[int, float]]) -> str:
    if not any(gap for _, gap in growth):
        return f"all {len(growth)} losses from there on are the same"
    chosen = sorted({0, min(9, len(growth) - 1), min(99, len(growth) - 1), len(growth) - 1})
    shown = ", ".join(f"{growth[n][1]:.2g} (loss {n + 1})" for n in chosen)
    return f"relative difference of the losses from there on: {shown}"


def comparison(found: Comparison, a: Trace, b: Trace) -> list[str]:
    """The verdict of a comparison and what it rests on."""
    counts = ", ".join(
        f"{a.count(kind)} {plural}"
        for kind, plural in (
            ("step", "environment steps"),
            ("draw", "draws"),
            ("backward", "losses"),
            ("optimizer", "optimiser steps"),
        )
    )
    if found.verdict == "equal":
        lines = [f"equal: {found.compared} events the same to the bit ({counts})"]
    elif found.verdict == "close":
        lines = [
            f"close: {found.compared} events, the same but for rounding ({counts})",
            *(divergence(found.first) if found.first else []),
        ]
    else:
        lines = [f"diverged after {found.equal} equal events of {len(a.events)}"]
        lines += divergence(found.first) if found.first else []
        if found.rounding is not None and found.rounding.a is not None:
            lines.append(f"  by a rounding already before it: {event(found.rounding.a)}")
    if found.growth:
        lines.append(_growth(found.growth))
    for side in ("A", "B"):
        events = [extra for of, extra in found.extra if of == side]
        if events:
            lines.append(f"only {side} has {len(events)} events, the first: {event(events[0])}")
    return lines


def causes(found: Comparison) -> str:
    """What makes a training differ from its own repetition: the uncontrolled source."""
    first = found.first
    if first is None:
        return ""
    kind = first.kind
    if kind == "order":
        # a draw beside something else: beside a step it decided on the action
        kinds = {event.kind for event in (first.a, first.b) if event is not None}
        if "draw" in kinds:
            kind = "exploration" if "step" in kinds else "sampling"
    known = {
        "environment": "the environment (its reset or its steps are not seeded)",
        "exploration": "action sampling",
        "initialisation": "the initialisation of the networks",
        "sampling": _DRAWS,
        "data": _DRAWS,
    }
    if kind in known:
        return known[kind]
    if first.gap < _ROUNDING:
        return "arithmetic (threads, or a GPU)"
    return (
        "something that the tracer does not see (a generator of its own, the clock, the order of a "
        "set, a file that another run has left, an environment not made by gymnasium.make)"
    )
