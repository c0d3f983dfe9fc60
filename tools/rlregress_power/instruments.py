"""The instruments of the suite: does each detect the known faults of its table?

An instrument injects faults, runs the checks that must detect them, and yields a result for each.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rlregress import frameworks, source, suite
from rlregress.check import stored_throughput
from rlregress.errors import UserError
from rlregress.faults import injection
from rlregress.model.fault_results import (
    BEHAVIOR,
    DETAILS,
    OPTIONS,
    REPLAYS,
    RETURNS,
    THROUGHPUT,
    TRACES,
    Fault,
    FaultResult,
    Mutant,
    MutantResult,
)
from rlregress.model.recorded_traces import Comparison, Event, Trace
from rlregress.model.verdict import REGRESSED
from rlregress.trace import recording_processes
from rlregress.trace.child_processes import extract_last_message
from rlregress.trace.recording_processes import Runtime
from rlregress.trace.trace_comparison import compare_traces
from rlregress.upgrade.versions.cached_folders import Log
from rlregress_power import probe_server, replay_power, return_gates, traced_mutants


@dataclass(frozen=True, kw_only=True)
class Instrument:
    """One way to detect faults.

    Attributes:
        run: yields the result of each fault; uses ``workers`` processes and prints by ``say``.
        counted: name of the counted items in progress lines; empty: nothing is counted.
        share: share of the faults that must be detected.
        in_place: whether this share must also be found in the right place.
    """

    run: Callable[..., Iterator[FaultResult]]
    counted: str = ""
    share: float = 1.0
    in_place: bool = False

    def detects_enough(self, results: Sequence[FaultResult]) -> bool:
        """Return whether enough of the faults for the installed version are detected."""
        fitting = [result for result in results if result.fits]
        detected = [result for result in fitting if result.detected]
        right = [result for result in fitting if result.in_place or not self.in_place]
        least = self.share * len(fitting)
        return min(len(detected), len(right)) >= least and bool(fitting or not results)


def _group_by_framework(faults: Sequence[Fault]) -> Mapping[str, list[Fault]]:
    names = dict.fromkeys(fault.framework for fault in faults)
    return {name: [fault for fault in faults if fault.framework == name] for name in names}


def _judge_faults_by_probes(
    faults: Sequence[Fault], workers: int, log: Log
) -> Iterator[FaultResult]:
    for name, framework_faults in _group_by_framework(faults).items():
        log(f"{name}: {len(framework_faults)} faults; measuring which lines each probe executes")
        yield from probe_server.probe_each_fault(name, framework_faults, workers)


def _judge_faults_by_traces(
    faults: Sequence[Fault], workers: int, log: Log
) -> Iterator[FaultResult]:
    """Trace the installed code once per algorithm, then every changed copy."""
    with (
        TemporaryDirectory(prefix="rlregress-traced-") as name,
        ThreadPoolExecutor(workers) as pool,
    ):
        folder = Path(name)
        trainings = sorted({(fault.framework, fault.algorithm) for fault in faults})
        traces = pool.map(
            lambda training: _record_training_without_fault(training[0], training[1], folder),
            trainings,
        )
        originals = dict(zip(trainings, traces, strict=True))
        yield from pool.map(
            lambda fault: _judge_fault_by_trace(
                fault, originals[fault.framework, fault.algorithm], folder
            ),
            faults,
        )


def _record_training(framework: str, algorithm: str, output: Path, runtime: Runtime) -> Trace:
    job = {"framework": framework, "training": algorithm, "seed": 0}
    return recording_processes.record_trace(job, output, runtime)


def _record_training_without_fault(framework: str, algorithm: str, folder: Path) -> Trace:
    output = folder / f"{framework}-{algorithm}.trace"
    recorded = _record_training(
        framework, algorithm, output, recording_processes.make_current_runtime("installed")
    )
    if recorded.failure:
        raise UserError(
            f"the built-in training of {algorithm} ended in an error without any fault: "
            f"{extract_last_message(recorded.failure)}"
        )
    return recorded


def _judge_fault_by_trace(fault: Fault, original: Trace, folder: Path) -> FaultResult:
    with injection.inject_fault(fault) as environment:
        paths = tuple(environment["PYTHONPATH"].split(os.pathsep))
        runtime = Runtime(fault.name, paths=paths, variables=environment)
        output = folder / f"{fault.framework}-{fault.name}.trace"
        changed = _record_training(fault.framework, fault.algorithm, output, runtime)
    output.unlink()
    comparison = compare_traces(original, changed)
    events = _list_events_of_first_difference(comparison)
    diverged = comparison.verdict == "diverged"
    kind = comparison.first.kind if comparison.first is not None else ""
    places = {f"{event.file} {event.function}" for event in events}
    return FaultResult(
        fault=fault,
        detected=diverged,
        by={kind: f"{events[0].place} {events[0].function}"} if events else {},
        in_place=diverged and bool(places & set(fault.turns)),
        named=_is_function_among_frames(events, fault.file, _find_function_of_fault(fault)),
        verdict=comparison.verdict,
        failure=extract_last_message(changed.failure) if changed.failure else "",
    )


def _list_events_of_first_difference(comparison: Comparison) -> list[Event]:
    """Return the events of the first difference, that of the changed copy first."""
    if comparison.first is None:
        return []
    return [event for event in (comparison.first.new, comparison.first.old) if event is not None]


def _is_function_among_frames(events: Sequence[Event], file: str, function: str) -> bool:
    frames = [(event.file, event.function) for event in events]
    frames += [(caller.file, caller.function) for event in events for caller in event.callers]
    return (file, function) in frames


def _find_function_of_fault(fault: Fault) -> str:
    """Return the innermost function around a fault; "" if the fault does not fit."""
    place = injection.find_fault_line(fault)
    if place is None:
        return ""
    path, line = place
    functions = source.parse_source(path.read_text(encoding="utf-8")).functions
    around = [function for function in functions if function.first <= line <= function.last]
    inner = max(around, key=lambda function: function.first, default=None)
    return inner.name.rpartition(".")[2] if inner is not None else "<module>"


def _judge_faults_by_scenarios(
    faults: Sequence[Fault], workers: int, log: Log
) -> Iterator[FaultResult]:
    """Trace every training of the installed code, and again with each fault that it runs."""
    for name, framework_faults in _group_by_framework(faults).items():
        mutants = {
            fault: mutant
            for fault in framework_faults
            if (mutant := _make_mutant_of_fault(fault)) is not None
        }
        mutants_found = list(mutants.values())
        seeded = traced_mutants.trace_with_mutants(
            frameworks.get_adapter(name), mutants_found, workers, log
        )
        by_fault = dict(zip(mutants, seeded, strict=True))
        yield from (
            _judge_fault_under_option(fault, by_fault.get(fault)) for fault in framework_faults
        )


def _make_mutant_of_fault(fault: Fault) -> Mutant | None:
    """Return the changed file; None if the fault fits no function of this version."""
    path = frameworks.get_adapter(fault.framework).code.find_installed_path(fault.file)
    if path is None:
        return None
    text = path.read_text(encoding="utf-8")
    changed = source.replace_one_occurrence(text, fault.old, fault.new, fault.occurrence)
    if changed is None:
        return None
    if fault.function not in {function.name for function in source.parse_source(text).functions}:
        return None
    # the first differing line, because the fragment may begin above it
    same = next((n for n, (x, y) in enumerate(zip(text, changed, strict=False)) if x != y), 0)
    return Mutant(
        file=fault.file,
        function=fault.function,
        line=text[:same].count("\n") + 1,
        operator=fault.option,
        old=fault.old,
        new=fault.new,
        text=changed,
    )


def _judge_fault_under_option(fault: Fault, seeded: MutantResult | None) -> FaultResult:
    if seeded is None:
        return FaultResult(fault=fault, fits=False, trouble="does not fit this version")
    comparison = seeded.comparison
    last = fault.function.rpartition(".")[2]
    in_place = comparison is not None and _is_function_among_frames(
        _list_events_of_first_difference(comparison), fault.file, last
    )
    how = "an error" if comparison is None else "in place" if in_place else "found"
    return FaultResult(
        fault=fault,
        detected=bool(seeded.detected_by),
        by={seeded.detected_by: how} if seeded.detected_by else {},
        in_place=in_place,
        executed=len(seeded.trainings),
        trouble=f"not injected: {seeded.misfit}" if seeded.misfit else "",
    )


def _judge_faults_by_tests(
    faults: Sequence[Fault], workers: int, log: Log
) -> Iterator[FaultResult]:
    with ThreadPoolExecutor(workers) as pool:
        yield from pool.map(_judge_fault_by_tests, faults)


def build_pytest_command(framework: str, paths: Sequence[str], *arguments: str) -> list[str]:
    """Return the arguments of Python that run tests of a framework."""
    return [
        *suite.make_pytest_arguments(*paths), "-q", "-p", "no:cacheprovider", "-p", "no:xdist",
        "--framework", framework, *arguments,
    ]  # fmt: skip


def run_tests_with_fault(
    fault: Fault, paths: Sequence[str], *arguments: str, patience: float | None = None
) -> tuple[list[dict[str, Any]] | None, str]:
    """Run tests on a copy with a fault.

    Returns:
        The entries of the evidence, None if there are none; and why the tests did not run, or "".

    Raises:
        subprocess.TimeoutExpired: they took longer than ``patience`` seconds.
    """
    with TemporaryDirectory(prefix="rlregress-behavior-") as folder:
        evidence = Path(folder) / "evidence.json"
        command = build_pytest_command(
            fault.framework, paths, *arguments, "--evidence", str(evidence)
        )
        completed = injection.run_python_with_fault(fault, command, patience)
        entries = json.loads(evidence.read_text("utf-8"))["tests"] if evidence.is_file() else None
    ran = completed.returncode in (0, 1) and entries
    output = completed.stdout + completed.stderr
    return entries, "" if ran else f"the tests did not run: {output[-500:]}"


def _judge_fault_by_tests(fault: Fault) -> FaultResult:
    if injection.find_fault_line(fault) is None:
        trouble = f"does not fit this version of {fault.framework}"
        return FaultResult(fault=fault, trouble=trouble)
    paths = [f"tests_behavior/{name}" for name in fault.turns]
    entries, trouble = run_tests_with_fault(fault, paths, "--algorithm", fault.algorithm)
    failed: dict[str, str] = {}
    for entry in entries or ():
        if entry["outcome"] == "failed":
            # a test with several environments or settings has failed if it failed for one
            name = entry["test"].partition("/")[2].partition("[")[0]
            lines = entry["message"].splitlines()
            failed[name] = "; ".join(filter(None, [failed.get(name), lines[0] if lines else ""]))
    return make_behavior_result(fault, failed, trouble)


def make_behavior_result(fault: Fault, failed: Mapping[str, str], trouble: str = "") -> FaultResult:
    """Return the result of behaviour tests.

    The fault is detected if all named tests failed, one of them with the expected words.

    Args:
        failed: test -> the first line of its message.
    """
    words = [failed.get(name) for name in fault.turns]
    detected = None not in words and any(fault.finds in (line or "") for line in words)
    return FaultResult(fault=fault, detected=detected, by=failed, trouble=trouble)


def _judge_faults_by_throughput(
    faults: Sequence[Fault], workers: int, log: Log
) -> Iterator[FaultResult]:
    """Measure a copy with each fault, one at a time, against the stored processes."""
    for fault in faults:
        pair = fault.framework, fault.algorithm
        try:
            if stored_throughput.find_comparable_throughput(*pair) is None:
                raise UserError(
                    f"no throughput of {' '.join(pair)} is stored; measure it with: "
                    f"{stored_throughput.make_record_command(fault.framework)}"
                )
            with injection.inject_fault(fault) as environment:
                measured = stored_throughput.measure_throughput_in_new_processes(*pair, environment)
            judged = stored_throughput.judge_measured_throughput({pair: measured}, 0.05)[pair]
            verdicts = {name: asdict(verdict) for name, verdict in judged.items()}
        except UserError as error:
            yield FaultResult(fault=fault, trouble=str(error))
        else:
            detected = any(
                name in fault.turns and verdict["verdict"] == REGRESSED
                for name, verdict in verdicts.items()
            )
            yield FaultResult(fault=fault, detected=detected, verdicts=verdicts)


INSTRUMENTS: Mapping[str, Instrument] = {
    DETAILS: Instrument(run=_judge_faults_by_probes, counted="faults probed"),
    TRACES: Instrument(
        run=_judge_faults_by_traces, counted="faults traced", share=0.9, in_place=True
    ),
    OPTIONS: Instrument(run=_judge_faults_by_scenarios, share=0.9),
    BEHAVIOR: Instrument(run=_judge_faults_by_tests, counted="faults given to behaviour tests"),
    RETURNS: Instrument(run=return_gates.judge_faults_by_returns),
    REPLAYS: Instrument(run=replay_power.judge_faults_by_replay, counted="faults replayed"),
    THROUGHPUT: Instrument(run=_judge_faults_by_throughput),
}
