"""Measures time and memory of trainings that execute changed code, both versions in turns.

A hint, not a verdict: ``rlregress check --throughput`` measures many runs. The two versions are
timed in turns, many times, so that other load on the machine slows down both.
"""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from scipy.special import stdtrit

from rlregress.errors import UserError
from rlregress.model.recorded_traces import ComparedTraining, Trace, UncomparedTraining
from rlregress.model.upgrade_result import Cost
from rlregress.trace import trace_reader
from rlregress.trace.recording_processes import Runtime
from rlregress.upgrade.evidence.compared_trainings import Training
from rlregress.upgrade.evidence.runtimes import Runtimes, Workers

#: repetitions on both versions, the first of which only warms up; how many must count at least.
_TURNS, _LEAST = 9, 3
#: limit of the timing: a share of the time that the upgrade has taken so far, or these seconds.
_SHARE, _SECONDS = 0.1, 15.0
#: a ratio of times whose confidence interval is wider than this is not reported.
_WIDEST = 0.1
#: guessed share of a recorded training's CPU time that the training itself takes.
_PLAIN = 0.5


def measure_costs_of_shortest_trainings(
    runtimes: Runtimes,
    trainings: Iterable[Training],
    compared: Iterable[ComparedTraining],
    not_compared: Iterable[UncomparedTraining],
    executing: Collection[str],
    spent: float,
) -> tuple[Cost, ...]:
    """Return the costs of the shortest training of each algorithm that executes changed code.

    Args:
        compared, not_compared: the trainings that were compared, and those that could not be.
        executing: names of the trainings that execute changed code.
        spent: seconds that the upgrade has taken so far.
    """
    one_sided = [
        Cost(name=training.name, why="recorded on one version only")
        for training in not_compared
        if len(training.reasons) == 1
    ]
    by_name: dict[str, ComparedTraining] = {}
    for training in sorted(
        compared, key=lambda item: (not item.has_no_scenario, len(item.new.events))
    ):
        if training.shows_same_training and training.name in executing:
            by_name.setdefault(training.algorithm, training)
    seconds = max(_SHARE * spent, _SECONDS)
    fitting: list[str] = []
    seconds_left = seconds
    for training in by_name.values():
        recorded = _read_cpu_seconds(training.old) + _read_cpu_seconds(training.new)
        needed = (1 + _LEAST) * _PLAIN * recorded
        if needed < seconds_left or not fitting:
            fitting.append(training.name)
            seconds_left -= needed
    too_long = "it would take more than a tenth of the time of the upgrade"
    late = [Cost(name=t.name, why=too_long) for t in by_name.values() if t.name not in fitting]
    timed = [training for training in trainings if training.name in fitting]
    if not timed:
        return (*late, *one_sided)
    measured = _measure_costs_in_turns(runtimes.versions, timed, seconds, runtimes.processes)
    return (*measured, *late, *one_sided)


def _read_cpu_seconds(trace: Trace) -> float:
    return float(trace.header.get("cpu_seconds", 0.0))


def _measure_costs_in_turns(
    runtimes: tuple[Runtime, Runtime],
    trainings: Sequence[Training],
    seconds: float,
    processes: Workers,
) -> list[Cost]:
    """Measure the costs of trainings on both versions, in as many turns as time allows."""
    until = time.time() + seconds
    with TemporaryDirectory(prefix="rlregress-costs-") as folder, ThreadPoolExecutor(2) as pool:
        jobs: tuple[list[dict[str, Any]], ...] = ([], [])
        previous = ""
        for turn in range(_TURNS):
            for number, training in enumerate(trainings):
                for position, version_jobs in enumerate(jobs):
                    output = str(Path(folder) / f"{turn}-{number}-{position}")
                    # images of a scenario do not fit into the memory of a machine
                    large = " " not in training.name
                    turns = {"after": previous, "until": until, "large": large}
                    job = {**training.job, "name": training.name, "output": output,
                           "plain": math.ceil(seconds) + 60, "timed": turns,
                           "first": len(runtimes[position].paths)}  # fmt: skip
                    version_jobs.append(job)
                    previous = output
        list(pool.map(processes.do_jobs_and_explain_early_end, runtimes, jobs))
        return [
            _measure_cost(training.name, Path(folder), number)
            for number, training in enumerate(trainings)
        ]


def _measure_cost(training: str, folder: Path, number: int) -> Cost:
    headers = []
    for turn in range(1, _TURNS):
        try:
            pair = [
                trace_reader.load_trace(folder / f"{turn}-{number}-{position}")
                for position in (0, 1)
            ]
        except UserError:
            # time was over
            break
        headers.append([trace.header for trace in pair])
    if len(headers) < _LEAST:
        return Cost(name=training, why="too few repetitions in a tenth of the time of the upgrade")
    if any(header["failure"] for pair in headers for header in pair):
        return Cost(name=training, why="it fails without a recorder")
    seconds, memory = (
        np.array([[float(header[key]) for header in pair] for pair in headers])
        for key in ("cpu_seconds", "grown_mib")
    )
    low, high = compute_time_ratio_interval(seconds)
    wide = high / low > 1 + _WIDEST
    why = f"the interval of the ratio, {low:.2f} to {high:.2f}, is too wide" if wide else ""
    # the minimum is the version's own memory: other work of the process only adds to it
    old, new = memory.min(axis=0).tolist()
    return Cost(name=training, turns=len(headers), low=low, high=high, why=why, memory=(old, new))


def compute_time_ratio_interval(seconds: np.ndarray) -> tuple[float, float]:
    """Return the 95 % interval of the new version's time over the old one's.

    Args:
        seconds: [turns, 2], each of the old and of the new version.
    """
    ratios = np.log(np.maximum(seconds[:, 1], 1e-3) / np.maximum(seconds[:, 0], 1e-3))
    half = stdtrit(len(ratios) - 1, 0.975) * ratios.std(ddof=1) / len(ratios) ** 0.5
    return math.exp(ratios.mean() - half), math.exp(ratios.mean() + half)
