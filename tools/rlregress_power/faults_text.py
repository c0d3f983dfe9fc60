"""``rlregress selftest faults``: the results of the instruments as text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from rlregress.model.detail_answers import describe_variant
from rlregress.model.fault_results import (
    BEHAVIOR,
    DETAILS,
    OPTIONS,
    REPLAYS,
    RETURNS,
    THROUGHPUT,
    TRACES,
    FaultResult,
)
from rlregress.report import throughput_text, words


def describe_result_of_instrument(instrument: str, result: FaultResult) -> list[str]:
    """Describe an instrument's result for one fault, with each verdict if there are several."""
    return _LINES[instrument](result)


def _join_detections(result: FaultResult) -> str:
    return "; ".join(f"{name}: {text}" for name, text in sorted(result.by.items()))


def _describe_result_of_probes(result: FaultResult) -> list[str]:
    fault = result.fault
    name, detection = fault.name, _join_detections(result) or "no detail changed"
    if result.trouble:
        word, detection = "NOT INJECTED", result.trouble
    elif result.detected:
        word = "detected"
    else:
        word = "NOT AS EXPECTED"
        expected = ", ".join(sorted({*fault.turns, *fault.also}))
        detection += f" (expected: {expected}; {fault.turns[0]}: {describe_variant(fault.finds)})"
        if more := sorted(result.by.keys() - {*fault.turns, *fault.also}):
            detection += f"; add to `also`, if rightly so: {', '.join(more)}"
    return [f"{fault.framework} {word:<16}{name}: {detection}"]


def _describe_result_of_trace(result: FaultResult) -> list[str]:
    fault = result.fault
    word = "found" if result.in_place else "ELSEWHERE" if result.detected else "NOT FOUND"
    line = f"{word:<10}{fault.title:<58} {result.verdict}"
    line += "".join(f", {kind} at {place}" for kind, place in result.by.items())
    if not result.in_place:
        line += f" (expected: {fault.finds} at {', '.join(fault.turns)})"
    if result.failure:
        line += f"; it ended in {result.failure}"
    return [line]


def _describe_result_of_tests(result: FaultResult) -> list[str]:
    fault, detection = result.fault, _join_detections(result) or "no test failed"
    if result.trouble:
        word, detection = "NOT INJECTED", result.trouble
    elif result.detected:
        word = "detected"
    else:
        word = "NOT AS EXPECTED"
        detection += f" (expected: {', '.join(fault.turns)}, saying '{fault.finds}')"
    return [f"{word:<16}{fault.title}: {detection}"]


def _describe_result_under_option(result: FaultResult) -> list[str]:
    fault = result.fault
    detection = "".join(f"{how}, by {training}" for training, how in result.by.items())
    never = f"run by {result.executed}, not detected" if result.executed else "never run"
    detection = detection or result.trouble or never
    return [f"{fault.framework} {fault.name} ({fault.option}): {detection}"]


def _describe_result_of_returns(result: FaultResult) -> list[str]:
    if result.trouble:
        return [f"{'COULD NOT JUDGE':<16}{result.fault.title}: {result.trouble}"]
    word = "regressed" if result.has_regressed else "not regressed"
    verdicts = words.format_verdicts(result.verdicts)
    return [
        f"{word:<16}{result.fault.title}: {describe_cost_of_gate(result)}",
        *(f"    {line}" for line in verdicts),
    ]


def _describe_result_of_replay(result: FaultResult) -> list[str]:
    fault = result.fault
    if result.trouble:
        return [f"{'COULD NOT JUDGE':<16}{fault.title}: {result.trouble}"]
    word = "detected" if result.detected else "NOT DETECTED"
    never = "no number differs" if result.executed else "its line never runs"
    seconds = f"{60 * result.cpu_minutes:.0f} CPU seconds"
    return [f"{word:<16}{fault.title}: {_join_detections(result) or never}, {seconds}"]


def describe_cost_of_gate(result: FaultResult) -> str:
    """Describe the runs and minutes of a gate on returns."""
    return f"{result.runs} runs, {result.cpu_minutes:.1f} CPU minutes"


def _describe_result_of_throughput(result: FaultResult) -> list[str]:
    fault = result.fault
    if result.trouble:
        return [f"{'COULD NOT JUDGE':<16}{fault.title}: {result.trouble}"]
    word = "detected" if result.detected else "NOT DETECTED"
    verdicts = {(fault.framework, fault.algorithm): {"verdicts": result.verdicts}}
    return [
        f"{word:<16}{fault.title}, by {', '.join(fault.turns)}",
        *(f"    {line}" for line in throughput_text.format_throughput_verdicts(verdicts)),
    ]


_LINES: Mapping[str, Callable[[FaultResult], list[str]]] = {
    DETAILS: _describe_result_of_probes,
    TRACES: _describe_result_of_trace,
    OPTIONS: _describe_result_under_option,
    BEHAVIOR: _describe_result_of_tests,
    RETURNS: _describe_result_of_returns,
    REPLAYS: _describe_result_of_replay,
    THROUGHPUT: _describe_result_of_throughput,
}


def summarise_results(instrument: str, results: Sequence[FaultResult]) -> str:
    """Describe how many faults an instrument detects."""
    detected = sum(result.detected for result in results)
    count_text = f"{detected} of {len(results)}"
    if instrument == REPLAYS:
        return _summarise_replays(results)
    if instrument in _DETECTED:
        return f"{count_text} injected faults {_DETECTED[instrument]}"
    right = sum(result.in_place for result in results)
    if instrument == TRACES:
        kinds = sum(result.detected and result.fault.finds in result.by for result in results)
        named = sum(result.named for result in results)
        return (
            f"{count_text} found, {right} with the right file and function; {kinds} with the "
            f"expected kind, {named} with the changed function in the place or its callers"
        )
    if instrument == OPTIONS:
        fitting = sum(result.fits for result in results)
        share = detected / fitting if fitting else 0.0
        return (
            f"{detected} of {fitting} faults under an option are found ({share:.0%}), {right} "
            f"where they are; {len(results) - fitting} do not fit the installed version"
        )
    fallen = sum(result.has_regressed for result in results)
    minutes = sum(result.cpu_minutes for result in results)
    trouble = sum(bool(result.trouble) for result in results)
    text = f"{fallen} of {len(results)} checks ended in regressed, {minutes:.0f} CPU minutes in all"
    return text + (f"; {trouble} could not judge" if trouble else "")


def _summarise_replays(results: Sequence[FaultResult]) -> str:
    judged = [result for result in results if not result.trouble]
    run = [result for result in judged if result.executed]
    minutes = sum(result.cpu_minutes for result in judged)
    text = (
        f"{sum(result.detected for result in judged)} of {len(judged)} faults were detected by one "
        f"replay each, {sum(result.detected for result in run)} of the {len(run)} whose line runs, "
        f"{minutes:.0f} CPU minutes in all"
    )
    unjudged = len(results) - len(judged)
    return text + (f"; {unjudged} could not be judged" if unjudged else "")


_DETECTED = {
    DETAILS: "were detected as expected",
    BEHAVIOR: "made their behaviour tests fail",
    THROUGHPUT: "were detected in what they slow down or keep",
}
