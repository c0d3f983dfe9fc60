"""A comparison of traces in plain words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rlregress.model.recorded_traces import (
    VERSIONS,
    Comparison,
    Divergence,
    Event,
    Growth,
    Part,
    Trace,
)

#: kind of event -> its description; see ``Event``
EVENTS = {
    "reset": "reset of {name}",
    "step": "step of {name}",
    "output": "{name} returns",
    "draw": "random draw, {name}",
    "data": "arrays become tensors",
    "parameters": "initial parameters of the networks",
    "loss": "{name} returns its losses",
    "backward": "backward pass of the loss",
    "optimizer": "step of {name}",
    "write": "in-place write, {name}",
    "log": "{name} is logged",
    "module": "{name} returns",
    "final": "final parameters and buffers of the {name}",
    "file": "{name} is written",
    "printed": "lines on {name}",
}
#: kind of difference -> its meaning
_KINDS = {
    "initialisation": "the networks are initialised with other parameters",
    "exploration": "another action was taken with the same parameters",
    "environment": "the same action led to another observation, reward or end of the episode",
    "sampling": "a random draw gave other values",
    "data": "the same events, but other values: observations, a minibatch, or a rollout's results",
    "computation": "a module returns other values; everything recorded before it is the same",
    "loss": "the loss has another value; everything recorded before it is the same",
    "gradient": "the same loss has another gradient",
    "schedule": "the learning rate is different",
    "optimiser": "the optimiser made a different step from the same gradient and learning rate",
    "parameters": "the parameters were changed outside of the optimiser",
    "target update": "other values were written in place, as in an update of target networks",
    "order": "the two versions do different things, or do them in another order",
    "interface": "other names, types or shapes are returned",
    "logs": "the training is the same, but something else is logged",
    "module": "the training is the same, but a module returns something else",
    "files": "the training is the same, but a file that it writes is not",
    "printed": "the training is the same, but it prints something else",
}
#: part of an event -> meaning of a difference in it, if it is more precise than that of the kind
_PARTS = {"size": "the optimiser is given another number of tensors, or of parameters in them"}
#: most names of entries and parameters
_NAMED = 4
#: largest relative difference that may come from the order of additions
_ROUNDING = 1e-5
#: meaning if a vector environment or normaliser differs and the environments in it do not
_OUTPUT = "the vector environment, normaliser or collector returns other values"
#: meaning if a result of the training differs: its end, its output, an action of its policy
_ANSWER = "the training ends with, or a call returns, another value"
_DRAWS = "random draws, such as minibatch sampling"


def _format_part_of_event(part: Part, shows_types: bool = False) -> str:
    if shows_types:
        return part.types
    if part.text:
        return part.text
    text = ", ".join(f"{x:.9g}" for x in part.values)
    norm = f", norm {part.norm:.9g}" if part.norm is not None and len(part.values) > 1 else ""
    return f"[{text}]{norm}" if len(part.values) != 1 else text


def format_value_of_event(event: Event, part_name: str, shows_types: bool = False) -> str:
    """Return what an event recorded under ``part_name`` as text; empty if it has no such part.

    Args:
        shows_types: return the types in place of the values.
    """
    return (
        _format_part_of_event(event.parts[part_name], shows_types)
        if part_name in event.parts
        else ""
    )


def describe_event(event: Event) -> str:
    """Describe an event: what happened and where."""
    action = EVENTS[event.kind].format(name=event.name)
    where = f", {event.place} in {event.function}" if event.file else ""
    return f"event {event.index + 1}: {action}{where}"


def describe_divergence(diff: Divergence, title: str = "first difference") -> list[str]:
    """Describe the first difference: kind, both lines, both values, and the events before."""
    meaning = _PARTS.get(diff.part, _KINDS[diff.kind])
    if diff.old is not None and diff.old.kind == "output" and diff.part:
        meaning = _ANSWER if diff.old.is_result else _OUTPUT
    if diff.old is not None and diff.old.kind == "reset":
        meaning = "an episode begins with another observation: another seed or environment"
    if diff.old is not None and diff.old.kind == "final":
        meaning = "every event is the same, but the networks end with other parameters or buffers"
    if diff.differing_types:
        meaning = diff.differing_types
    lines = [f"{title} ({diff.kind}): {meaning}"]
    for label, version_event in zip(VERSIONS, (diff.old, diff.new), strict=True):
        if version_event is None:
            of_name = diff.kind in ("interface", "logs", "files", "printed")
            none = "nothing of that name" if of_name else "the trace has ended"
            lines.append(f"  {label}: {none}")
            continue
        lines.append(
            f"  {label}: "
            f"{describe_event(version_event)}{_format_value_in_divergence(diff, version_event)}"
        )
        above = [f"{c.file}:{c.line} in {c.function}" for c in version_event.callers]
        if above:
            how = "raised in" if version_event.error else "called from"
            lines.append(f"     {how} {', from '.join(above)}")
    if diff.differing_entries:
        further = len(diff.differing_entries) - _NAMED
        ending = f" and {further} more" if further > 0 else ""
        lines.append(f"  in {', '.join(diff.differing_entries[:_NAMED])}{ending}")
    if diff.new_to_old_ratio is not None:
        lines.append(f"  new / old: x{diff.new_to_old_ratio:.6g}")
    if diff.before:
        lines.append("  just before, the same on both versions:")
        lines += [f"    {describe_event(version_event)}" for version_event in diff.before]
    return lines


def _format_value_in_divergence(diff: Divergence, event: Event) -> str:
    if not diff.part:
        return ""
    value = format_value_of_event(event, diff.part, bool(diff.differing_types))
    return f": {diff.part} {value or 'nothing'}"


def _describe_growth_of_losses(growth: Sequence[Growth]) -> list[str]:
    count = sum(len(gap.gaps) for gap in growth)
    if not any(gap for growth_of in growth for gap in growth_of.gaps):
        return [f"all {count} losses from there on are the same"]
    lines = ["relative difference of the losses from there on:"]
    for row in growth:
        last = f", {row.gaps[-1]:.2g} last" if len(row.gaps) > 1 else ""
        steps = f", before optimiser {row.optimizer} steps" if row.optimizer else ""
        place = f"{row.first.place} in {row.first.function}"
        lines.append(f"  {place}{steps}: {row.gaps[0]:.2g} first{last} ({len(row.gaps)} losses)")
    return lines


def describe_counts_of_trace(trace: Trace) -> str:
    """Describe the number of steps, draws, losses and optimiser steps of a trace."""
    kinds = (
        ("step", "environment steps"),
        ("draw", "draws"),
        ("backward", "losses"),
        ("optimizer", "optimiser steps"),
    )
    return ", ".join(f"{trace.count_events_of_kind(kind)} {plural}" for kind, plural in kinds)


def describe_early_end(trace: Trace) -> str:
    """Describe the error that ended a training and the number of events before it."""
    return f"the training ended in an error after {len(trace.events)} events: {trace.error_text}"


def describe_other_activity(trace: Trace) -> list[str]:
    """Describe the activity of a training in other threads and processes, and how to avoid it."""
    return [_describe_thread_or_process(row) for row in trace.other_activity]


def _describe_thread_or_process(entry: Mapping[str, Any]) -> str:
    activity = {"process": "in another process, unrecorded", "thread": "in another thread"}[
        entry["what"]
    ]
    where = f"{entry['file']}:{entry['line']}" if entry["file"] else "an unknown place"
    who = f"{entry['class']}, " if entry["class"] else ""
    advice = f"; to run it in one process: {entry['instead']}" if entry["instead"] else ""
    return f"part of the training runs {activity}, started by {who}{where}{advice}"


def describe_trace_comparison(comparison: Comparison, old: Trace, new: Trace) -> list[str]:
    """Describe the verdict of a comparison and its reasons."""
    if comparison.verdict == "equal":
        lines = [
            f"equal: {comparison.compared} events the same to the bit "
            f"({describe_counts_of_trace(old)})"
        ]
    elif comparison.verdict == "close":
        lines = [
            f"close: {comparison.compared} events, the same up to rounding "
            f"({describe_counts_of_trace(old)})"
        ]
        if comparison.not_compared:
            lines = [describe_uncompared_ending(comparison)]
        lines += describe_divergence(comparison.first) if comparison.first else []
    else:
        lines = [f"diverged after {comparison.equal} equal events of {len(old.events)}"]
        lines += describe_divergence(comparison.first) if comparison.first else []
        if comparison.rounding is not None and comparison.rounding.old is not None:
            lines.append(
                "  differences of rounding began before it: "
                f"{describe_event(comparison.rounding.old)}"
            )
    for further in (comparison.interface, comparison.numbers):
        if further is not None and further is not comparison.first:
            lines += describe_divergence(further, "also")
    if comparison.growth:
        lines += _describe_growth_of_losses(comparison.growth)
    for label in VERSIONS:
        events = [extra for extra_label, extra in comparison.extra if extra_label == label]
        if events:
            lines.append(
                f"only the {label} version has {len(events)} events, the first: "
                f"{describe_event(events[0])}"
            )
    return lines


def describe_uncompared_ending(comparison: Comparison) -> str:
    """Describe the last events, which are not compared because rounding alone may change them."""
    return (
        f"close in {comparison.compared} events; the last {comparison.not_compared} are not "
        "compared, because rounding alone changes what the old version does there"
    )


def name_uncontrolled_randomness(
    comparison: Comparison, other_activity: Sequence[Mapping[str, Any]] = ()
) -> str:
    """Name the uncontrolled source of randomness that makes a training differ from its repetition.

    Args:
        other_activity: threads and processes that the training started.
    """
    first = comparison.first
    if first is None:
        return ""
    if other_activity:
        return "the order of what runs in other threads or processes"
    kind = first.kind
    if kind == "order":
        # one version draws and the other does not: a draw instead of a step decided on the action
        kinds = {event.kind for event in (first.old, first.new) if event is not None}
        if "draw" in kinds:
            kind = "exploration" if "step" in kinds else "sampling"
    messages = {
        "environment": "the environment (its reset or its steps are not seeded)",
        "exploration": "action sampling",
        "initialisation": "the initialisation of the networks",
        "sampling": _DRAWS,
        "data": _DRAWS,
    }
    if kind in messages:
        return messages[kind]
    if first.relative_difference < _ROUNDING:
        return "arithmetic (threads, or a GPU)"
    return (
        "something that the tracer does not record (a private random generator, the clock, the "
        "order of a set, a file of another run, an environment that is not gymnasium's)"
    )


def describe_divergence_of_written_output(diff: Divergence) -> str:
    """Describe the first difference of written output in one clause; empty if it is elsewhere."""
    if diff.kind not in ("files", "printed"):
        return ""
    name = next(
        version_event.name for version_event in (diff.old, diff.new) if version_event is not None
    )
    if diff.old is None or diff.new is None:
        which = "old" if diff.new is None else "new"
        return f"only the {which} version writes {name}"
    types = bool(diff.differing_types)
    old, new = (
        format_value_of_event(version_event, diff.part, types) or "nothing"
        for version_event in (diff.old, diff.new)
    )
    return f"{name}, {diff.part}: {old} -> {new}"


def describe_unrepeatable_output(trace: Trace) -> list[str]:
    """Describe written output that is not compared because it differs between repetitions."""
    counts = Counter((name, number) for _, name, number, _ in trace.unrepeatable_output)
    return [
        f"not compared, as another recording of the same version differs: {count} "
        f"part{'s' * (count > 1)} of {name}"
        for (name, _), count in sorted(counts.items())
    ]


@dataclass(frozen=True, kw_only=True)
class RepeatedTrace:
    """A trace and its repetition.

    Attributes:
        with_itself: the comparison of the two; the trace is evidence only if it is "equal".
    """

    trace: Trace
    with_itself: Comparison
    repetition: Trace

    @property
    def repeats(self) -> bool:
        """Return whether the trace repeats itself bit by bit."""
        return self.with_itself.verdict == "equal"

    def describe_uncontrolled_randomness(self) -> list[str]:
        """Describe the uncontrolled source of randomness; empty if the trace repeats itself."""
        if self.repeats:
            return []
        cause = name_uncontrolled_randomness(self.with_itself, self.trace.other_activity)
        return [
            f"the training does not repeat itself, because of {cause}",
            *describe_trace_comparison(self.with_itself, self.trace, self.repetition),
        ]

    def describe_seeds_and_repeatability(self) -> list[str]:
        """Describe seeded generators, other threads, and why the trace does not repeat itself."""
        seeded = describe_seeded_generators(self.trace)
        return [
            *seeded,
            *describe_other_activity(self.trace),
            *describe_unrepeatable_output(self.trace),
            *self.describe_uncontrolled_randomness(),
        ]


def describe_seeded_generators(trace: Trace) -> list[str]:
    """Describe the generators that the tracer seeded."""
    seeded = list(trace.header["seeded"])
    return [f"seeded by the tracer, not by the script: {', '.join(seeded)}"] if seeded else []
