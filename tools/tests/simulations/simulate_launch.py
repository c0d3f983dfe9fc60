"""How near to the least possible time runs end, on so many workers, in several orders.

    python -m tools.tests.simulations.simulate_launch

The runs are those of a study: its cells times seeds, whether their frameworks are installed or not.
A run is expected to take the CPU seconds per step of the stored runs of its cell, else of its
framework and algorithm, else of its algorithm, times its steps; evaluations on the way are left
out. How long it takes in truth is that times a ratio drawn from the stored runs, so that lengths
vary as those of short runs do. A worker does one run at a time, and each run has its start.

The lower bound is all runs shared evenly, or the longest of them. Where workers have few runs each
it cannot be reached, since runs are not divided; the last column is over a bound that counts that.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from rlregress.cluster import slurm_arrays
from rlregress.cluster.manifest import ManifestRun
from rlregress.cluster.run_resources import time_of
from rlregress.gate import baseline_runs, published
from rlregress.gate.cell_selection import study_table, usual_budget
from rlregress.gate.schedule import STARTUP_SECONDS, draw, lower_bound, makespan, spread
from rlregress.training.budgets import budget
from rlregress.training.cell import Cell

TIGHTER = "longest first, tighter bound"
Order = Callable[[np.random.Generator], Sequence[int]]


@dataclass(frozen=True)
class Matrix:
    """The runs of a study, seed by seed.

    Attributes:
        cells: of each run.
        expected: seconds of each run, its start included.
        spreads: of each, ratios of lengths that were recorded.
    """

    cells: Sequence[Cell]
    expected: Sequence[float]
    spreads: Sequence[Sequence[float]]


def tighter_bound(lengths: Sequence[float], workers: int) -> float:
    """As ``lower_bound``, which also counts that runs are not divided.

    Of the k * workers + 1 longest runs one worker does k + 1, and none of these is shorter than
    the shortest of them.
    """
    ordered = sorted(lengths, reverse=True)
    ends = range(workers, len(ordered), workers)
    together = (sum(ordered[end - k : end + 1]) for k, end in enumerate(ends, start=1))
    return max([lower_bound(lengths, workers), *together])


def matrix(study: str, seeds: int) -> Matrix:
    """All cells of a study with so many seeds."""
    name, known = usual_budget(study), baseline_runs.every()
    cells = [Cell(*key, name) for key in published.table(study_table(study))]
    steps = {a: budget(name).protocol(a).total_steps for a in {cell.algorithm for cell in cells}}
    expected = [
        baseline_runs.seconds_per_step(cell, known) * steps[cell.algorithm] + STARTUP_SECONDS
        for cell in cells
    ]
    spreads = [spread(cell, known) for cell in cells]
    return Matrix(cells * seeds, expected * seeds, spreads * seeds)


def longest_first(of: Matrix) -> list[int]:
    """The runs as a manifest lists them."""
    return sorted(range(len(of.expected)), key=lambda number: -of.expected[number])


def as_arrays(of: Matrix, size: int) -> list[int]:
    """The runs as ``launch --slurm`` submits them: arrays of those that need the same, in turn."""
    order = longest_first(of)
    runs = [ManifestRun(n, str(n), of.cells[i].group, of.expected[i]) for n, i in enumerate(order)]
    longest: dict[str, float] = {}
    for run in runs:
        longest[run.group] = max(run.seconds, longest.get(run.group, 0.0))
    by_group = {run.group: (time_of(longest[run.group]), None) for run in runs}
    return [order[n] for piece in slurm_arrays.pieces(runs, by_group, size) for n in piece.runs]


def orders(of: Matrix) -> dict[str, Order]:
    """The orders that are compared, by name."""
    longest, arrays = longest_first(of), as_arrays(of, slurm_arrays.USUAL_ARRAY_SIZE)
    return {
        "longest first": lambda _: longest,
        "Slurm arrays": lambda _: arrays,
        "as listed": lambda _: range(len(of.expected)),
        "random": lambda generator: generator.permutation(len(of.expected)).tolist(),
    }


def ratios(of: Matrix, workers: int, draws: int, seed: int = 0) -> dict[str, list[float]]:
    """Order -> makespan over the lower bound, of every draw of the lengths.

    The last is longest first again, over the tighter bound.
    """
    generator = np.random.default_rng(seed)
    found: dict[str, list[float]] = {}
    every = orders(of)
    for _ in range(draws):
        lengths = draw(of.expected, of.spreads, generator)
        bound = lower_bound(lengths, workers)
        for name, order in every.items():
            end = makespan([lengths[number] for number in order(generator)], workers)
            found.setdefault(name, []).append(end / bound)
        nearer = found["longest first"][-1] * bound / tighter_bound(lengths, workers)
        found.setdefault(TIGHTER, []).append(nearer)
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--study", default="thesis")
    parser.add_argument("--seeds", type=int, nargs="+", default=[5, 25])
    parser.add_argument("--workers", type=int, nargs="+", default=[24, 256, 4096])
    parser.add_argument("--draws", type=int, default=20)
    options = parser.parse_args(arguments)
    heads = ["runs", "core hours", "workers", "bound (hours)", "what bounds"]
    heads += [*orders(matrix(options.study, 1)), TIGHTER]
    print("| " + " | ".join(heads) + " |\n|" + "---|" * len(heads))
    for seeds in options.seeds:
        of = matrix(options.study, seeds)
        for workers in options.workers:
            found = ratios(of, workers, options.draws)
            bound = lower_bound(of.expected, workers)
            shared = "all runs" if bound > max(of.expected) else "the longest run"
            hours = f"{sum(of.expected) / 3600:.0f}"
            row = [str(len(of.expected)), hours, str(workers), f"{bound / 3600:.2f}", shared]
            row += [
                f"{statistics.mean(simulated):.3f} ({max(simulated):.3f})"
                for simulated in found.values()
            ]
            print("| " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    main()
