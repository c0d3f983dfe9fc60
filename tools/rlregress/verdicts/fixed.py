"""The fixed-size gate: stored runs of a cell against a fixed number of new ones.

It is the gate of ``sequential.py`` with a single look, at all new runs that there are.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rlregress.verdicts.looks import fixed
from rlregress.verdicts.outcome import CellSample, Rules, Verdicts
from rlregress.verdicts.sequential import follow, verdicts_of

__all__ = ["CellSample", "judge_cells"]


def judge_cells(
    cells: Mapping[str, CellSample],
    alpha: float = 0.05,
    floor: float = 0.05,
    must_see: float = 0.5,
    min_stored: int = 5,
    max_failed_share: float = 0.2,
    confidence: float = 0.95,
    seed: int = 0,
) -> Verdicts:
    """Judge every cell and every group of at least two tested cells by all of their new runs.

    A cell whose seeds are so few that no data could give p < alpha is not part of the family, so
    it costs the others no power (Tarone 1990).

    Args:
        cells: cell name -> CellSample.
        alpha, floor, must_see, min_stored, max_failed_share, confidence, seed: see ``Rules``.

    Raises:
        UserError: a level outside (0, 1), a negative count, or a worst return that is not finite.
    """
    rules = Rules(alpha, floor, must_see, min_stored, max_failed_share, confidence, seed)
    looks = {name: fixed(np.size(cell.new) + cell.failed) for name, cell in cells.items()}
    return verdicts_of(follow(cells, looks, rules))
