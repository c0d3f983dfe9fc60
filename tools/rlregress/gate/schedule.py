"""How long many runs take on so many workers: whoever is free does the next run of a list.

Listed longest first, the last runs to end are short ones, so that the workers end together (Graham
1969: at most 4/3 of the least possible time, where the lengths are known). No order takes less than
all runs shared evenly, or than the longest run alone.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence

import numpy as np

from rlregress.gate.baseline_runs import FINISHED, Baseline
from rlregress.model.planned_session import Makespan
from rlregress.training.cell import Cell

#: CPU seconds of a run beside those in its record: two processes start, and import torch. Measured
#: on a run of each framework and algorithm: 4.0 to 4.6.
STARTUP_SECONDS = 4.3
#: so often lengths are drawn, in all and of one prediction.
_DRAWN, _MOST_DRAWS = 200_000, 200


def makespan(lengths: Sequence[float], workers: int) -> float:
    """Seconds of runs that are begun in their order by whoever is free first."""
    free = [0.0] * min(workers, len(lengths))
    for length in lengths:
        heapq.heapreplace(free, free[0] + length)
    return max(free, default=0.0)


def lower_bound(lengths: Sequence[float], workers: int) -> float:
    """Seconds that no order of these runs is faster than."""
    return max(sum(lengths) / workers, max(lengths, default=0.0))


def spread(cell: Cell, known: Sequence[Baseline]) -> tuple[float, ...]:
    """Lengths of recorded runs over the mean of their cell; 1 alone where none is recorded.

    Of the cell if it has stored runs of any budget; else of its framework and algorithm; else of
    all.
    """
    ratios: Mapping[Cell, list[float]] = {of.cell: _ratios(of) for of in known}
    for same_keys in (("group", "environment", "hyperparameters"), ("group",), ()):
        found = [
            ratio
            for known_cell, of in ratios.items()
            if all(getattr(known_cell, name) == getattr(cell, name) for name in same_keys)
            for ratio in of
        ]
        if found:
            return tuple(found)
    return (1.0,)


def _ratios(of: Baseline) -> list[float]:
    every = [run.time.cpu_seconds for run in of.runs if run.status == FINISHED]
    seconds = [spent for spent in every if spent]
    mean = sum(seconds) / len(seconds) if seconds else 0.0
    return [second / mean for second in seconds]


def draw(
    expected: Sequence[float], spreads: Sequence[Sequence[float]], generator: np.random.Generator
) -> list[float]:
    """A length of each run: what is expected of it, times a ratio that was recorded."""
    ratios = np.empty(len(expected))
    of_spreads: dict[int, list[int]] = {}
    for number, spread_ in enumerate(spreads):
        of_spreads.setdefault(id(spread_), []).append(number)
    for numbers in of_spreads.values():
        ratios[numbers] = generator.choice(spreads[numbers[0]], len(numbers))
    drawn: list[float] = (np.asarray(expected) * ratios).tolist()
    return drawn


def predict(
    expected: Sequence[float], spreads: Sequence[Sequence[float]], workers: int, seed: int = 0
) -> Makespan | None:
    """The makespan of runs that are begun longest first; None without any, or if one is unknown.

    Args:
        expected: seconds of each run; 0: not known.
        spreads: of each, ratios of lengths that were recorded.
    """
    if not expected or min(expected) <= 0:
        return None
    order = np.argsort(-np.asarray(expected), kind="stable")
    longest_first = [expected[number] for number in order]
    of = [spreads[number] for number in order]
    generator = np.random.default_rng(seed)
    draws = min(_MOST_DRAWS, max(5, _DRAWN // len(expected)))
    ends = [makespan(draw(longest_first, of, generator), workers) for _ in range(draws)]
    low, high = (float(of) for of in np.quantile(ends, (0.05, 0.95)))
    return Makespan(
        seconds=float(np.mean(ends)), low=low, high=high, bound=lower_bound(expected, workers)
    )
