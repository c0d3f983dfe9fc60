"""Compares the throughput of new processes with ``baselines/throughput/<framework>.json``.

pytest-benchmark measures (``tests_performance/test_throughput.py``) and writes these files. The
``extra_info`` of each benchmark holds measurements and conditions of each process.
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
from rlregress.check.baseline_runs import FIRST_NEW_SEED
from rlregress.datafiles import Component, Line
from rlregress.errors import UserError
from rlregress.frameworks.base import Adapter
from rlregress.inside import identity, machine, process_tree
from rlregress.inside.run_record import check_folder_is_writable
from rlregress.model.throughput_verdict import ThroughputVerdict
from rlregress.training import throughput_measurement, worker_launch
from rlregress.training.throughput_measurement import Measurement
from rlregress.verdicts.throughput_alarms import ThroughputSample, judge_throughput_samples

#: measured by one process at a time
TESTS = "tests_performance/test_throughput.py"
MEMORY = "peak memory"
#: quantity -> attribute of a measurement; for memory less is better, otherwise more
QUANTITIES = {"training": "ratio", MEMORY: "peak_mib"}
#: new processes of each training, as pytest-benchmark measures by default
PROCESSES = 5
#: full name of a framework, and an algorithm
_Pair = tuple[str, str]


@dataclass(frozen=True)
class StoredThroughput:
    """The stored throughput of one algorithm of one framework, measured in several processes.

    Attributes:
        protocol: see ``training.throughput_measurement.ThroughputProtocol``.
        versions, python, cpu: conditions of the measurement.
        process: measurements of each process, by seed.
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

    extra_info: StoredThroughput


@dataclass(frozen=True)
class _File:
    """The parts of a file of pytest-benchmark that are read."""

    __pydantic_config__ = ConfigDict(strict=True, extra="ignore")

    benchmarks: Annotated[tuple[_Benchmark, ...], Field(min_length=1)]


def locate_throughput_folder() -> Path:
    """Return the folder of stored throughput."""
    return suite.locate_baselines() / "throughput"


def locate_stored_throughput(framework: str) -> Path:
    """Return the file of a framework, whether it exists or not; its copies share it."""
    return locate_throughput_folder() / f"{framework.partition('@')[0]}.json"


def load_stored_throughput(framework: str) -> dict[str, StoredThroughput]:
    """Return algorithm -> stored processes; empty if there is no file."""
    path = locate_stored_throughput(framework)
    if not path.exists():
        return {}
    remedy = f"restore the file, or record it again: {make_record_command(framework)}"
    content: _File = datafiles.read_data_file(path, _File, remedy)
    return {
        benchmark.extra_info.algorithm: benchmark.extra_info for benchmark in content.benchmarks
    }


def load_all_throughput() -> dict[tuple[str, str], StoredThroughput]:
    """Return all stored throughput by framework and algorithm."""
    return {
        (path.stem, algorithm): stored
        for path in datafiles.list_files_by_name(locate_throughput_folder(), "*.json")
        for algorithm, stored in load_stored_throughput(path.stem).items()
    }


def check_throughput_files(adapters: Sequence[Adapter], algorithms: Sequence[str]) -> None:
    """Raise UserError if a file on throughput of these frameworks or algorithms is damaged."""
    load_all_throughput()
    for adapter in adapters:
        for algorithm in set(adapter.framework.algorithms) & set(
            algorithms or adapter.framework.algorithms
        ):
            throughput_measurement.load_throughput_protocol(adapter.name, algorithm)


def collect_current_conditions(framework: str, algorithm: str) -> dict[str, Any]:
    """Return the conditions of a measurement made now: protocol, versions, Python, processor."""
    name = framework.partition("@")[0]
    return {
        "algorithm": algorithm,
        "protocol": asdict(throughput_measurement.load_throughput_protocol(name, algorithm)),
        "versions": identity.map_package_versions(frameworks.get_adapter(framework)),
        "python": platform.python_version(),
        "cpu": machine.read_cpu_name(),
    }


def find_comparable_throughput(framework: str, algorithm: str) -> StoredThroughput | None:
    """Return the stored processes that new ones can be compared with, or None.

    Raises:
        UserError: it was recorded with another protocol, or on another processor.
    """
    stored_processes = load_stored_throughput(framework).get(algorithm)
    if stored_processes is None:
        return None
    current = collect_current_conditions(framework, algorithm)
    old_conditions, new_conditions = (
        {"cpu": run_conditions["cpu"], **_flatten_protocol(run_conditions["protocol"])}
        for run_conditions in (asdict(stored_processes), current)
    )
    if differing := [
        f"{name} was {old_conditions.get(name, 'absent')} and is "
        f"{new_conditions.get(name, 'absent')} here"
        for name in dict.fromkeys([*old_conditions, *new_conditions])
        if old_conditions.get(name) != new_conditions.get(name)
    ]:
        raise UserError(
            f"{locate_stored_throughput(framework)} has the throughput of {algorithm} under other "
            f"conditions: {', '.join(differing)}; record it again: {make_record_command(framework)}"
        )
    return stored_processes


def _flatten_protocol(protocol: Mapping[str, Any]) -> dict[str, Any]:
    return {**protocol, "hyperparameters": "", **protocol["hyperparameters"]}


def make_record_command(framework: str) -> str:
    """Return the command that stores the throughput of a framework."""
    return f"rlregress baseline record --framework {framework.partition('@')[0]} --throughput 10"


def record_throughput(framework: str, processes_per_algorithm: int) -> None:
    """Measure each algorithm in several processes, one after another; replace the stored file.

    Raises:
        UserError: fewer than two processes, or a training could not be measured.
    """
    if processes_per_algorithm < 2:
        raise UserError(
            f"--throughput is {processes_per_algorithm}, expected 2 or more processes of each "
            "algorithm"
        )
    suite.require_checkout("recording throughput")
    check_folder_is_writable(locate_throughput_folder(), "stored throughput")
    with tempfile.TemporaryDirectory(prefix=".new-", dir=locate_throughput_folder()) as folder:
        new_file = Path(folder) / "measured.json"
        command = [sys.executable, *suite.make_pytest_arguments(f"{TESTS}::test_floor")]
        command += ["-q", "-p", "no:cacheprovider", "--framework", framework, "--first-seed", "0"]
        command += [
            f"--benchmark-min-rounds={processes_per_algorithm}",
            f"--benchmark-json={new_file}",
        ]
        completed = subprocess.run(
            process_tree.make_supervised_command(command),
            cwd=suite.locate_checkout_or_current_folder(),
            env=worker_launch.make_worker_environment(),
        )
        if completed.returncode:
            raise UserError(f"the throughput of {framework} could not be measured; see above")
        os.replace(new_file, locate_stored_throughput(framework))


def measure_throughput_in_new_processes(
    framework: str, algorithm: str, variables: Mapping[str, str]
) -> list[Measurement]:
    """Measure a training in several new processes with these environment variables."""
    return [
        throughput_measurement.measure_throughput(
            framework, algorithm, FIRST_NEW_SEED + number, variables
        )
        for number in range(PROCESSES)
    ]


def judge_measured_throughput(
    new_measurements: Mapping[_Pair, Sequence[Measurement]], alpha: float
) -> dict[_Pair, dict[str, ThroughputVerdict]]:
    """Judge the throughput of all new processes of a session as one family of hypotheses.

    Args:
        new_measurements: (full name of a framework, algorithm) -> its new processes.
        alpha: probability of one or more false ``regressed`` in the session.

    Returns:
        Quantity -> verdict of each pair; without those that ``find_comparable_throughput`` rejects.
    """
    samples: dict[tuple[_Pair, str], ThroughputSample] = {}
    for pair, processes in new_measurements.items():
        with suppress(UserError):
            if (stored_processes := find_comparable_throughput(*pair)) and processes:
                for quantity, attribute in QUANTITIES.items():
                    old, new = (
                        [getattr(process, attribute) for process in measurements]
                        for measurements in (stored_processes.process, processes)
                    )
                    samples[pair, quantity] = ThroughputSample(old, new, quantity == MEMORY)
    verdicts_by_pair: dict[_Pair, dict[str, ThroughputVerdict]] = {}
    for (pair, quantity), verdict in judge_throughput_samples(samples, alpha).items():
        verdicts_by_pair.setdefault(pair, {})[quantity] = verdict
    return verdicts_by_pair
