"""Predicts the duration of many runs on a number of workers, each taking the next run of a list.

With the longest runs first, the last runs are short and the workers end together (Graham 1969: at
most 4/3 of the least possible time for known lengths). No order is faster than the sum of all
lengths over the number of workers, or than the longest run.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence

import numpy as np

from rlregress.check.baseline_runs import FINISHED, Baseline
from rlregress.model.planned_session import Makespan
from rlregress.training.cell import Cell

#: CPU seconds of a run that its record lacks: two processes start and import torch. Measured on a
#: run of each framework and algorithm: 4.0 to 4.6.
STARTUP_SECONDS = 4.3
#: limits of drawn lengths: in total, and of draws for one prediction
_TOTAL_DRAWS, _MAX_DRAWS = 200_000, 200


def compute_makespan(run_lengths: Sequence[float], workers: int) -> float:
    """Return the duration of runs that start in order on the first free worker."""
    free_at = [0.0] * min(workers, len(run_lengths))
    for length in run_lengths:
        heapq.heapreplace(free_at, free_at[0] + length)
    return max(free_at, default=0.0)


def bound_makespan_from_below(run_lengths: Sequence[float], workers: int) -> float:
    """Return a lower bound of the duration, whatever the order of these runs."""
    return max(sum(run_lengths) / workers, max(run_lengths, default=0.0))


def list_length_ratios(cell: Cell, baselines: Sequence[Baseline]) -> tuple[float, ...]:
    """Return lengths of recorded runs divided by their cell's mean; (1,) without recorded runs.

    These are runs of the cell at any budget; else of its framework and algorithm; else all runs.
    """
    ratios: Mapping[Cell, list[float]] = {
        baseline.cell: _list_length_ratios_of_baseline(baseline) for baseline in baselines
    }
    for same_keys in (("group", "environment", "hyperparameters"), ("group",), ()):
        ratios_found = [
            ratio
            for other_cell, cell_ratios in ratios.items()
            if all(getattr(other_cell, name) == getattr(cell, name) for name in same_keys)
            for ratio in cell_ratios
        ]
        if ratios_found:
            return tuple(ratios_found)
    return (1.0,)


def _list_length_ratios_of_baseline(baseline: Baseline) -> list[float]:
    all_seconds = [run.time.cpu_seconds for run in baseline.runs if run.status == FINISHED]
    lengths = [seconds for seconds in all_seconds if seconds]
    mean = sum(lengths) / len(lengths) if lengths else 0.0
    return [length / mean for length in lengths]


def draw_run_lengths(
    expected: Sequence[float], spreads: Sequence[Sequence[float]], generator: np.random.Generator
) -> list[float]:
    """Draw a length of each run: its expected length times a recorded ratio."""
    ratios = np.empty(len(expected))
    positions_by_spread: dict[int, list[int]] = {}
    # runs of one cell share one object: they are drawn at once
    for number, spread in enumerate(spreads):
        positions_by_spread.setdefault(id(spread), []).append(number)
    for numbers in positions_by_spread.values():
        ratios[numbers] = generator.choice(spreads[numbers[0]], len(numbers))
    lengths: list[float] = (np.asarray(expected) * ratios).tolist()
    return lengths


def predict_makespan(
    expected: Sequence[float], spreads: Sequence[Sequence[float]], workers: int, seed: int = 0
) -> Makespan | None:
    """Predict the makespan with the longest runs first; None without runs or known lengths.

    Args:
        expected: seconds of each run; 0 if unknown.
        spreads: recorded ratios of lengths for each run.
    """
    if not expected or min(expected) <= 0:
        return None
    # longest first, as the session starts them
    order = np.argsort(-np.asarray(expected), kind="stable")
    longest_first = [expected[number] for number in order]
    sorted_spreads = [spreads[number] for number in order]
    generator = np.random.default_rng(seed)
    draws = min(_MAX_DRAWS, max(5, _TOTAL_DRAWS // len(expected)))
    ends = [
        compute_makespan(draw_run_lengths(longest_first, sorted_spreads, generator), workers)
        for _ in range(draws)
    ]
    low, high = np.quantile(ends, (0.05, 0.95)).tolist()
    return Makespan(
        seconds=float(np.mean(ends)),
        low=low,
        high=high,
        bound=bound_makespan_from_below(expected, workers),
    )
