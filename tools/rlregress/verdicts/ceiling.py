"""Cells at a ceiling: most seeds reach the same best return, some fail.

The spread of the stored runs then says nothing about the detectable drop: it is 0 if all runs reach
the ceiling. The seeds that fail to reach it are counted instead. With no stored failure, the
permutation test of the means and Fisher's exact test of the counts give the same p-value.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy
from numpy.typing import ArrayLike

from rlregress.verdicts.looks import Looks


def are_returns_at_ceiling(returns: ArrayLike) -> bool:
    """Return whether at least half of the returns [m], and at least two, equal the largest one."""
    values = np.asarray(returns, dtype=np.float64)
    # exact equality: only a bounded return repeats to the last bit
    ties = int(np.count_nonzero(values == values.max()))
    return ties >= 2 and 2 * ties >= len(values)


def compute_fisher_p(stored_failed: int, m: int, new_failed: int, n: int) -> float:
    """Return the one-sided p of Fisher's exact test that more new seeds fail than stored ones."""
    table = [[new_failed, n - new_failed], [stored_failed, m - stored_failed]]
    return float(scipy.stats.fisher_exact(table, alternative="greater").pvalue)


def find_smallest_rejecting_count(stored_failed: int, m: int, n: int, level: float) -> int | None:
    """Return the fewest failures among n new seeds that give p < ``level``; None if none do."""
    failed = np.arange(n + 1)
    # Fisher's p-value of each count at once: sf(k - 1) is the probability of k failures or more
    p = scipy.stats.hypergeom.sf(failed - 1, m + n, failed + stored_failed, n)
    rejecting = np.flatnonzero(p < level)
    return int(rejecting[0]) if len(rejecting) else None


def find_smallest_detected_failing_share(
    stored_failed: int, stored_count: int, looks: Looks, level: float, power: float = 0.8
) -> float | None:
    """Return the smallest share of failing seeds that is detected with ``power``.

    With 10 stored and 10 new seeds, half of the seeds must fail (one cell, level 0.05).

    Args:
        stored_failed: stored seeds below the ceiling.
        stored_count: stored seeds.
        looks: new seeds and how the level is spent over them.
        level: level of the single test.
        power: probability of rejection.

    Returns:
        A share in (0, 1], or None where no collapse is detected.
    """
    steps = _list_failure_bounds_of_looks(stored_failed, stored_count, looks, level)
    if compute_rejection_probability(steps, 1.0) < power:
        return None
    # bisection: the probability of rejection grows with the share
    low, high = 0.0, 1.0
    while high - low > 1e-6:
        middle = (low + high) / 2
        low, high = (
            (low, middle)
            if compute_rejection_probability(steps, middle) >= power
            else (middle, high)
        )
    return high


def is_collapse_detected(
    share: float,
    stored_failed: int,
    stored_count: int,
    looks: Looks,
    level: float,
    power: float = 0.8,
) -> bool:
    """Return whether a collapse of this share of the seeds is detected."""
    return (
        compute_rejection_probability(
            _list_failure_bounds_of_looks(stored_failed, stored_count, looks, level), share
        )
        >= power
    )


def _list_failure_bounds_of_looks(
    stored_failed: int, stored_count: int, looks: Looks, level: float
) -> list[tuple[int, int, int]]:
    """Return for each look: added seeds, failures that reject, failures that continue the test."""
    steps = []
    before = 0
    accepting = (*looks.accept_cell, 0.0)  # nothing goes on after the last look
    for n, weight, accept in zip(looks.run_counts, looks.weights, accepting, strict=True):
        # Bonferroni over the looks: each spends its share of the level
        rejecting = find_smallest_rejecting_count(stored_failed, stored_count, n, weight * level)
        continuing = find_smallest_rejecting_count(stored_failed, stored_count, n, accept)
        # more failures than there are seeds
        never = n + 1
        steps.append(
            (
                n - before,
                never if rejecting is None else rejecting,
                never if continuing is None else continuing,
            )
        )
        before = n
    return steps


def compute_rejection_probability(steps: Sequence[tuple[int, int, int]], share: float) -> float:
    """Return the probability of rejection if each new seed fails with probability ``share``.

    Args:
        steps: for each look: the new seeds that it adds, the smallest count of failures that
            rejects, and the smallest that continues to the next look.
    """
    failures = np.ones(1)  # probability of being undecided with 0, 1, ... failures so far
    rejected = 0.0
    for added, rejecting, continuing in steps:
        failures = np.convolve(failures, scipy.stats.binom.pmf(np.arange(added + 1), added, share))
        rejected += float(failures[rejecting:].sum())
        # rejected and accepted cells take no further look
        failures[rejecting:] = 0.0
        failures[:continuing] = 0.0
    return rejected
