"""Stored throughput, ``baselines/throughput/<framework>.toml``, and what new processes say of it.

A file has a table for each algorithm, with every process that was measured and what it was measured
with. Files are written by ``rlregress baseline throughput --record``, never by hand.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from rlregress import datafiles, frameworks, suite
from rlregress.errors import UserError
from rlregress.frameworks.base import Adapter
from rlregress.gate.baseline_runs import FIRST_NEW_SEED
from rlregress.inside import identity, machine
from rlregress.model.throughput_verdict import ThroughputVerdict
from rlregress.training import throughput_measurement
from rlregress.training.throughput_measurement import Measurement
from rlregress.verdicts.throughput_alarms import Sample, judge

MEMORY = "peak memory"
#: quantity -> attribute of a measurement; memory alone is better where there is less of it
QUANTITIES = {
    "training": "ratio",
    "collecting": "collecting_ratio",
    MEMORY: "peak_mib",
}


@dataclass(frozen=True)
class Stored:
    """The stored processes of one algorithm of one framework.

    Attributes:
        protocol: see ``training.throughput_measurement.Protocol``; null is left out.
        versions, python, cpu: of what was measured, and on what.
        process: what each measured, by seed.
    """

    protocol: Mapping[str, Any]
    versions: Mapping[str, str]
    python: str
    cpu: str
    process: Annotated[tuple[Measurement, ...], Field(min_length=1)]


def folder() -> Path:
    """Where stored throughput lies."""
    return suite.baselines() / "throughput"


def path_of(framework: str) -> Path:
    """The file of a framework, whether it exists or not; copies of one framework share it."""
    return folder() / f"{framework.partition('@')[0]}.toml"


def load(framework: str) -> dict[str, Stored]:
    """Algorithm -> what is stored of it; nothing where there is no file."""
    path = path_of(framework)
    if not path.exists():
        return {}
    remedy = f"restore the file, or delete it and record it again: {how_to_record(framework)}"
    found = dict(datafiles.read(path, Mapping[str, Stored], remedy))
    if not found:
        raise UserError(f"{path} is empty; expected a table for each algorithm; {remedy}")
    return found


def every() -> dict[tuple[str, str], Stored]:
    """All that is stored, by framework and algorithm."""
    return {
        (path.stem, algorithm): of_algorithm
        for path in datafiles.listed(folder(), "*.toml")
        for algorithm, of_algorithm in load(path.stem).items()
    }


def check(pairs: Sequence[tuple[str, str]]) -> None:
    """UserError if a file that is needed to measure and judge these is damaged."""
    every()
    throughput_measurement.check_environment()
    for framework, algorithm in pairs:
        throughput_measurement.protocol(framework.partition("@")[0], algorithm)


def without_null(value: Any) -> Any:
    """TOML has no null."""
    if isinstance(value, Mapping):
        return {name: without_null(of) for name, of in value.items() if of is not None}
    return [without_null(of) for of in value] if isinstance(value, list | tuple) else value


def here(framework: str, algorithm: str) -> Stored:
    """What a process that is measured here and now would be stored with."""
    name = framework.partition("@")[0]
    throughput_measurement.check_environment()
    return Stored(
        protocol=without_null(asdict(throughput_measurement.protocol(name, algorithm))),
        versions=identity.versions(frameworks.get(framework)),
        python=platform.python_version(),
        cpu=machine.cpu_name(),
        process=(),
    )


def differences(known: Stored, here: Stored, below: str = "") -> str:
    """What is stored with something else than what is here, value by value; empty: nothing."""
    before, now = (
        _flat(without_null(asdict(replace(process, process=())))) for process in (known, here)
    )
    return ", ".join(
        f"{key} was {before.get(key, 'absent')} and is {now.get(key, 'absent')} here"
        for key in dict.fromkeys([*before, *now])
        if key.startswith(below) and before.get(key) != now.get(key)
    )


def _flat(table: Mapping[str, Any], below: str = "") -> dict[str, Any]:
    """The values of a table and of the tables in it, each by its path of keys."""
    found: dict[str, Any] = {}
    for name, value in table.items():
        if isinstance(value, Mapping):
            found |= _flat(value, f"{below}{name}.")
        else:
            found[below + name] = value
    return found


def stored(framework: str, algorithm: str) -> Stored | None:
    """What new processes can be compared with, or None.

    Raises:
        UserError: it was recorded with another protocol, or on another processor.
    """
    known = load(framework).get(algorithm)
    if known is None:
        return None
    now = here(framework, algorithm)
    for name in ("protocol", "cpu"):
        if getattr(known, name) != getattr(now, name):
            raise UserError(
                f"{path_of(framework)} has the throughput of {algorithm} with another {name}: "
                f"{differences(known, now, name)}; record it again: {how_to_record(framework)} "
                "--replace"
            )
    return known


def how_to_record(framework: str) -> str:
    """The command that stores the throughput of a framework."""
    return f"rlregress baseline throughput --framework {framework.partition('@')[0]} --record 10"


def pairs(adapters: Sequence[Adapter], algorithms: Sequence[str]) -> list[tuple[str, str]]:
    """(full name, algorithm) of what is measured: these algorithms, or all, of each framework."""
    return [
        (adapter.full_name, algorithm)
        for adapter in adapters
        for algorithm in adapter.algorithms
        if not algorithms or algorithm in algorithms
    ]


class Measured:
    """The new processes of a session, measured when somebody asks, and their verdicts.

    Args:
        pairs: (full name of a framework, algorithm): the family that is judged together.
        alpha: probability of one or more false ``regressed`` in the session.
        environment: variables of the processes that are measured; None: this one's.
    """

    def __init__(
        self,
        pairs: Sequence[tuple[str, str]],
        alpha: float,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._pairs, self._alpha, self._environment = list(pairs), alpha, environment
        self._processes: dict[tuple[str, str], list[Measurement]] = {}
        self._verdicts: dict[tuple[str, str], dict[str, ThroughputVerdict]] = {}
        self._unsupported: dict[tuple[str, str], str] = {}

    def measure(self, framework: str, algorithm: str) -> None:
        """Measure one more process."""
        done = self._processes.setdefault((framework, algorithm), [])
        seed = FIRST_NEW_SEED + len(done)
        done.append(throughput_measurement.measure(framework, algorithm, seed, self._environment))

    def processes(self, framework: str, algorithm: str) -> list[Measurement]:
        """The new processes; those that are missing are measured first."""
        while (
            len(self._processes.get((framework, algorithm), ()))
            < throughput_measurement.processes()
        ):
            self.measure(framework, algorithm)
        return self._processes[framework, algorithm]

    def verdicts(self, framework: str, algorithm: str) -> dict[str, ThroughputVerdict]:
        """Quantity -> verdict, judged with all that the session measures as one family.

        Returns nothing where nothing is stored.

        Raises:
            UserError: this training cannot be compared; the others are judged all the same.
        """
        if not self._verdicts:
            samples = {
                (pair, quantity): sample
                for pair in self._pairs
                for quantity, sample in self._to_judge(pair).items()
            }
            names = {key: f"{' '.join(key[0])} {key[1]}" for key in samples}
            judged = judge({names[key]: sample for key, sample in samples.items()}, self._alpha)
            for pair, quantity in samples:
                of_pair = self._verdicts.setdefault(pair, {})
                of_pair[quantity] = judged[names[pair, quantity]]
        if (framework, algorithm) in self._unsupported:
            raise UserError(self._unsupported[framework, algorithm])
        return self._verdicts.get((framework, algorithm), {})

    def _to_judge(self, pair: tuple[str, str]) -> dict[str, Sample]:
        """Quantity -> stored and new processes; nothing where there is nothing to compare with."""
        try:
            known = stored(*pair)
            return _samples(known.process, self.processes(*pair)) if known is not None else {}
        except UserError as error:
            self._unsupported[pair] = str(error)
            return {}


def _samples(before: Sequence[Measurement], after: Sequence[Measurement]) -> dict[str, Sample]:
    """Every quantity that all of the processes could measure."""
    samples = {}
    for quantity, attribute in QUANTITIES.items():
        old, new = ([getattr(process, attribute) for process in side] for side in (before, after))
        if None not in old + new:
            samples[quantity] = Sample(old, new, less_is_better=quantity == MEMORY)
    return samples
