"""After how many new runs a cell is judged, and how the error is spent over these looks.

The gate of fixed size is the plan with a single look. With several looks at growing data each has
a weight w_k, and the weights sum to 1: by Bonferroni's inequality P = min_k p_k / w_k is a p-value
however the looks depend on one another, and whenever one stops looking.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rlregress.verdicts.permutation import smallest_p

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Looks:
    """The looks of one gate.

    Attributes:
        seeds: new runs of a cell in all at each look, ascending [K].
        weights: share of the error that each look may spend [K]; sum 1.
        accept_cell: a cell is accepted at a look if its p-value is larger [K - 1].
        accept_group: a group is accepted at a look if its p-value is larger, and keeps its cells
            from being accepted until then [K - 1].
    """

    seeds: tuple[int, ...]
    weights: tuple[float, ...]
    accept_cell: tuple[float, ...] = ()
    accept_group: tuple[float, ...] = ()

    @property
    def most(self) -> int:
        """New runs of a cell after the last look."""
        return self.seeds[-1]

    def look_of(self, run: int) -> int:
        """The look, counted from 0, whose block the run belongs to (``run`` from 0)."""
        return next(look for look, seeds in enumerate(self.seeds) if run < seeds)

    def could_reject(self, m: int, level: float) -> bool:
        """Whether any data at all could give m stored runs a sequential p below ``level``."""
        pairs = zip(self.seeds, self.weights, strict=True)
        return any(smallest_p(m, n) / weight < level for n, weight in pairs)

    def spent(self, p: Sequence[float] | FloatArray) -> FloatArray:
        """min_k p_k / w_k of the p-values of the looks so far [k, ...]; float64 [...]."""
        values = np.asarray(p, dtype=np.float64)
        weights = np.array(self.weights[: len(values)]).reshape(-1, *[1] * (values.ndim - 1))
        least: FloatArray = np.asarray((values / weights).min(axis=0))
        return np.minimum(least, 1.0)


def fixed(n: int) -> Looks:
    """The gate of fixed size: one look at n new runs of each cell."""
    return Looks((n,), (1.0,))


#: The default. Three runs can end a healthy cell, but reject next to nothing: nearly all of the
#: error is kept for twelve.
SEQUENTIAL = Looks((3, 6, 12), (0.01, 0.05, 0.94), (0.15, 0.05), (0.08, 0.03))
#: Stored runs that a cell needs for more than one look: below, no verdict can be ``holds``.
LEAST_STORED = 5
