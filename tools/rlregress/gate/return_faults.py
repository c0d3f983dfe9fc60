"""Faults that change what is learnt, through the whole gate on returns: verdict, runs, minutes."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

from rlregress import datafiles, evidence, frameworks, suite
from rlregress.datafiles import Text, one_of
from rlregress.errors import UserError, nearest
from rlregress.faults import probed_faults
from rlregress.faults.probed_faults import Fault
from rlregress.gate import gate_run, outcome
from rlregress.gate.baseline_runs import FIRST_NEW_SEED
from rlregress.gate_options import GateOptions
from rlregress.model.fault_results import GateOnFault
from rlregress.training import worker_launch
from rlregress.verdicts.looks import SEQUENTIAL

#: cell -> what a run of it came to, as its record says.
Outcomes = dict[str, dict[str, Any]]


@dataclass(frozen=True)
class ReturnFault:
    """A fault that changes what is learnt.

    Attributes:
        name: of one of the framework's probed faults, or of a change that stands here.
        file, old, new: of a change that stands here; see ``rlregress.faults.probed_faults.Fault``.
    """

    framework: Annotated[str, one_of(frameworks.names)]
    algorithm: Text
    name: Text
    file: str = ""
    old: str = ""
    new: str = ""

    @property
    def change(self) -> Fault:
        """The change of the framework's code; UserError if no probed fault has the name."""
        if self.file:
            return Fault(self.name, self.file, self.old, self.new, turns=(), finds="")
        return probed_faults.chosen([self.framework], [self.name])[0][1]


@dataclass(frozen=True)
class _File:
    fault: tuple[ReturnFault, ...]


def load() -> tuple[ReturnFault, ...]:
    """The faults; UserError that names entry and key if one does not fit."""
    read: _File = datafiles.read(suite.baselines() / "faults" / "returns.toml", _File)
    return read.fault


def chosen(
    names: Sequence[str], algorithms: Sequence[str], only: Sequence[str]
) -> list[ReturnFault]:
    """The faults of frameworks and algorithms (none named: all), or the named ones."""
    of = [fault for fault in load() if fault.framework in names]
    known = {fault.algorithm for fault in of}
    for name in algorithms:
        if name not in known:
            raise UserError(f"there is no fault of algorithm '{name}'; {nearest(name, known)}")
    # a name that the algorithms filter out is no unknown one
    left = [
        fault for fault in probed_faults.named(of, only) if fault.algorithm in (algorithms or known)
    ]
    if not left:
        requested = ", ".join([*names, *algorithms, *only])
        raise UserError(f"no fault is left of {requested}; {nearest('', [f.name for f in of])}")
    return left


def seed(faults: Sequence[ReturnFault], workers: int, cells: str = "all") -> Iterator[GateOnFault]:
    """Train and judge a copy with each fault, on stored cells of its algorithm.

    A fault that leaves a run of every cell as it is without it is not judged, and said to be
    trouble: what a training does not enter cannot change its returns.
    """
    sound: dict[tuple[str, str], Outcomes] = {}
    for fault in faults:
        of = fault.framework, fault.algorithm
        try:
            if of not in sound:
                with TemporaryDirectory(prefix="rlregress-returns-") as folder:
                    options = _options(*of, cells, workers, folder)
                    sound[of] = _first_runs(options, worker_launch.environment())
            with (
                probed_faults.seeded(fault.framework, fault.change) as environment,
                TemporaryDirectory(prefix="rlregress-returns-") as folder,
            ):
                options = _options(*of, cells, workers, folder)
                if _first_runs(options, environment) == sound[of]:
                    raise UserError(
                        "with the fault, the run of the first seed of every cell is the same as "
                        "without it: the trainings do not enter what it changes"
                    )
                yield _judged(*of, fault.name, options, environment)
        except UserError as error:
            yield _not_judged(*of, fault.name, str(error))


def unchanged(
    framework: str, algorithm: str, gates: int, workers: int, cells: str = "all"
) -> Iterator[GateOnFault]:
    """Judge the installed framework again and again, each time with seeds of its own."""
    for number in range(gates):
        name, first = f"unchanged {number + 1}", FIRST_NEW_SEED + SEQUENTIAL.most * number
        with TemporaryDirectory(prefix="rlregress-returns-") as folder:
            options = _options(framework, algorithm, cells, workers, folder)
            options = replace(options, first_seed=first)
            yield _judged(framework, algorithm, name, options, worker_launch.environment())


def _options(framework: str, algorithm: str, cells: str, workers: int, folder: str) -> GateOptions:
    """Runs and report are in a folder."""
    return GateOptions(
        report=Path(folder) / "report",
        frameworks=framework,
        algorithms=algorithm,
        cells=cells,
        store=str(Path(folder) / "runs"),
        workers=workers,
    )


def _first_runs(options: GateOptions, environment: Mapping[str, str]) -> Outcomes:
    """What the run of the first seed of each cell comes to; its record stays in the store."""
    one = replace(options, seeds=1, one_look=True)
    entries = gate_run.returns_alone(sys.executable, one, environment)
    if isinstance(entries, str):
        raise UserError(entries)
    records = [entry["record"] for entry in entries if "record" in entry]
    return {record["cell"]: {**record, "time": None} for record in records}


def _judged(
    framework: str,
    algorithm: str,
    name: str,
    options: GateOptions,
    environment: Mapping[str, str],
) -> GateOnFault:
    entries = gate_run.returns_alone(sys.executable, options, environment)
    if isinstance(entries, str):
        return _not_judged(framework, algorithm, name, entries)
    broken = [str(entry["message"]).splitlines()[0] for entry in outcome.broken(entries)]
    records = [entry["record"] for entry in entries if "record" in entry]
    minutes = sum(record["time"].get("cpu_seconds", 0.0) for record in records) / 60
    verdicts = evidence.verdicts(entries)
    trouble = broken[0] if broken else "" if verdicts else "no cell was judged"
    return GateOnFault(
        framework=framework,
        algorithm=algorithm,
        name=name,
        verdicts=verdicts,
        runs=len(records),
        cpu_minutes=minutes,
        trouble=trouble,
    )


def _not_judged(framework: str, algorithm: str, name: str, trouble: str) -> GateOnFault:
    return GateOnFault(
        framework=framework,
        algorithm=algorithm,
        name=name,
        verdicts={},
        runs=0,
        cpu_minutes=0.0,
        trouble=trouble,
    )
