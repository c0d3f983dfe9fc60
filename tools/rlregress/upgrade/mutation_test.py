"""The power of an acquittal: faults injected into exactly the functions whose code differs.

Every fault is put into the new version, one at a time, and the trainings that run its line are
recorded again. Where no trace shows it, its function is called directly. A fault that would not
have been detected is what the acquittal does not cover.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from rlregress import progress, source
from rlregress.faults import mutation
from rlregress.frameworks.base import Adapter
from rlregress.model.code import REMOVED
from rlregress.model.fault_results import Mutant, Seeded
from rlregress.model.recorded_traces import Trace
from rlregress.model.upgrade_result import Calls, MutationTest, PieceExecution
from rlregress.trace.child_processes import note_cut
from rlregress.trace.recording_processes import current
from rlregress.trace.trace_comparison import compare
from rlregress.upgrade import cached_folders, compared_trainings, direct_calls
from rlregress.upgrade.compared_trainings import Training
from rlregress.upgrade.sides import Sides

#: trainings that are recorded again for one fault that is seeded for a proof: 1 + 2 + 4 + 8 + 16.
MOST = 31
#: seconds after which a training with a fault in it is ended: it has seen the fault.
PATIENCE = 120
#: how a fault cannot be put into a function that is in memory.
_MISFIT = "Misfit"

Record = Callable[[Sequence[Training]], Mapping[str, Trace]]
#: calls the functions of the trainings' mutants directly; see ``direct_calls.call_mutated``.
Call = Callable[[Sequence[Training]], Mapping[str, Calls]]


def mutation_test(
    executions: Sequence[PieceExecution],
    trainings: Mapping[str, Training],
    traces: Mapping[str, Trace],
    record: Record,
    limit: int,
    call: Call = lambda _: {},
) -> MutationTest:
    """Seed faults into the functions that differ, and see which the upgrade would detect.

    Args:
        executions: of the functions that differ.
        trainings, traces: by name, those of the new version that were held against the old version.
        record: records trainings on the new version.
        limit: faults in all.
        call: calls functions directly.
    """
    faults_by_piece = [_faults(execution) for execution in executions]
    selected = mutation.spread([faults for faults in faults_by_piece if faults], limit)
    seeded = called(seed(selected, trainings, traces, record), trainings, traces, call)
    unselected = [
        result for result in seeded if not (result.detected_by or result.called or result.misfit)
    ]
    return MutationTest(
        functions=len({(fault.file, fault.function) for fault in selected}),
        diverged=tuple(result.fault for result in seeded if result.detected_by),
        called=tuple(result.fault for result in seeded if result.called),
        not_run=tuple(result.fault for result in unselected if not result.trainings),
        unseen=tuple(result.fault for result in unselected if result.trainings),
        misfits=tuple(f"{result.fault}: {result.misfit}" for result in seeded if result.misfit),
    )


def seed(
    faults: Sequence[Mutant],
    trainings: Mapping[str, Training],
    traces: Mapping[str, Trace],
    record: Record,
    say: Callable[[str], None] = lambda _: None,
    most: int = MOST,
) -> list[Seeded]:
    """Put each fault into what runs, and record the trainings that run its line, until one parts.

    The shortest first.

    Args:
        trainings, traces: by name, of the code without a fault, with the lines that they reach.
        record: records trainings.
        say: is told after every turn how many have been seen.
        most: trainings for each fault.
    """
    seeded = {
        n: Seeded(fault=fault, trainings=tuple(_running(fault, traces)))
        for n, fault in enumerate(faults)
    }
    most = min(most, max((len(result.trainings) for result in seeded.values()), default=0))
    begin, end = 0, 1
    # twice as many trainings at every turn, of those faults that no earlier one has seen
    while begin < most:
        remaining = [
            (n, name)
            for n, result in seeded.items()
            if not result.detected_by and not result.misfit
            for name in result.trainings[begin:end]
        ]
        jobs = [_job(trainings[name], seeded[n].fault, n) for n, name in remaining]
        progress.begin("recording trainings with faults", len(jobs))
        after = record(jobs)
        for (n, name), job in zip(remaining, jobs, strict=True):
            if job.name not in after:
                # neither detected nor missed
                cut = note_cut("recordings of trainings with faults")
                seeded[n] = replace(seeded[n], misfit=cut)
            elif not seeded[n].detected_by and not seeded[n].misfit:
                seeded[n] = _tried(seeded[n], name, traces[name], after[job.name])
        detected = sum(bool(result.detected_by) for result in seeded.values())
        say(f"{detected} of {len(seeded)} faults seen, each in at most {min(end, most)} trainings")
        begin, end = end, 2 * end + 1
    return list(seeded.values())


def called(
    seeded: Sequence[Seeded],
    trainings: Mapping[str, Training],
    traces: Mapping[str, Trace],
    call: Call,
) -> list[Seeded]:
    """Return the faults with the results of direct calls, for those that no trace shows."""
    jobs: dict[str, int] = {}
    capturing = []
    for n, result in enumerate(seeded):
        if not (result.detected_by or result.misfit):
            for name in direct_calls.choose_trainings(result.trainings, traces):
                training = _job(trainings[name], result.fault, n, "mutant")
                jobs[training.name] = n
                capturing.append(training)
    results = call(capturing) if capturing else {}
    showing = {jobs[name]: str(calls) for name, calls in results.items() if calls.arguments}
    return [replace(outcome, called=showing.get(n, "")) for n, outcome in enumerate(seeded)]


def seed_installed(
    adapter: Adapter,
    faults: Sequence[Mutant],
    workers: int,
    say: cached_folders.Say,
    by_calls: bool = False,
) -> list[Seeded]:
    """Trace every training of the installed code, and again with each fault that it runs.

    None is left out: what all of them see is the question.

    Args:
        by_calls: call the functions of the faults directly instead of tracing them.
    """
    installed = current("installed")
    with (
        TemporaryDirectory(prefix="rlregress-faults-") as folder,
        Sides((installed, installed), (Path(folder), Path(folder)), workers, say) as sides,
    ):
        trainings = {
            training.name: training for training in compared_trainings.list_trainings(adapter)
        }
        recorded = sides.record_once("new", list(trainings.values()), lines=True)
        traces = {name: trace for name, trace in recorded.items() if not trace.failure}
        record = partial(sides.record_once, "new")
        most = 0 if by_calls else len(trainings)
        seeded = seed(faults, trainings, traces, record, say, most)
        if not by_calls:
            return seeded
        call = partial(direct_calls.call_mutated, sides, folders=adapter.code.folders())
        return called(seeded, trainings, traces, call)


def _tried(seeded: Seeded, name: str, before: Trace, after: Trace) -> Seeded:
    fault, trainings = seeded.fault, seeded.trainings
    if after.failure:
        last = after.failure.strip().splitlines()[-1]
        if _MISFIT in last:
            return Seeded(fault=fault, trainings=trainings, misfit=last)
        return Seeded(fault=fault, trainings=trainings, detected_by=name)
    comparison = compare(before, after)
    if comparison.verdict != "diverged":
        return seeded
    return Seeded(fault=fault, trainings=trainings, detected_by=name, comparison=comparison)


def _faults(execution: PieceExecution) -> list[Mutant]:
    function = execution.function
    path, own = function.paths[1], function.new
    if function.how == REMOVED or function.at_import or path is None or own is None:
        return []
    text = source.read_text(path)
    return mutation.faults(function.file, function.name, own.first, own.last, text)


def _running(fault: Mutant, traces: Mapping[str, Trace]) -> list[str]:
    """Trainings that run the line of a fault.

    The shortest first, one of each way through the function before the others.
    """
    own = [
        function
        for function in source.parse(fault.text).functions
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


def _job(training: Training, fault: Mutant, number: int, put: str = "swap") -> Training:
    """The training with a fault: put into what it runs, or the ``mutant`` of direct calls."""
    change = {"file": fault.file, "functions": [fault.function], "text": fault.text}
    name = f"{training.name} fault {number}"
    inputs = {"mutant": change} if put == "mutant" else {"swap": [change], "patience": PATIENCE}
    return Training(training.owner, name, {**training.job, **inputs})
