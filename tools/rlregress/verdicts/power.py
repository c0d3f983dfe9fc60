"""What the permutation gate can see: the smallest drop found with 80 % power.

A drop d is subtracted from every new return. For each simulated comparison and each arrangement
there is one value of d up to which the arrangement is at least as extreme as the observed one:

    sum(arrangement) - d * k <= sum(new) - d * n  <=>  d <= (sum(new) - sum(arrangement)) / (n - k)

with k the number of new runs in the arrangement. So the smallest d at which one comparison is
rejected is an order statistic of these values, and the smallest drop seen with 80 % power is the
0.8 quantile of it over comparisons: one matrix product and one partition, no search over d.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from rlregress.verdicts.permutation import (
    DRAWS,
    all_arrangements,
    could_fail,
    random_arrangements,
    smallest_p,
)

#: Simulated comparisons behind one number.
REPETITIONS = 1_000
#: Comparisons that share one set of random arrangements.
_CHUNK = 500


@dataclass(frozen=True)
class SmallestDrop:
    """The smallest drop that is rejected with the stated power.

    Attributes:
        drop: in standard deviations of the returns of one run; inf: no drop is ever rejected.
        mc_error: Monte Carlo standard error of ``drop``.
        power: probability of rejection at ``drop``.
        level: level of the single test (alpha / hypotheses: Holm's first step).
    """

    drop: float
    mc_error: float
    power: float
    level: float


def rejected_from(
    returns: NDArray[np.floating], n: int, level: float, arrangements: NDArray[np.floating]
) -> NDArray[np.float64]:
    """The drop from which on each comparison is rejected at ``level``.

    Args:
        returns: [R, m + n] before the drop, the new runs last.
        n: new runs.
        level: the test rejects where p < level.
        arrangements: 0/1 rows [A, m + n], the observed one among them.

    Returns:
        float64 [R]; inf where no drop is rejected.
    """
    rows = arrangements.astype(np.float32)
    values = returns.astype(np.float32)
    rejecting = math.ceil(level * len(rows) - 1e-9) - 1  # this many as extreme still reject
    replaced = n - rows[:, -n:].sum(axis=1)
    same = replaced == 0
    bounds = values[:, -n:].sum(axis=1, keepdims=True) - values @ rows.T
    bounds /= np.where(same, 1, replaced).astype(np.float32)
    bounds[:, same] = np.inf
    position = bounds.shape[1] - 1 - rejecting
    return np.partition(bounds, position, axis=1)[:, position].astype(np.float64)


def _quantile(drops: NDArray[np.float64], power: float, level: float) -> SmallestDrop:
    """The ``power`` quantile of drops [R], its error from the order statistics one sigma away."""
    ordered = np.sort(drops)
    count = len(ordered)
    sigma = math.sqrt(power * (1 - power) / count)
    low, middle, high = (
        float(ordered[min(count - 1, max(0, math.ceil(count * q) - 1))])
        for q in (power - sigma, power, min(1.0, power + sigma))
    )
    error = (high - low) / 2 if math.isfinite(high) else math.inf
    return SmallestDrop(middle, error, power, level)


@functools.lru_cache(maxsize=4096)
def smallest_drop(
    m: int,
    n: int,
    hypotheses: int = 1,
    alpha: float = 0.05,
    power: float = 0.8,
    repetitions: int = REPETITIONS,
    seed: int = 0,
) -> SmallestDrop:
    """The smallest drop that m stored against n new seeds show, in sd of normal returns.

    Measured here (alpha 0.05, power 0.8, Monte Carlo error at most 0.06; inf: nothing is seen):

        n = 5   H = 1     8    24    81      n = 10  H = 1     8    24    81
        m =  5   1.78  3.07   inf   inf      m =  5   1.45  2.13  2.56  3.47
        m = 10   1.47  2.10  2.57  3.45      m = 10   1.14  1.62  1.87  2.18
        m = 20   1.30  1.83  2.09  2.42      m = 20   0.99  1.38  1.56  1.77
        m = 30   1.23  1.73  1.96  2.26      m = 30   0.92  1.27  1.46  1.63

    The number belongs to a normal law and is multiplied by the standard deviation of the stored
    returns. Resampling the stored returns' own shape was tried on the laws of ``laws.py``: the
    median of its answers differs by 0 to 20 %, while the standard deviation of 10 seeds, which
    both need, is itself uncertain by 25 %. So the simple one is used, which can be told before
    anything runs. At a ceiling, where a shift is not how a cell gets worse, see ``ceiling``.

    Args:
        m: stored seeds.
        n: new seeds.
        hypotheses: cells and groups judged together (Holm's first step: level alpha / H).
        alpha: family-wise level.
        power: probability with which the drop is to be seen.
        repetitions: simulated comparisons.
        seed: of the simulation.
    """
    level = alpha / hypotheses
    if not could_fail(m, n, level):
        return SmallestDrop(math.inf, 0.0, power, level)
    rng = np.random.default_rng([seed, m, n, hypotheses])
    # Few arrangements suffice for a generous level; the gate's own number for a strict one.
    wanted = min(DRAWS, max(2_000, math.ceil(100 / level)))
    exact = math.comb(m + n, n) <= wanted
    drops = []
    for start in range(0, repetitions, _CHUNK):
        rows = all_arrangements(m, n) if exact else random_arrangements(m, n, wanted, rng)
        returns = rng.standard_normal((min(_CHUNK, repetitions - start), m + n))
        drops.append(rejected_from(returns, n, level, rows))
    return _quantile(np.concatenate(drops), power, level)


def smallest_group_drop(
    seeds: Sequence[tuple[int, int]],
    relative_sd: Sequence[float],
    hypotheses: int,
    alpha: float = 0.05,
    power: float = 0.8,
    repetitions: int = 2 * REPETITIONS,
    seed: int = 0,
) -> float:
    """The drop, the same share in every cell of a group, that Stouffer's z sees.

    The mid-p value of a cell is that of the pooled t-test of normal returns, cut off where the
    permutation test of that cell ends. The permutation test itself gives the same within 0.03
    (tested).

    Args:
        seeds: (stored, new) seeds of the k cells.
        relative_sd: standard deviation over scale of each cell [k]; nan for a cell that adds no
            evidence that can be foretold (a ceiling).
        hypotheses, alpha, power, repetitions, seed: as in ``smallest_drop``.

    Returns:
        The drop as a share of each cell's scale; inf where no drop is seen.
    """
    rng = np.random.default_rng([seed, len(seeds), hypotheses])
    needed = -scipy.special.ndtri(alpha / hypotheses) * math.sqrt(len(seeds))
    cells = []
    for (m, n), spread in zip(seeds, relative_sd, strict=True):
        noise = rng.standard_normal(repetitions)
        root = np.sqrt(rng.chisquare(m + n - 2, repetitions) / (m + n - 2))
        if math.isfinite(spread):
            best = -scipy.special.ndtri(smallest_p(m, n) / 2)
            shift = math.sqrt(m * n / (m + n)) / max(spread, 1e-6)
            cells.append((noise, root, shift, float(best), m + n - 2))

    def share_seen(drop: float) -> float:
        z = np.zeros(repetitions)
        for noise, root, shift, best, freedom in cells:
            tail = scipy.special.stdtr(freedom, -(noise + drop * shift) / root)
            z += np.clip(-scipy.special.ndtri(np.clip(tail, 1e-300, 1 - 1e-16)), -best, best)
        return float(np.mean(z > needed))

    low, high = 0.0, 1.0
    while share_seen(high) < power:
        low, high = high, 2 * high
        if high > 1e3:
            return math.inf
    while high - low > 1e-3 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if share_seen(middle) >= power else (middle, high)
    return high
