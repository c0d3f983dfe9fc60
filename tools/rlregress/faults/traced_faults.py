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
from rlregress.faults import places, probed_faults
from rlregress.model.fault_results import TracedResult
from rlregress.model.recorded_traces import Comparison, Trace
from rlregress.tracing import recording_processes
from rlregress.tracing.child_processes import last_words
from rlregress.tracing.recording_processes import Side
from rlregress.tracing.trace_comparison import compare

#: share of the faults that have to be found in the right file and function.
SHARE = 0.9


@dataclass(frozen=True)
class TracedFault:
    """One change of one line, and where traces are to part first.

    Attributes:
        kind: of the first divergence; see ``model.recorded_traces.Divergence``.
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
    def fault(self) -> probed_faults.Fault:
        """The same for the seeder."""
        return probed_faults.Fault(
            self.name, self.file, self.old, self.new, (), "", occurrence=self.occurrence
        )


@dataclass(frozen=True)
class _File:
    fault: tuple[TracedFault, ...]


def load() -> tuple[TracedFault, ...]:
    """The faults; UserError that names entry and key if one does not fit."""
    content: _File = datafiles.read(suite.baselines() / "faults" / "traced.toml", _File)
    return content.fault


def chosen(names: Sequence[str], only: Sequence[str]) -> list[TracedFault]:
    """The faults of the frameworks, all or the named ones; UserError for an unknown name."""
    return probed_faults.named([fault for fault in load() if fault.framework in names], only)


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


def _original(framework: str, algorithm: str, folder: Path) -> Trace:
    output = folder / f"{framework}-{algorithm}.trace"
    recorded = recording_processes.record(
        _job(framework, algorithm), output, recording_processes.current("installed")
    )
    if recorded.failure:
        raise UserError(
            f"the built-in training of {algorithm} ended in an error without any fault: "
            f"{last_words(recorded.failure)}"
        )
    return recorded


def _seed(fault: TracedFault, original: Trace, folder: Path) -> TracedResult:
    with probed_faults.seeded(fault.framework, fault.fault) as environment:
        paths = tuple(environment["PYTHONPATH"].split(os.pathsep))
        side = Side(fault.name, paths=paths, variables=environment)
        output = folder / f"{fault.framework}-{fault.name}.trace"
        changed = recording_processes.record(_job(fault.framework, fault.algorithm), output, side)
    output.unlink()
    adapter = frameworks.get(fault.framework)
    inside = places.function(adapter, fault.file, fault.old, fault.occurrence)
    return _result(fault, compare(original, changed), changed.failure, inside)


def _result(fault: TracedFault, found: Comparison, failure: str, inside: str) -> TracedResult:
    """What the comparison of the traces said of a fault in the function ``inside``."""
    first = found.first
    # the first divergence on either side, the changed one first
    events = [event for event in (first.b, first.a) if event] if first is not None else []
    places = {f"{event.file} {event.function}" for event in events}
    locations = [(event.file, event.function) for event in events]
    locations += [(caller.file, caller.function) for event in events for caller in event.callers]
    return TracedResult(
        fault=probed_faults.described(fault),
        kind=fault.kind,
        at=fault.at,
        verdict=found.verdict,
        found_kind=first.kind if first is not None and events else "",
        place=f"{events[0].place} {events[0].function}" if events else "",
        right=found.verdict == "diverged" and bool(places & set(fault.at)),
        named=(fault.file, inside) in locations,
        failure=last_words(failure) if failure else "",
    )


def enough(results: Sequence[TracedResult]) -> bool:
    """Whether nine in ten of the faults are found, and where they are."""
    least = SHARE * len(results)
    return (
        sum(result.found for result in results) >= least <= sum(result.right for result in results)
    )
