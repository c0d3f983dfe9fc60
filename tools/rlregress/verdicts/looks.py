"""The interim analyses ("looks") of a gate: their numbers of runs, and their shares of the error.

The gate of fixed size is the plan with a single look. With several looks at growing data, each has
a weight w_k, and the weights sum to 1. By Bonferroni's inequality P = min_k p_k / w_k is a valid
p-value, for any dependence between the looks, and whichever look is the last.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rlregress.verdicts.permutation import compute_smallest_p_value

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Looks:
    """The looks (interim analyses) of one gate, and the share of the error of each.

    Attributes:
        run_counts: new runs of a cell in all at each look, ascending [K].
        weights: share of the error that each look may spend [K]; sum 1.
        accept_cell: a cell is accepted at a look if its p-value is larger [K - 1].
        accept_group: a group is accepted at a look if its p-value is larger [K - 1]. Until then
            none of its cells is accepted.
    """

    run_counts: tuple[int, ...]
    weights: tuple[float, ...]
    accept_cell: tuple[float, ...] = ()
    accept_group: tuple[float, ...] = ()

    @property
    def max_runs(self) -> int:
        """Number of new runs of a cell after the last look."""
        return self.run_counts[-1]

    def find_look_of_run(self, run: int) -> int:
        """Return the index of the look that first includes run ``run``; both count from 0."""
        return next(look for look, count in enumerate(self.run_counts) if run < count)

    def could_reject_at_level(self, stored_count: int, level: float) -> bool:
        """Return whether any new returns could give a sequential p-value below ``level``."""
        pairs = zip(self.run_counts, self.weights, strict=True)
        return any(
            compute_smallest_p_value(stored_count, n) / weight < level for n, weight in pairs
        )

    def combine_p_values_of_looks(self, p_values: Sequence[float] | FloatArray) -> FloatArray:
        """Combine p-values of looks so far [k, ...] to the least p / weight, at most 1 [...]."""
        values = np.asarray(p_values, dtype=np.float64)
        # the weights lie along the first axis, that of the looks
        weights = np.array(self.weights[: len(values)]).reshape(-1, *[1] * (values.ndim - 1))
        smallest: FloatArray = np.asarray((values / weights).min(axis=0))
        return np.minimum(smallest, 1.0)


def make_single_look(run_count: int) -> Looks:
    """Return the gate of fixed size: one look at ``run_count`` new runs of each cell."""
    return Looks((run_count,), (1.0,))


#: The default. Three runs can end a healthy cell, but reject next to nothing: nearly all of the
#: error is spent at twelve.
SEQUENTIAL_LOOKS = Looks((3, 6, 12), (0.01, 0.05, 0.94), (0.15, 0.05), (0.08, 0.03))
#: Stored runs that a cell needs for more than one look: below, no verdict can be ``holds``.
MIN_STORED = 5
