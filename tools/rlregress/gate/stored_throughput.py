"""Stored throughput, ``baselines/throughput/<framework>.json``, and new processes against it.

pytest-benchmark measures (``tests_performance/test_throughput.py``) and writes these files. What a
process measured, and with what, stands in the ``extra_info`` of each benchmark.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import ConfigDict, Field

from rlregress import datafiles, frameworks, suite
from rlregress.datafiles import Component, Line
from rlregress.errors import UserError
from rlregress.frameworks.base import Adapter
from rlregress.gate.baseline_runs import FIRST_NEW_SEED
from rlregress.inside import identity, machine, process_tree
from rlregress.inside.run_record import check_writable
from rlregress.model.throughput_verdict import ThroughputVerdict
from rlregress.training import throughput_measurement, worker_launch
from rlregress.training.throughput_measurement import Measurement
from rlregress.verdicts.throughput_alarms import Sample, judge_throughput

#: measured by one process at a time
TESTS = "tests_performance/test_throughput.py"
MEMORY = "peak memory"
#: quantity -> attribute of a measurement; memory alone is better where there is less of it
QUANTITIES = {"training": "ratio", MEMORY: "peak_mib"}
#: new processes of each training, as pytest-benchmark measures by default
PROCESSES = 5
#: full name of a framework, and an algorithm
_Pair = tuple[str, str]


@dataclass(frozen=True)
class Stored:
    """The stored processes of one algorithm of one framework.

    Attributes:
        protocol: see ``training.throughput_measurement.Protocol``.
        versions, python, cpu: of what was measured, and on what.
        process: what each measured, by seed.
    """

    algorithm: Component
    protocol: Mapping[Line, Any]
    versions: Mapping[Line, Line]
    python: Line
    cpu: Line
    process: Annotated[tuple[Measurement, ...], Field(min_length=1)]


@dataclass(frozen=True)
class _Benchmark:
    __pydantic_config__ = ConfigDict(strict=True, extra="ignore")

    extra_info: Stored


@dataclass(frozen=True)
class _File:
    """What is read of a file of pytest-benchmark."""

    __pydantic_config__ = ConfigDict(strict=True, extra="ignore")

    benchmarks: Annotated[tuple[_Benchmark, ...], Field(min_length=1)]


def folder() -> Path:
    """Return where stored throughput lies."""
    return suite.baselines() / "throughput"


def path_of(framework: str) -> Path:
    """Return the file of a framework, whether it exists or not; its copies share it."""
    return folder() / f"{framework.partition('@')[0]}.json"


def load(framework: str) -> dict[str, Stored]:
    """Return algorithm -> what is stored of it; nothing where there is no file."""
    path = path_of(framework)
    if not path.exists():
        return {}
    remedy = f"restore the file, or record it again: {how_to_record(framework)}"
    found: _File = datafiles.read(path, _File, remedy)
    return {of.extra_info.algorithm: of.extra_info for of in found.benchmarks}


def every() -> dict[tuple[str, str], Stored]:
    """Return all that is stored, by framework and algorithm."""
    return {
        (path.stem, algorithm): stored_
        for path in datafiles.listed(folder(), "*.json")
        for algorithm, stored_ in load(path.stem).items()
    }


def check(adapters: Sequence[Adapter], algorithms: Sequence[str]) -> None:
    """UserError if a file that is needed to measure and judge these is damaged."""
    every()
    for adapter in adapters:
        for algorithm in set(adapter.algorithms) & set(algorithms or adapter.algorithms):
            throughput_measurement.load_protocol(adapter.name, algorithm)


def conditions(framework: str, algorithm: str) -> dict[str, Any]:
    """Return what a process that is measured here and now is stored with."""
    name = framework.partition("@")[0]
    return {
        "algorithm": algorithm,
        "protocol": asdict(throughput_measurement.load_protocol(name, algorithm)),
        "versions": identity.versions(frameworks.get(framework)),
        "python": platform.python_version(),
        "cpu": machine.cpu_name(),
    }


def stored(framework: str, algorithm: str) -> Stored | None:
    """Return what new processes can be compared with, or None.

    Raises:
        UserError: it was recorded with another protocol, or on another processor.
    """
    known = load(framework).get(algorithm)
    if known is None:
        return None
    here = conditions(framework, algorithm)
    before, now = ({"cpu": of["cpu"], **_flat(of["protocol"])} for of in (asdict(known), here))
    if differing := [
        f"{name} was {before.get(name, 'absent')} and is {now.get(name, 'absent')} here"
        for name in dict.fromkeys([*before, *now])
        if before.get(name) != now.get(name)
    ]:
        raise UserError(
            f"{path_of(framework)} has the throughput of {algorithm} under other conditions: "
            f"{', '.join(differing)}; record it again: {how_to_record(framework)}"
        )
    return known


def _flat(protocol: Mapping[str, Any]) -> dict[str, Any]:
    return {**protocol, "hyperparameters": "", **protocol["hyperparameters"]}


def how_to_record(framework: str) -> str:
    """Return the command that stores the throughput of a framework."""
    return f"rlregress baseline record --framework {framework.partition('@')[0]} --throughput 10"


def record(framework: str, processes: int) -> None:
    """Measure a framework with pytest-benchmark, and replace what is stored of it.

    Raises:
        UserError: fewer than two processes, or a training could not be measured.
    """
    if processes < 2:
        raise UserError(
            f"--throughput is {processes}, expected 2 or more processes of each algorithm"
        )
    suite.checkout("recording throughput")
    check_writable(folder(), "stored throughput")
    with tempfile.TemporaryDirectory(prefix=".new-", dir=folder()) as place:
        made = Path(place) / "measured.json"
        command = [sys.executable, *suite.pytest_arguments(f"{TESTS}::test_floor")]
        command += ["-q", "-p", "no:cacheprovider", "--framework", framework, "--first-seed", "0"]
        command += [f"--benchmark-min-rounds={processes}", f"--benchmark-json={made}"]
        ended = subprocess.run(
            process_tree.supervised(command),
            cwd=suite.workplace(),
            env=worker_launch.worker_environment(),
        )
        if ended.returncode:
            raise UserError(f"the throughput of {framework} could not be measured; see above")
        os.replace(made, path_of(framework))


def new_processes(
    framework: str, algorithm: str, environment: Mapping[str, str]
) -> list[Measurement]:
    """Measure as many processes as a session does, in these environment variables."""
    return [
        throughput_measurement.measure_throughput(
            framework, algorithm, FIRST_NEW_SEED + number, environment
        )
        for number in range(PROCESSES)
    ]


def verdicts(
    measured: Mapping[_Pair, Sequence[Measurement]], alpha: float
) -> dict[_Pair, dict[str, ThroughputVerdict]]:
    """Judge all new processes of a session as one family.

    Args:
        measured: (full name of a framework, algorithm) -> its new processes.
        alpha: probability of one or more false ``regressed`` in the session.

    Returns:
        Quantity -> verdict of each pair; without those that ``stored`` does not allow to compare.
    """
    samples: dict[tuple[_Pair, str], Sample] = {}
    for pair, processes in measured.items():
        with suppress(UserError):
            if (known := stored(*pair)) and processes:
                for quantity, attribute in QUANTITIES.items():
                    old, new = (
                        [getattr(process, attribute) for process in side]
                        for side in (known.process, processes)
                    )
                    samples[pair, quantity] = Sample(old, new, quantity == MEMORY)
    found: dict[_Pair, dict[str, ThroughputVerdict]] = {}
    for (pair, quantity), verdict in judge_throughput(samples, alpha).items():
        found.setdefault(pair, {})[quantity] = verdict
    return found
