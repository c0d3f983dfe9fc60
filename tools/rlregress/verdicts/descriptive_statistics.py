"""Numbers that describe runs next to their mean. They decide nothing.

The interquartile mean and the probability of improvement are those of Agarwal et al. 2021 ("Deep
reinforcement learning at the edge of the statistical precipice"); SciPy has both, as a trimmed mean
and as Mann and Whitney's U.
"""

from __future__ import annotations

import math

import numpy as np
import scipy
from numpy.typing import ArrayLike


def compute_interquartile_mean(values: ArrayLike) -> float:
    """Return the mean of the values [n] without the lowest and highest quarter; nan if empty."""
    finite = select_finite_values(values)
    return float(scipy.stats.trim_mean(finite, 0.25)) if len(finite) else math.nan


def compute_probability_of_improvement(stored: ArrayLike, new: ArrayLike) -> float:
    """Return the share of pairs (stored [m], new [n]) in which the new value is larger.

    Ties count half; nan if either array is empty.
    """
    finite_stored, finite_new = select_finite_values(stored), select_finite_values(new)
    pairs = len(finite_stored) * len(finite_new)
    if not pairs:
        return math.nan
    # the statistic counts the pairs
    return float(scipy.stats.mannwhitneyu(finite_new, finite_stored).statistic) / pairs


def select_finite_values(values: ArrayLike) -> np.ndarray:
    """Return the finite values [k]."""
    numbers = np.asarray(values, dtype=np.float64)
    return np.asarray(numbers[np.isfinite(numbers)])
