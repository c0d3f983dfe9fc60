"""Numbers that describe runs beside their mean, and decide nothing.

The interquartile mean and the probability of improvement are those of Agarwal et al. 2021 ("Deep
reinforcement learning at the edge of the statistical precipice"); SciPy has both, as a trimmed mean
and as Mann and Whitney's U.
"""

from __future__ import annotations

import math

import numpy as np
import scipy
from numpy.typing import ArrayLike


def interquartile_mean(values: ArrayLike) -> float:
    """Mean of the values [n] without the lowest and the highest quarter; nan of none."""
    finite = _finite(values)
    return float(scipy.stats.trim_mean(finite, 0.25)) if len(finite) else math.nan


def probability_of_improvement(before: ArrayLike, after: ArrayLike) -> float:
    """Share of all pairs of a value before [m] and one after [n] in which the latter is larger.

    Ties count half; nan where a side has no value.
    """
    old, new = _finite(before), _finite(after)
    if not len(old) or not len(new):
        return math.nan
    return float(scipy.stats.mannwhitneyu(new, old).statistic) / (len(old) * len(new))


def _finite(values: ArrayLike) -> np.ndarray:
    numbers = np.asarray(values, dtype=np.float64)
    return np.asarray(numbers[np.isfinite(numbers)])
