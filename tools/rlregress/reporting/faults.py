"""``rlregress selftest faults``: what the probes and the traces said of seeded faults."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from rlregress.model.faults import (
    BehaviorResult,
    GateOnFault,
    OptionalResult,
    ProbedResult,
    ThroughputResult,
    TracedResult,
)
from rlregress.reporting import throughput, words


def changed(seen: ProbedResult) -> str:
    """The details that a fault has moved, with what was found of them."""
    return "; ".join(
        f"{id}: " + ", ".join(f"{variant} [{scope}]" for scope, variant in scopes.items())
        for id, scopes in sorted(seen.changed.items())
    )


def probed_line(framework: str, seen: ProbedResult) -> str:
    """What the probes said of one fault."""
    moved = changed(seen)
    if "" in seen.changed:
        # what ended the process that was to ask the probes
        return f"{framework} {'NOT SEEDED':<16}{seen.fault.name}: {seen.changed[''][''].strip()}"
    said = "seen" if seen.detected else "NOT AS EXPECTED"
    line = f"{framework} {said:<16}{seen.fault.name}: {moved or 'no detail changed'}"
    if not seen.detected:
        expected = sorted({*seen.turns, *seen.also})
        line += f" (expected: {', '.join(expected)}; {seen.turns[0]}: {seen.finds})"
    return line


def probed_summary(seen: Sequence[ProbedResult]) -> str:
    """How many faults the probes saw as expected."""
    detected = sum(each.detected for each in seen)
    return f"{detected} of {len(seen)} seeded faults were seen as expected"


def traced_line(result: TracedResult) -> str:
    """What the traces said of one fault."""
    said = "found" if result.right else "ELSEWHERE" if result.found else "NOT FOUND"
    line = f"{said:<10}{result.fault.title:<58} {result.verdict}"
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
    said = "; ".join(f"{test}: {words}" for test, words in sorted(result.failed.items()))
    line = (
        f"{'seen' if result.detected else 'NOT AS EXPECTED':<16}{name}: {said or 'no test failed'}"
    )
    if not result.detected:
        line += f" (expected: {', '.join(result.turns)}, saying '{result.says}')"
    return line


def behavior_summary(results: Sequence[BehaviorResult]) -> str:
    """How many faults turned their behaviour tests red."""
    detected = sum(each.detected for each in results)
    return f"{detected} of {len(results)} seeded faults turned their behaviour tests red"


def optional_lines(results: Sequence[OptionalResult]) -> list[str]:
    """What the scenarios said of each fault that shows only under an option, and of all."""
    lines = []
    for each in results:
        fault, seeded = each.fault, each.seeded
        if seeded is None:
            word = "does not fit this version"
        elif seeded.seen:
            how = "an error" if seeded.comparison is None else "in place" if each.right else "found"
            word = f"{how}, by {seeded.seen}"
        elif seeded.misfit:
            word = f"not seeded: {seeded.misfit}"
        else:
            word = f"run by {len(seeded.trainings)}, not seen" if seeded.trainings else "never run"
        lines.append(f"{fault.framework} {fault.name} ({each.option}): {word}")
    fitting = [each for each in results if each.seeded is not None]
    seen, right = sum(each.seen for each in fitting), sum(each.right for each in fitting)
    share = seen / len(fitting) if fitting else 0.0
    return [
        *lines,
        f"{seen} of {len(fitting)} faults under an option are found ({share:.0%}), {right} where "
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
    fallen = sum(each.regressed for each in judged)
    minutes = sum(each.cpu_minutes for each in judged)
    trouble = sum(bool(each.trouble) for each in judged)
    said = f"{fallen} of {len(judged)} gates ended in regressed, {minutes:.0f} CPU minutes in all"
    return said + (f"; {trouble} could not judge" if trouble else "")


def throughput_lines(judged: ThroughputResult) -> list[str]:
    """What was said of the throughput of a training with a fault, quantity by quantity."""
    fault, name = judged.fault, judged.fault.title
    if judged.trouble:
        return [f"{'COULD NOT JUDGE':<16}{name}: {judged.trouble}"]
    said = "seen" if judged.detected else "NOT SEEN"
    verdicts = {quantity: asdict(verdict) for quantity, verdict in judged.verdicts.items()}
    lines = throughput.verdict_lines({(fault.framework, fault.algorithm): {"verdicts": verdicts}})
    return [f"{said:<16}{name}, by {judged.turns}", *(f"    {line}" for line in lines)]


def throughput_summary(judged: Sequence[ThroughputResult]) -> str:
    """How many faults were seen in the quantity that they are about."""
    seen = sum(each.detected for each in judged)
    return f"{seen} of {len(judged)} seeded faults were seen in what they slow down or keep"
