"""The power of an acquittal: faults seeded into exactly the functions whose code differs.

Every fault is put into side B, one at a time, and the trainings that run its line are recorded
again. A fault that would not have been seen is what the acquittal does not cover.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from rlregress.tracing.compare import compare
from rlregress.tracing.trace import Trace
from rlregress.upgrade import mutation
from rlregress.upgrade.coverage import Reach
from rlregress.upgrade.functions import REMOVED
from rlregress.upgrade.mutation import Fault
from rlregress.upgrade.traced import Training

#: faults that are seeded in all.
LIMIT = 120

Record = Callable[[Sequence[Training]], Mapping[str, Trace]]


@dataclass(frozen=True)
class Proof:
    """How many of the seeded faults the traces would have seen.

    Attributes:
        functions: how many functions were given faults.
        seen: faults that make a trace part, or end a training in an error.
        not_run: faults on lines that no training runs.
        unseen: faults that were run and moved nothing.
        misfits: faults that could not be seeded, and why; they do not count.
    """

    functions: int
    seen: tuple[Fault, ...]
    not_run: tuple[Fault, ...]
    unseen: tuple[Fault, ...]
    misfits: tuple[str, ...] = ()

    @property
    def faults(self) -> int:
        """How many were seeded."""
        return len(self.seen) + len(self.not_run) + len(self.unseen)

    @property
    def share(self) -> float:
        """Share of the faults that would have been seen; 0 where there were none."""
        return len(self.seen) / self.faults if self.faults else 0.0


def prove(
    reach: Sequence[Reach],
    trainings: Mapping[str, Training],
    traces: Mapping[str, Trace],
    record: Record,
    limit: int = LIMIT,
) -> Proof:
    """Seed faults into the functions that differ, and see which the traces of side B would see.

    Args:
        reach: of the functions that differ.
        trainings, traces: by name, those of side B that were held against side A.
        record: records trainings on side B.
    """
    every = [_faults(each) for each in reach]
    chosen = mutation.spread([of for of in every if of], limit)
    ways = {n: _running(fault, traces) for n, fault in enumerate(chosen)}
    seen: set[int] = set()
    misfits: dict[int, str] = {}
    # training after training, of those faults that no earlier one has seen
    for turn in range(max(map(len, ways.values()), default=0)):
        left = [
            n for n, names in ways.items() if n not in seen | set(misfits) and turn < len(names)
        ]
        jobs = [_seeded(trainings[ways[n][turn]], chosen[n], n) for n in left]
        found = record(jobs)
        for n, job in zip(left, jobs, strict=True):
            after, before = found[job.name], traces[ways[n][turn]]
            if "Misfit" in after.failure:
                misfits[n] = after.failure.strip().splitlines()[-1]
            elif after.failure or compare(before, after).verdict == "diverged":
                seen.add(n)

    def of(numbers: Sequence[int]) -> tuple[Fault, ...]:
        return tuple(chosen[n] for n in numbers)

    rest = [n for n in ways if n not in seen and n not in misfits]
    return Proof(
        len({(fault.file, fault.function) for fault in chosen}),
        of(sorted(seen)),
        of([n for n in rest if not ways[n]]),
        of([n for n in rest if ways[n]]),
        tuple(f"{chosen[n]}: {why}" for n, why in misfits.items()),
    )


def _faults(reach: Reach) -> list[Fault]:
    function = reach.function
    path, own = function.paths[1], function.b
    if function.how == REMOVED or function.at_import or path is None or own is None:
        return []
    text = path.read_text(encoding="utf-8")
    return mutation.faults(function.file, function.name, own.first, own.last, text)


def _running(fault: Fault, traces: Mapping[str, Trace]) -> list[str]:
    """Trainings that run the line of a fault, the shortest first."""
    found = []
    for name, trace in traces.items():
        hit, _ = trace.header["lines"].get(fault.file, ((), ()))
        if fault.line in hit:
            found.append((len(trace.events), name))
    return [name for _, name in sorted(found)]


def _seeded(training: Training, fault: Fault, number: int) -> Training:
    change = {"file": fault.file, "function": fault.function, "text": fault.text}
    return Training(
        training.owner, f"{training.name} fault {number}", {**training.job, "swap": change}
    )
