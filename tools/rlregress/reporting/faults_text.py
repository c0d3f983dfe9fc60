"""``rlregress selftest faults``: what the probes and the traces said of seeded faults."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from rlregress.model.fault_results import (
    BehaviorResult,
    GateOnFault,
    OptionalResult,
    ProbedResult,
    ThroughputResult,
    TracedResult,
)
from rlregress.reporting import throughput_text, words


def changed(result: ProbedResult) -> str:
    """The details that a fault has moved, with what was found of them."""
    return "; ".join(
        f"{id}: " + ", ".join(f"{variant} [{scope}]" for scope, variant in scopes.items())
        for id, scopes in sorted(result.changed.items())
    )


def probed_line(framework: str, result: ProbedResult) -> str:
    """What the probes said of one fault."""
    moved = changed(result)
    if "" in result.changed:
        # what ended the process that was to ask the probes
        return (
            f"{framework} {'NOT SEEDED':<16}{result.fault.name}: {result.changed[''][''].strip()}"
        )
    word = "seen" if result.detected else "NOT AS EXPECTED"
    line = f"{framework} {word:<16}{result.fault.name}: {moved or 'no detail changed'}"
    if not result.detected:
        expected = sorted({*result.turns, *result.also})
        line += f" (expected: {', '.join(expected)}; {result.turns[0]}: {result.finds})"
    return line


def probed_summary(results: Sequence[ProbedResult]) -> str:
    """How many faults the probes saw as expected."""
    detected = sum(result.detected for result in results)
    return f"{detected} of {len(results)} seeded faults were seen as expected"


def traced_line(result: TracedResult) -> str:
    """What the traces said of one fault."""
    word = "found" if result.right else "ELSEWHERE" if result.found else "NOT FOUND"
    line = f"{word:<10}{result.fault.title:<58} {result.verdict}"
    if result.place:
        line += f", {result.found_kind} at {result.place}"
    if not result.right:
        line += f" (expected: {result.kind} at {', '.join(result.at)})"
    if result.failure:
        line += f"; it ended in {result.failure}"
    return line


def traced_summary(results: Sequence[TracedResult]) -> str:
    """How many faults the traces found, and where."""
    diverged, right = sum(r.found for r in results), sum(r.right for r in results)
    kinds = sum(r.found and r.found_kind == r.kind for r in results)
    named = sum(r.named for r in results)
    return (
        f"{diverged} of {len(results)} found, {right} with the right file and function; "
        f"{kinds} with the expected kind, {named} with the changed function itself in the place or "
        "its callers"
    )


def behavior_line(result: BehaviorResult) -> str:
    """What the behaviour tests said of one fault."""
    name = result.fault.title
    if result.trouble:
        return f"{'NOT SEEDED':<16}{name}: {result.trouble}"
    text = "; ".join(f"{test}: {words}" for test, words in sorted(result.failed.items()))
    line = (
        f"{'seen' if result.detected else 'NOT AS EXPECTED':<16}{name}: {text or 'no test failed'}"
    )
    if not result.detected:
        line += f" (expected: {', '.join(result.turns)}, saying '{result.says}')"
    return line


def behavior_summary(results: Sequence[BehaviorResult]) -> str:
    """How many faults turned their behaviour tests red."""
    detected = sum(result.detected for result in results)
    return f"{detected} of {len(results)} seeded faults turned their behaviour tests red"


def optional_lines(results: Sequence[OptionalResult]) -> list[str]:
    """What the scenarios said of each fault that shows only under an option, and of all."""
    lines = []
    for result in results:
        fault, seeded = result.fault, result.seeded
        if seeded is None:
            word = "does not fit this version"
        elif seeded.detected_by:
            how = (
                "an error" if seeded.comparison is None else "in place" if result.right else "found"
            )
            word = f"{how}, by {seeded.detected_by}"
        elif seeded.misfit:
            word = f"not seeded: {seeded.misfit}"
        else:
            word = f"run by {len(seeded.trainings)}, not seen" if seeded.trainings else "never run"
        lines.append(f"{fault.framework} {fault.name} ({result.option}): {word}")
    fitting = [outcome for outcome in results if outcome.seeded is not None]
    detected, right = (
        sum(outcome.detected for outcome in fitting),
        sum(outcome.right for outcome in fitting),
    )
    share = detected / len(fitting) if fitting else 0.0
    return [
        *lines,
        f"{detected} of {len(fitting)} faults under an option are found ({share:.0%}), "
        f"{right} where "
        f"they are; {len(results) - len(fitting)} do not fit the installed version",
    ]


def returns_lines(judged: GateOnFault) -> list[str]:
    """What the gate on returns said of one fault, and the verdict on every cell and group."""
    name = f"{judged.framework} {judged.algorithm} {judged.name}"
    if judged.trouble:
        return [f"{'COULD NOT JUDGE':<16}{name}: {judged.trouble}"]
    word = "regressed" if judged.regressed else "not regressed"
    cost = f"{judged.runs} runs, {judged.cpu_minutes:.1f} CPU minutes"
    lines = words.lines(judged.verdicts)
    return [f"{word:<16}{name}: {cost}", *(f"    {line}" for line in lines)]


def returns_summary(judged: Sequence[GateOnFault]) -> str:
    """How many gates ended in ``regressed``, and what they cost."""
    fallen = sum(result.regressed for result in judged)
    minutes = sum(result.cpu_minutes for result in judged)
    trouble = sum(bool(result.trouble) for result in judged)
    text = f"{fallen} of {len(judged)} gates ended in regressed, {minutes:.0f} CPU minutes in all"
    return text + (f"; {trouble} could not judge" if trouble else "")


def throughput_lines(judged: ThroughputResult) -> list[str]:
    """What was said of the throughput of a training with a fault, quantity by quantity."""
    fault, name = judged.fault, judged.fault.title
    if judged.trouble:
        return [f"{'COULD NOT JUDGE':<16}{name}: {judged.trouble}"]
    word = "seen" if judged.detected else "NOT SEEN"
    verdicts = {quantity: asdict(verdict) for quantity, verdict in judged.verdicts.items()}
    lines = throughput_text.verdict_lines(
        {(fault.framework, fault.algorithm): {"verdicts": verdicts}}
    )
    return [f"{word:<16}{name}, by {judged.turns}", *(f"    {line}" for line in lines)]


def throughput_summary(judged: Sequence[ThroughputResult]) -> str:
    """How many faults were seen in the quantity that they are about."""
    detected = sum(result.detected for result in judged)
    return f"{detected} of {len(judged)} seeded faults were seen in what they slow down or keep"
