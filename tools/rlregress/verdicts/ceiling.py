"""Cells at a ceiling: most seeds reach the same best return, some fail.

There the spread of the stored runs says nothing about the drop that can be seen (it is 0 when all
reached the ceiling). What is counted is the seeds that fail to reach it. With no stored failure,
the permutation test of the means and Fisher's exact test of the counts give the same p-value.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy
from numpy.typing import ArrayLike

from rlregress.verdicts.looks import Looks


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
    failed = np.arange(n + 1)
    # Fisher's p-value of each count at once
    p = scipy.stats.hypergeom.sf(failed - 1, m + n, failed + stored_failed, n)
    rejecting = np.flatnonzero(p < level)
    return int(rejecting[0]) if len(rejecting) else None


def detected_share(
    stored_failed: int, m: int, looks: Looks, level: float, power: float = 0.8
) -> float | None:
    """The share of failing seeds from which on a collapse is seen with ``power``.

    Half of the seeds collapsing takes 10 stored and 10 new seeds, for one cell at 0.05.

    Args:
        stored_failed: stored seeds below the ceiling.
        m: stored seeds.
        looks: new seeds and how the level is spent over them.
        level: level of the single test.
        power: probability of rejection.

    Returns:
        A share in (0, 1], or None where no collapse is seen.
    """
    steps = _steps(stored_failed, m, looks, level)
    if _power_at(steps, 1.0) < power:
        return None
    low, high = 0.0, 1.0
    while high - low > 1e-6:
        middle = (low + high) / 2
        low, high = (low, middle) if _power_at(steps, middle) >= power else (middle, high)
    return high


def detects(
    share: float, stored_failed: int, m: int, looks: Looks, level: float, power: float = 0.8
) -> bool:
    """Whether a collapse of this share of the seeds is seen; all else as in ``detected_share``."""
    return _power_at(_steps(stored_failed, m, looks, level), share) >= power


def _steps(stored_failed: int, m: int, looks: Looks, level: float) -> list[tuple[int, int, int]]:
    """Of each look, what ``_power_at`` asks for."""
    steps = []
    before = 0
    accepting = (*looks.accept_cell, 0.0)  # nothing goes on after the last look
    for n, weight, accept in zip(looks.seeds, looks.weights, accepting, strict=True):
        rejecting = failures_needed(stored_failed, m, n, weight * level)
        going_on = failures_needed(stored_failed, m, n, accept)
        never = n + 1
        steps.append(
            (
                n - before,
                never if rejecting is None else rejecting,
                never if going_on is None else going_on,
            )
        )
        before = n
    return steps


def _power_at(steps: Sequence[tuple[int, int, int]], share: float) -> float:
    """The probability of rejection where each new seed fails with probability ``share``.

    Args:
        steps: of each look the new seeds that it adds, the failures in all from which on it
            rejects, and those from which on it goes on.
    """
    failures = np.ones(1)  # of being undecided with 0, 1, ... failures in all
    rejected = 0.0
    for added, rejecting, going_on in steps:
        failures = np.convolve(failures, scipy.stats.binom.pmf(np.arange(added + 1), added, share))
        rejected += float(failures[rejecting:].sum())
        failures[rejecting:] = 0.0
        failures[:going_on] = 0.0
    return rejected
