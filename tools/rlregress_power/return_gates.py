"""Judges faults that change learning by the gate on returns: verdict, runs, minutes."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rlregress import evidence
from rlregress.check import check_run, outcome
from rlregress.check.baseline_runs import FIRST_NEW_SEED
from rlregress.check_options import CheckOptions
from rlregress.errors import UserError
from rlregress.faults import injection
from rlregress.model.fault_results import Fault, FaultResult
from rlregress.training import worker_launch
from rlregress.upgrade.versions.cached_folders import Log
from rlregress.verdicts.looks import SEQUENTIAL_LOOKS

#: cell -> record of a run without its times
Outcomes = dict[str, dict[str, Any]]


def judge_faults_by_returns(
    faults: Sequence[Fault], workers: int, log: Log, cells: str = "all", gates: int = 0
) -> Iterator[FaultResult]:
    """Train and judge a copy with each fault, on stored cells of its algorithm.

    A fault that changes no run of the first seeds is reported as trouble and not judged: code that
    a training does not execute cannot change its returns.

    Args:
        cells: cells of the gate, as in ``--cells``.
        gates: judge the installed framework this many times instead, for each algorithm.
    """
    if gates:
        for framework, algorithm in dict.fromkeys((f.framework, f.algorithm) for f in faults):
            yield from _judge_unchanged_framework(framework, algorithm, gates, workers, cells)
        return
    unfaulted: dict[tuple[str, str], Outcomes] = {}
    for fault in faults:
        pair = fault.framework, fault.algorithm
        try:
            if pair not in unfaulted:
                with TemporaryDirectory(prefix="rlregress-returns-") as folder:
                    options = _make_check_options(*pair, cells, workers, folder)
                    unfaulted[pair] = _train_first_seeds(
                        options, worker_launch.make_worker_environment()
                    )
            with (
                injection.inject_fault(fault) as environment,
                TemporaryDirectory(prefix="rlregress-returns-") as folder,
            ):
                options = _make_check_options(*pair, cells, workers, folder)
                if _train_first_seeds(options, environment) == unfaulted[pair]:
                    raise UserError(
                        "the first run of every cell is the same with the fault as without it: the "
                        "trainings do not execute the changed code"
                    )
                result = _judge_fault_by_returns(fault, options, environment)
                yield replace(result, detected=result.has_regressed and not result.trouble)
        except UserError as error:
            yield FaultResult(fault=fault, trouble=str(error))


def _judge_unchanged_framework(
    framework: str, algorithm: str, gates: int, workers: int, cells: str
) -> Iterator[FaultResult]:
    """Judge the installed framework repeatedly, each time with other seeds."""
    for number in range(gates):
        first = FIRST_NEW_SEED + SEQUENTIAL_LOOKS.max_runs * number
        none = Fault(name=f"unchanged {number + 1}", framework=framework, algorithm=algorithm)
        with TemporaryDirectory(prefix="rlregress-returns-") as folder:
            options = _make_check_options(framework, algorithm, cells, workers, folder)
            options = replace(options, first_seed=first)
            result = _judge_fault_by_returns(none, options, worker_launch.make_worker_environment())
            yield replace(result, detected=not (result.has_regressed or result.trouble))


def _make_check_options(
    framework: str, algorithm: str, cells: str, workers: int, folder: str
) -> CheckOptions:
    """Return check options whose runs and report are in a folder."""
    return CheckOptions(
        report=Path(folder) / "report",
        frameworks=framework,
        algorithms=algorithm,
        cells=cells,
        store=str(Path(folder) / "runs"),
        workers=workers,
        fresh_seeds=True,
    )


def _train_first_seeds(options: CheckOptions, environment: Mapping[str, str]) -> Outcomes:
    """Return the results of the first seed of each cell; their records stay in the store."""
    single_seed_options = replace(options, seeds=1, one_look=True)
    entries = check_run.run_tests_of_returns(sys.executable, single_seed_options, environment)
    if isinstance(entries, str):
        raise UserError(entries)
    records = [entry["record"] for entry in entries if "record" in entry]
    return {record["cell"]: {**record, "time": None} for record in records}


def _judge_fault_by_returns(
    fault: Fault, options: CheckOptions, environment: Mapping[str, str]
) -> FaultResult:
    entries = check_run.run_tests_of_returns(sys.executable, options, environment)
    if isinstance(entries, str):
        return FaultResult(fault=fault, trouble=entries)
    broken = [str(entry["message"]).splitlines()[0] for entry in outcome.find_broken_tests(entries)]
    records = [entry["record"] for entry in entries if "record" in entry]
    verdicts = evidence.collect_verdicts(entries)
    return FaultResult(
        fault=fault,
        verdicts=verdicts,
        runs=len(records),
        cpu_minutes=sum(record["time"].get("cpu_seconds", 0.0) for record in records) / 60,
        trouble=broken[0] if broken else "" if verdicts else "no cell was judged",
    )
