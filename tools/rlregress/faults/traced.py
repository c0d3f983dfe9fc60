"""Seeded faults found by traces: does a trace part where the fault is? The instrument's power.

``baselines/faults/traced.toml`` lists single-line changes of the frameworks' code. Each is made on
a copy; the built-in training of its algorithm is traced on the installed code and on the copy.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

from pydantic import Field

from rlregress import datafiles, frameworks, suite
from rlregress.datafiles import Text
from rlregress.errors import UserError
from rlregress.faults import places, probed
from rlregress.tracing import run, trace
from rlregress.tracing.compare import Comparison, compare
from rlregress.tracing.processes import last_words
from rlregress.tracing.run import Side
from rlregress.tracing.trace import Event

#: share of the faults that have to be found in the right file and function.
SHARE = 0.9


@dataclass(frozen=True)
class TracedFault:
    """One change of one line, and where traces are to part first.

    Attributes:
        kind: of the first divergence; see ``tracing.compare.Divergence``.
        at: "file function", the places that count as right: those of the first event that the
            fault can move.
    """

    framework: Text
    algorithm: Text
    name: Text
    file: Text
    old: Text
    new: str
    kind: Text
    at: tuple[Text, ...]
    occurrence: Annotated[int, Field(ge=0)] = 0

    @property
    def fault(self) -> probed.Fault:
        """The same for the seeder."""
        return probed.Fault(
            self.name, self.file, self.old, self.new, (), "", occurrence=self.occurrence
        )


@dataclass(frozen=True)
class TracedResult:
    """What the comparison of the traces said.

    Attributes:
        failure: how the changed training ended in an error; empty if it did not.
        inside: the function that the fault is in.
    """

    fault: TracedFault
    comparison: Comparison
    failure: str
    inside: str

    @property
    def found(self) -> bool:
        """Whether the traces part."""
        return self.comparison.verdict == "diverged"

    @property
    def events(self) -> list[Event]:
        """The first divergence on either side, the changed one first."""
        first = self.comparison.first
        return [event for event in (first.b, first.a) if event] if first is not None else []

    @property
    def right(self) -> bool:
        """Whether they part in the right file and function, on the side that has the event."""
        places = {f"{event.file} {event.function}" for event in self.events}
        return self.found and bool(places & set(self.fault.at))

    @property
    def named(self) -> bool:
        """Whether the report names the function that was changed, as the place or a caller."""
        shown = [(event.file, event.function) for event in self.events]
        shown += [(c.file, c.function) for event in self.events for c in event.callers]
        return (self.fault.file, self.inside) in shown


@dataclass(frozen=True)
class _File:
    fault: tuple[TracedFault, ...]


def load() -> tuple[TracedFault, ...]:
    """The faults; UserError that names entry and key if one does not fit."""
    content: _File = datafiles.read(suite.baselines() / "faults" / "traced.toml", _File)
    return content.fault


def chosen(names: Sequence[str], only: Sequence[str]) -> list[TracedFault]:
    """The faults of the frameworks, all or the named ones; UserError for an unknown name."""
    return probed.named([fault for fault in load() if fault.framework in names], only)


def seed(faults: Sequence[TracedFault], workers: int) -> Iterator[TracedResult]:
    """Trace the installed code once per algorithm, then every changed copy; in the given order."""
    with (
        TemporaryDirectory(prefix="rlregress-traced-") as name,
        ThreadPoolExecutor(workers) as pool,
    ):
        folder = Path(name)
        trainings = sorted({(fault.framework, fault.algorithm) for fault in faults})
        traces = pool.map(lambda training: _original(training[0], training[1], folder), trainings)
        originals = dict(zip(trainings, traces, strict=True))
        yield from pool.map(
            lambda fault: _seed(fault, originals[fault.framework, fault.algorithm], folder), faults
        )


def _job(framework: str, algorithm: str) -> dict[str, Any]:
    return {"framework": framework, "algorithm": algorithm, "seed": 0}


def _original(framework: str, algorithm: str, folder: Path) -> trace.Trace:
    output = folder / f"{framework}-{algorithm}.trace"
    recorded = run.record(_job(framework, algorithm), output, run.current("installed"))
    if recorded.failure:
        raise UserError(
            f"the built-in training of {algorithm} ended in an error without any fault: "
            f"{last_words(recorded.failure)}"
        )
    return recorded


def _seed(fault: TracedFault, original: trace.Trace, folder: Path) -> TracedResult:
    with probed.seeded(fault.framework, fault.fault) as environment:
        paths = tuple(environment["PYTHONPATH"].split(os.pathsep))
        side = Side(fault.name, paths=paths, variables=environment)
        output = folder / f"{fault.framework}-{fault.name}.trace"
        changed = run.record(_job(fault.framework, fault.algorithm), output, side)
    output.unlink()
    adapter = frameworks.get(fault.framework)
    inside = places.function(adapter, fault.file, fault.old, fault.occurrence)
    return TracedResult(fault, compare(original, changed), changed.failure, inside)


def enough(results: Sequence[TracedResult]) -> bool:
    """Whether nine in ten of the faults are found, and where they are."""
    least = SHARE * len(results)
    return sum(each.found for each in results) >= least <= sum(each.right for each in results)
