"""The effect: difference of means, its scale and its interval."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import scipy
from numpy.typing import ArrayLike


def compute_welch_interval(
    stored: ArrayLike, new: ArrayLike, confidence: float = 0.95
) -> tuple[float, float] | None:
    """Return Welch's interval of mean(new) - mean(stored), stored [m], new [n].

    It describes one cell, is not corrected for the family, and decides nothing. Its coverage at
    nominal 95 % was measured over the simulated laws (``tools/tests/simulations/laws.py``) with 5
    or 10 new seeds: 93 to 96 % on average, 85 % at worst (two modes, 20 stored, 5 new). The
    percentile bootstrap covers 88 to 92 %. The pooled interval falls to 79 % where the spread has
    changed.

    Returns:
        (low, high), or None with a single stored or new value, or no spread on both.
    """
    return compute_group_interval([(stored, new)], [1.0], confidence)


def compute_group_interval(
    cells: Sequence[tuple[ArrayLike, ArrayLike]], scales: Sequence[float], confidence: float = 0.95
) -> tuple[float, float] | None:
    """Return Welch's interval of the mean over cells of (mean(new) - mean(stored)) / scale.

    Args:
        cells: stored [m] and new [n] returns of each of the k cells.
        scales: denominator of the effect of each cell [k].
        confidence: nominal coverage.

    Returns:
        (low, high), or None with a single stored or new value, or no spread at all.
    """
    # scipy.stats.ttest_ind(...).confidence_interval() gives the same numbers for one cell, but
    # takes a hundred times as long and warns of lost precision where all returns are equal
    effects, variances, freedoms = [], [], []
    for (stored, new), scale in zip(cells, scales, strict=True):
        samples = np.asarray(stored, dtype=np.float64), np.asarray(new, dtype=np.float64)
        if min(map(len, samples)) < 2:
            return None
        effects.append(float(samples[1].mean() - samples[0].mean()) / scale)
        for returns in samples:
            variances.append(float(returns.var(ddof=1)) / len(returns) / scale**2)
            freedoms.append(len(returns) - 1)
    total = sum(variances)
    if total == 0:
        return None
    # Welch-Satterthwaite over all samples of all cells
    freedom = total**2 / sum(v**2 / f for v, f in zip(variances, freedoms, strict=True))
    margin = float(scipy.stats.t.ppf((1 + confidence) / 2, freedom)) * math.sqrt(total)
    effect = sum(effects)
    return (effect - margin) / len(effects), (effect + margin) / len(effects)
