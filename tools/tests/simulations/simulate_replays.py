"""Measure false alarms where replays choose the cells that fresh seeds judge.

    python -m tools.tests.simulations.simulate_replays --sessions 400

Nothing changed in the returns. In each session every cell differs from its replay with some
probability, whatever its returns are: another machine, another order of sums. The gate judges the
cells that differ, as one family. Returns are resampled from the stored runs of the default check.
"""

from __future__ import annotations

import argparse

import numpy as np

from rlregress.check import baseline_runs, cell_selection
from rlregress.model.verdict import REGRESSED
from rlregress.verdicts.looks import SEQUENTIAL_LOOKS
from rlregress.verdicts.rules import CellSample, Rules
from rlregress.verdicts.sequential import judge_cells_and_groups


def false_alarms(sessions: int, share: float, seed: int = 0) -> list[bool]:
    """Return of each session whether something is ``regressed``.

    Args:
        share: probability that a cell differs from its replay.
    """
    rng = np.random.default_rng([seed, int(100 * share)])
    cells = cell_selection.choose_cells(cell_selection.Selection("short"))
    baselines = {
        baseline.cell: np.array(baseline.returns)
        for baseline in baseline_runs.load_all_baselines()
        if baseline.cell in cells
    }
    alarms = []
    for _ in range(sessions):
        differing = [cell for cell in baselines if rng.random() < share]
        samples = {
            cell.id: CellSample(
                rng.choice(baselines[cell], len(baselines[cell])),
                rng.choice(baselines[cell], SEQUENTIAL_LOOKS.max_runs),
                group=cell.group,
            )
            for cell in differing
        }
        verdicts = judge_cells_and_groups(samples, SEQUENTIAL_LOOKS, Rules()) if samples else None
        alarms.append(verdicts is not None and verdicts.verdict == REGRESSED)
    return alarms


def main() -> None:
    """Print the share of sessions with a false alarm, and its Monte Carlo error."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=int, default=400)
    arguments = parser.parse_args()
    for share in (1.0, 0.5, 0.2):
        alarms = false_alarms(arguments.sessions, share)
        rate = float(np.mean(alarms))
        error = (rate * (1 - rate) / len(alarms)) ** 0.5
        print(f"{share:.0%} of the cells differ: {rate:.3f} +- {error:.3f}", flush=True)


if __name__ == "__main__":
    main()
