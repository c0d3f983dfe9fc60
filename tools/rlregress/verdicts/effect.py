"""The effect: difference of means, its scale and its interval."""

from __future__ import annotations

import math

import numpy as np
import scipy
from numpy.typing import ArrayLike


def scale_of(stored: ArrayLike) -> float:
    """What a difference is a share of: the larger of |mean| and sd of the stored returns [m].

    The magnitude, because some environments have only negative returns (Reacher: a mean of -4 that
    becomes -6 is a drop of 50 %). Not less than the standard deviation, because a mean near zero
    (HalfCheetah after a short budget) would make any noise a drop of many hundred per cent. One
    return unit where both are zero.
    """
    values = np.asarray(stored, dtype=np.float64)
    spread = float(values.std(ddof=1)) if len(values) > 1 else 0.0
    return max(abs(float(values.mean())), spread) or 1.0


def welch_interval(
    stored: ArrayLike, new: ArrayLike, confidence: float = 0.95
) -> tuple[float, float] | None:
    """Welch's interval of mean(new) - mean(stored), stored [m], new [n].

    It describes one cell, is not corrected for the family, and decides nothing. Its measured
    coverage at nominal 95 %, over the laws of ``laws.py`` with 5 or 10 new seeds, is 93 to 96 % on
    average and 85 % at worst (two modes, 20 stored, 5 new); the percentile bootstrap covers 88 to
    92 %, and the pooled interval falls to 79 % where the spread has changed.

    Returns:
        (low, high), or None with a single value on a side or no spread on both.
    """
    before, after = np.asarray(stored, dtype=np.float64), np.asarray(new, dtype=np.float64)
    m, n = len(before), len(after)
    if m < 2 or n < 2:
        return None
    a, b = float(before.var(ddof=1)) / m, float(after.var(ddof=1)) / n
    if a + b == 0:
        return None
    # scipy.stats.ttest_ind(...).confidence_interval() gives the same numbers, but takes a hundred
    # times as long and warns of lost precision where the returns of one side are all equal
    freedom = (a + b) ** 2 / (a**2 / (m - 1) + b**2 / (n - 1))
    reach = float(scipy.stats.t.ppf((1 + confidence) / 2, freedom)) * math.sqrt(a + b)
    effect = float(after.mean() - before.mean())
    return effect - reach, effect + reach
