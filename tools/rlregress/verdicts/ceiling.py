"""Cells at a ceiling: most seeds reach the same best return, some fail.

There the spread of the stored runs says nothing about the drop that can be seen (it is 0 when all
reached the ceiling). What is counted is the seeds that fail to reach it. With no stored failure,
the permutation test of the means and Fisher's exact test of the counts give the same p-value.
"""

from __future__ import annotations

import numpy as np
import scipy
from numpy.typing import ArrayLike


def at_ceiling(returns: ArrayLike) -> bool:
    """Whether at least half of the returns [m], and two, equal the largest one exactly."""
    values = np.asarray(returns, dtype=np.float64)
    ties = int(np.count_nonzero(values == values.max()))
    return ties >= 2 and 2 * ties >= len(values)


def fisher_p(stored_failed: int, m: int, new_failed: int, n: int) -> float:
    """One-sided Fisher exact p-value: do more of n new seeds fail than of m stored ones?"""
    table = [[new_failed, n - new_failed], [stored_failed, m - stored_failed]]
    return float(scipy.stats.fisher_exact(table, alternative="greater").pvalue)


def failures_needed(stored_failed: int, m: int, n: int, level: float) -> int | None:
    """How many of n new seeds must fail before p < ``level``; None: not even all suffice."""
    for failed in range(n + 1):
        if fisher_p(stored_failed, m, failed, n) < level:
            return failed
    return None


def share_seen(
    stored_failed: int, m: int, n: int, level: float, power: float = 0.8
) -> float | None:
    """The share of failing seeds from which on a collapse is seen with ``power``.

    Half of the seeds collapsing takes 10 stored and 10 new seeds, for one cell at 0.05.

    Args:
        stored_failed: stored seeds below the ceiling.
        m: stored seeds.
        n: new seeds.
        level: level of the single test.
        power: probability of rejection.

    Returns:
        A share in (0, 1], or None where no collapse is seen.
    """
    needed = failures_needed(stored_failed, m, n, level)
    if needed is None:
        return None
    # the share at which P(at least ``needed`` of n fail) is ``power``
    return float(scipy.special.betaincinv(needed, n - needed + 1, power))
