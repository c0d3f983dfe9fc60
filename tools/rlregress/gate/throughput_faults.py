"""Faults that slow a training down, or keep memory, measured and judged as throughput is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field

from rlregress import datafiles, frameworks, suite
from rlregress.datafiles import Text, one_of
from rlregress.errors import UserError
from rlregress.faults import probed_faults
from rlregress.faults.probed_faults import Fault
from rlregress.gate import stored_throughput
from rlregress.model.fault_results import ThroughputResult
from rlregress.model.throughput_verdict import ThroughputVerdict


@dataclass(frozen=True, kw_only=True)
class ThroughputFault:
    """A fault that changes how fast a training is, or how much memory it needs.

    Attributes:
        file, old, new, occurrence: see ``rlregress.faults.probed_faults.Fault``.
        turns: the quantity that must then be ``regressed``.
    """

    framework: Annotated[str, one_of(frameworks.names)]
    algorithm: Text
    name: Text
    file: Text
    old: Text
    new: Text
    turns: Annotated[str, one_of(stored_throughput.QUANTITIES)]
    occurrence: Annotated[int, Field(ge=0)] = 0

    @property
    def change(self) -> Fault:
        """The change of the framework's code."""
        occurrence = self.occurrence
        return Fault(self.name, self.file, self.old, self.new, (), "", occurrence=occurrence)


@dataclass(frozen=True)
class _File:
    fault: tuple[ThroughputFault, ...]


def load() -> tuple[ThroughputFault, ...]:
    """The faults; UserError that names entry and key if one does not fit."""
    read: Any = datafiles.read(suite.baselines() / "faults" / "throughput.toml", _File)
    return tuple(read.fault)


def chosen(names: Sequence[str], only: Sequence[str]) -> list[ThroughputFault]:
    """The faults of the frameworks, all or the named ones; UserError for an unknown name."""
    return probed_faults.named([fault for fault in load() if fault.framework in names], only)


def seed(faults: Sequence[ThroughputFault], alpha: float = 0.05) -> Iterator[ThroughputResult]:
    """Measure and judge a copy with each fault against the stored processes of its training."""
    for fault in faults:
        of = fault.framework, fault.algorithm
        try:
            if stored_throughput.stored(*of) is None:
                raise UserError(
                    f"no throughput of {' '.join(of)} is stored; measure it with: "
                    f"{stored_throughput.how_to_record(fault.framework)}"
                )
            with probed_faults.seeded(fault.framework, fault.change) as environment:
                measured = stored_throughput.Measured([of], alpha, environment)
                yield _result(fault, measured.verdicts(*of))
        except UserError as error:
            yield _result(fault, {}, str(error))


def _result(
    fault: ThroughputFault, verdicts: Mapping[str, ThroughputVerdict], trouble: str = ""
) -> ThroughputResult:
    return ThroughputResult(
        fault=probed_faults.described(fault), turns=fault.turns, verdicts=verdicts, trouble=trouble
    )
