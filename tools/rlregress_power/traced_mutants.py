"""Mutants in a framework's trainings: which of them a trace shows, or a direct call.

Every mutant is put into the installed code, one at a time, and the trainings that run its line are
recorded again. Or its function is called directly, with the arguments of two of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rlregress import progress, source
from rlregress.frameworks.base import Adapter
from rlregress.model.fault_results import Mutant, MutantResult
from rlregress.model.recorded_traces import Trace
from rlregress.model.upgrade_result import RepeatedCalls
from rlregress.trace.recording_processes import make_current_runtime
from rlregress.trace.trace_comparison import compare_traces
from rlregress.upgrade.evidence import compared_trainings, direct_calls
from rlregress.upgrade.evidence.compared_trainings import Training
from rlregress.upgrade.evidence.runtimes import Runtimes
from rlregress.upgrade.versions import cached_folders

#: seconds after which a training with a fault in it is ended: it has detected the fault.
PATIENCE = 120
#: how a fault cannot be put into a function that is in memory.
_MISFIT = "Misfit"

Record = Callable[[Sequence[Training]], Mapping[str, Trace]]
#: calls the mutants of trainings directly; see ``direct_calls.compare_calls_of_mutants``.
Call = Callable[[Sequence[Training]], Mapping[str, RepeatedCalls]]


def trace_with_mutants(
    adapter: Adapter,
    faults: Sequence[Mutant],
    workers: int,
    log: cached_folders.Log,
    by_calls: bool = False,
) -> list[MutantResult]:
    """Trace every training of the installed code, and again with each fault that it runs.

    No fault is left out: the question is which of them any training detects.

    Args:
        by_calls: call the functions of the faults directly instead of tracing them.
    """
    installed = make_current_runtime("installed")
    with (
        TemporaryDirectory(prefix="rlregress-faults-") as folder,
        Runtimes((installed, installed), (Path(folder), Path(folder)), workers) as runtimes,
    ):
        trainings = {
            training.name: training for training in compared_trainings.list_trainings(adapter)
        }
        progress.begin_stage("recording trainings without faults", len(trainings))
        recorded = runtimes.record_without_storing("new", list(trainings.values()), lines=True)
        traces = {name: trace for name, trace in recorded.items() if not trace.failure}
        if not by_calls:
            return trace_until_each_fault_differs(
                faults, trainings, traces, partial(runtimes.record_without_storing, "new"), log
            )
        call = partial(
            direct_calls.compare_calls_of_mutants,
            runtimes,
            folders=adapter.code.list_code_folders(),
        )
        return call_functions_of_faults(faults, trainings, traces, call)


def trace_until_each_fault_differs(
    faults: Sequence[Mutant],
    trainings: Mapping[str, Training],
    traces: Mapping[str, Trace],
    record: Record,
    log: Callable[[str], None] = lambda _: None,
) -> list[MutantResult]:
    """Inject each fault, and record the trainings that run its line, until one differs.

    The shortest trainings come first.

    Args:
        trainings, traces: by name, of the code without a fault, with the lines that they execute.
        record: records trainings.
        log: called after every turn with the number of detected faults.
    """
    seeded = _make_results_before_trials(faults, traces)
    most = max((len(result.trainings) for result in seeded), default=0)
    begin, end = 0, 1
    # twice as many trainings at every turn, of those faults that no earlier one has detected
    while begin < most:
        remaining = [
            (n, name)
            for n, result in enumerate(seeded)
            if not result.detected_by and not result.misfit
            for name in result.trainings[begin:end]
        ]
        jobs = [
            _add_fault_to_training(
                trainings[name],
                n,
                swap=[_convert_fault_for_swap(seeded[n].fault)],
                patience=PATIENCE,
            )
            for n, name in remaining
        ]
        progress.begin_stage("recording trainings with faults", len(jobs))
        after = record(jobs)
        for (n, name), job in zip(remaining, jobs, strict=True):
            if not seeded[n].detected_by and not seeded[n].misfit:
                seeded[n] = _add_result_of_trial(seeded[n], name, traces[name], after[job.name])
        detected = sum(bool(result.detected_by) for result in seeded)
        log(
            f"{detected} of {len(seeded)} faults detected, in up to {min(end, most)} trainings each"
        )
        begin, end = end, 2 * end + 1
    return seeded


def call_functions_of_faults(
    faults: Sequence[Mutant],
    trainings: Mapping[str, Training],
    traces: Mapping[str, Trace],
    call: Call,
) -> list[MutantResult]:
    """Return the faults, each with the result of direct calls of its function."""
    seeded = _make_results_before_trials(faults, traces)
    numbers: dict[str, int] = {}
    jobs = []
    for n, result in enumerate(seeded):
        for name in direct_calls.choose_shortest_trainings(result.trainings, traces):
            job = _add_fault_to_training(
                trainings[name], n, mutant=_convert_fault_for_swap(result.fault)
            )
            numbers[job.name] = n
            jobs.append(job)
    results = call(jobs) if jobs else {}
    showing = {numbers[name]: str(calls) for name, calls in results.items() if calls.arguments}
    return [replace(result, called=showing.get(n, "")) for n, result in enumerate(seeded)]


def _make_results_before_trials(
    faults: Sequence[Mutant], traces: Mapping[str, Trace]
) -> list[MutantResult]:
    return [
        MutantResult(fault=fault, trainings=tuple(_list_trainings_that_run(fault, traces)))
        for fault in faults
    ]


def _add_result_of_trial(
    seeded: MutantResult, name: str, before: Trace, after: Trace
) -> MutantResult:
    if after.failure:
        last = after.failure.strip().splitlines()[-1]
        if _MISFIT in last:
            return replace(seeded, misfit=last)
        return replace(seeded, detected_by=name)
    comparison = compare_traces(before, after)
    if comparison.verdict != "diverged":
        return seeded
    return replace(seeded, detected_by=name, comparison=comparison)


def _list_trainings_that_run(fault: Mutant, traces: Mapping[str, Trace]) -> list[str]:
    """Return the trainings that run the line of a fault.

    The shortest come first; one for each set of executed lines of the function comes before all
    others.
    """
    own = [
        function
        for function in source.parse_source(fault.text).functions
        if function.name == fault.function
    ]
    running = []
    for name, trace in traces.items():
        hit, _ = trace.header["lines"].get(fault.file, ((), ()))
        if fault.line in hit:
            way = frozenset(n for n in hit for block in own if block.first <= n <= block.last)
            running.append((len(trace.events), name, way))
    ordered = sorted(running, key=lambda item: item[:2])
    firsts = {way: name for _, name, way in reversed(ordered)}
    names = [name for _, name, _ in ordered]
    return sorted(names, key=lambda name: name not in firsts.values())


def _convert_fault_for_swap(fault: Mutant) -> dict[str, Any]:
    """Return a fault as ``inside.swap`` takes it."""
    return {"file": fault.file, "functions": [fault.function], "text": fault.text}


def _add_fault_to_training(training: Training, number: int, **more: Any) -> Training:
    """Return the training with a fault, which is a further key of its job."""
    return replace(training, name=f"{training.name} fault {number}", job={**training.job, **more})
