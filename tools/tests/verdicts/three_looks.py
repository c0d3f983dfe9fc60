"""Three looks whose numbers the tests of the mechanism know; those of the default may change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rlregress.model.cells import Verdicts
from rlregress.verdicts.looks import Looks
from rlregress.verdicts.rules import CellSample
from rlregress.verdicts.sequential import judge_cells_and_groups

LOOKS = Looks((5, 10, 20), (0.1, 0.2, 0.7), (0.2, 0.1), (0.1, 0.05))


def healthy(seed: int, size: int, mean: float = 1000.0, sd: float = 100.0) -> Any:
    """Return normal returns [size]."""
    return np.random.default_rng(seed).normal(mean, sd, size)


def verdicts_at(cells: Mapping[str, CellSample], looks: Looks = LOOKS, **rules: Any) -> Verdicts:
    """Return the verdicts at these looks."""
    return judge_cells_and_groups(cells, looks, **rules)
