"""Running statistics that are updated with whole batches, in float64."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike


class Statistics(NamedTuple):
    """Mean and variance, and the number of rows that they stand for."""

    mean: float
    variance: float
    rows: float

    def merge_batch(self, batch: ArrayLike, ddof: int = 0) -> Statistics:
        """Return the statistics with the rows of a batch (Chan et al. 1982).

        Args:
            batch: [n].
            ddof: 1: the sample variance of the batch is merged as if it were its variance.
        """
        x = np.asarray(batch, dtype=np.float64)
        rows = self.rows + len(x)
        delta = x.mean() - self.mean
        squares = self.variance * self.rows + x.var(ddof=ddof) * len(x)
        squares += delta**2 * self.rows * len(x) / rows
        return Statistics(self.mean + delta * len(x) / rows, squares / rows, rows)

    def standardise(self, x: ArrayLike) -> np.ndarray:
        """Return (x - mean) / standard deviation, any shape."""
        return np.asarray((np.asarray(x) - self.mean) / np.sqrt(self.variance))


def make_prior_statistics(rows: float) -> Statistics:
    """Return the statistics before any batch: mean 0 and variance 1 of ``rows`` rows."""
    return Statistics(0.0, 1.0, rows)
