"""The power of the permutation gate: the smallest drop that it detects with 80 % power.

A drop d is subtracted from every new return. For each simulated comparison and each arrangement
there is one value of d up to which the arrangement is at least as extreme as the observed one:

    sum(arrangement) - d * k <= sum(new) - d * n  <=>  d <= (sum(new) - sum(arrangement)) / (n - k)

with k the number of new runs in the arrangement. So the smallest d at which one comparison is
rejected is an order statistic of these values, and the smallest drop detected with 80 % power is
the 0.8 quantile of it over comparisons: one matrix product and one partition, no search over d.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from rlregress.verdicts.looks import Looks
from rlregress.verdicts.permutation import (
    FEW_DRAWS,
    MORE_DRAWS,
    can_reject_at_level,
    compute_smallest_p_value,
    draw_arrangements,
    enumerate_arrangements,
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


def compute_smallest_rejected_drops(
    returns: NDArray[np.floating], new_count: int, level: float, arrangements: NDArray[np.floating]
) -> NDArray[np.float64]:
    """Return the smallest drop at which each comparison is rejected at ``level``.

    Args:
        returns: [R, m + n] before the drop, the new runs last.
        new_count: new runs.
        level: the test rejects where p < level.
        arrangements: 0/1 rows [A, m + n], the observed one among them.

    Returns:
        float64 [R]; inf where no drop is rejected.
    """
    rows = arrangements.astype(np.float32)
    # n - k of the module's formula: the new runs that an arrangement calls stored
    replaced = new_count - rows[:, -new_count:].sum(axis=1)
    # arrangements with the same new runs as the observed one are as extreme at any drop
    differing = replaced > 0
    # this many as extreme still reject; 1e-9, because rounding must not make p = level a rejection
    rejecting = math.ceil(level * len(rows) - 1e-9) - 1
    rejecting -= int(np.count_nonzero(~differing))
    if rejecting < 0:
        return np.full(len(returns), np.inf)
    # (sum(new) - sum(arrangement)) / replaced as one product
    weights = rows[differing] / -replaced[differing, None]
    weights[:, -new_count:] += 1 / replaced[differing, None]
    # float32 halves the memory, and its rounding is far below the Monte Carlo error
    bounds = returns.astype(np.float32) @ weights.T
    position = bounds.shape[1] - 1 - rejecting
    # a partition finds one order statistic without sorting the row
    bounds.partition(position, axis=1)
    return np.asarray(bounds[:, position], dtype=np.float64)


def _compute_drop_quantile(drops: NDArray[np.float64], power: float, level: float) -> SmallestDrop:
    """Return the ``power`` quantile of drops [R], its error from order statistics."""
    # the rank of the quantile has this binomial standard deviation, as a share of the drops
    ordered = np.sort(drops)
    count = len(ordered)
    sigma = math.sqrt(power * (1 - power) / count)
    low, middle, high = (
        float(ordered[min(count - 1, max(0, math.ceil(count * q) - 1))])
        for q in (power - sigma, power, min(1.0, power + sigma))
    )
    error = (high - low) / 2 if math.isfinite(high) else math.inf
    return SmallestDrop(middle, error, power, level)


# cells with equally many stored seeds share the number
@functools.lru_cache(maxsize=4096)
def estimate_smallest_drop(
    stored_count: int,
    looks: Looks,
    hypotheses: int = 1,
    alpha: float = 0.05,
    power: float = 0.8,
    repetitions: int = REPETITIONS,
    seed: int = 0,
    floor: float = 0.0,
) -> SmallestDrop:
    """Return the smallest drop that stored seeds and these looks detect, in sd of normal returns.

    At every look there is a drop from which on the comparison is rejected, and one from which on
    it is not accepted. So the smallest rejected drop of one comparison is

        min_k max(rejected_k, not accepted_1, ..., not accepted_(k-1))

    A group that keeps its cells from being accepted would add power and is left out.

    Measured here (alpha 0.05, power 0.8, Monte Carlo error at most 0.06; inf: no drop is detected):

        n = 5   H = 1     8    24    81      n = 10  H = 1     8    24    81
        m =  5   1.78  3.07   inf   inf      m =  5   1.45  2.13  2.56  3.47
        m = 10   1.47  2.10  2.57  3.45      m = 10   1.14  1.62  1.87  2.18
        m = 20   1.30  1.83  2.09  2.42      m = 20   0.99  1.38  1.56  1.77
        m = 30   1.23  1.73  1.96  2.26      m = 30   0.92  1.27  1.46  1.63

        looks at 3, 6 and 12 (the sequential gate)
        m =  5   1.73  2.05  2.40  2.96
        m = 10   1.45  1.64  1.82  2.06
        m = 20   1.36  1.43  1.54  1.71
        m = 30   1.28  1.33  1.45  1.57

    The number is that of a normal law and is multiplied by the standard deviation of the stored
    returns. Resampling the stored returns was tried on the laws of the simulations: its median
    differs by 0 to 20 %, while the standard deviation of 10 seeds, used by both, is uncertain by
    25 %. So the simpler one is used. It is also available before anything runs. For cells at a
    ceiling, which get worse by failing seeds and not by a shift, see ``ceiling``.

    Args:
        stored_count: stored seeds.
        looks: new seeds and how the level is spent over them.
        hypotheses: cells and groups judged together (Holm's first step: level alpha / H).
        alpha: family-wise level.
        power: probability with which the drop is detected.
        repetitions: simulated comparisons.
        seed: of the simulation.
        floor: the drop must also be observed beyond this, in sd. A rejected drop within the floor
            is no regression; the next look may observe it beyond.
    """
    level = alpha / hypotheses
    if not looks.could_reject_at_level(stored_count, level):
        return SmallestDrop(math.inf, 0.0, power, level)
    detectable = [
        np.maximum(rejected, floor - loss)
        for rejected, loss in simulate_smallest_drops_by_look(
            stored_count, looks, level, repetitions, (seed, hypotheses)
        )
    ]
    return _compute_drop_quantile(np.min(detectable, axis=0), power, level)


def estimate_detectable_drop(
    stored_count: int, looks: Looks, hypotheses: int, alpha: float, sd: float, floor: float
) -> float:
    """Return the smallest drop in the unit of ``sd`` and ``floor``; inf if no drop is rejected.

    Args:
        sd: standard deviation of one run; if 0, every drop beyond the floor is detected.
        floor: the drop must be observed beyond this.
    """
    if not looks.could_reject_at_level(stored_count, alpha / hypotheses):
        return math.inf
    if not sd:
        return floor
    return (
        estimate_smallest_drop(stored_count, looks, hypotheses, alpha, floor=floor / sd).drop * sd
    )


@functools.lru_cache(maxsize=1024)
def simulate_smallest_drops_by_look(
    stored_count: int, looks: Looks, level: float, repetitions: int, seed: tuple[int, int]
) -> list[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Simulate the smallest drops that R comparisons reject, look by look.

    Returns:
        For each look: the smallest drops [R] that it rejects and no earlier look accepts (inf if
        there is none), and mean(stored) - mean(new) [R] before any drop. In sd of one run.
    """
    # seeded by the sizes, so that a number does not depend on which was computed before
    rng = np.random.default_rng([seed[0], stored_count, looks.max_runs, seed[1]])
    chunks = []
    # each chunk draws new arrangements, so that an odd set does not affect all comparisons
    for start in range(0, repetitions, _CHUNK):
        returns = rng.standard_normal(
            (min(_CHUNK, repetitions - start), stored_count + looks.max_runs)
        )
        continued_from = np.full(len(returns), -np.inf)
        outcomes = []
        for look, (n, weight) in enumerate(zip(looks.run_counts, looks.weights, strict=True)):
            # Few arrangements suffice for a generous level; the gate's own number for a strict one.
            max_draws = min(MORE_DRAWS, max(FEW_DRAWS, math.ceil(5 / (weight * level))))
            draws = min(max_draws, max(2_000, math.ceil(100 / (weight * level))))
            exact = math.comb(stored_count + n, n) <= draws
            rows = (
                enumerate_arrangements(stored_count, n)
                if exact
                else draw_arrangements(stored_count, n, draws, rng)
            )
            returns_so_far = returns[:, : stored_count + n]
            rejected = np.full(len(returns), np.inf)
            if can_reject_at_level(stored_count, n, weight * level):
                rejected = np.maximum(
                    compute_smallest_rejected_drops(returns_so_far, n, weight * level, rows),
                    continued_from,
                )
            outcomes.append(
                (
                    rejected,
                    returns_so_far[:, :stored_count].mean(axis=1)
                    - returns_so_far[:, stored_count:].mean(axis=1),
                )
            )
            # a smaller drop than this is accepted here, and does not come to later looks
            if look < len(looks.accept_cell):
                undecided = compute_smallest_rejected_drops(
                    returns_so_far, n, looks.accept_cell[look], rows
                )
                continued_from = np.maximum(continued_from, undecided)
        chunks.append(outcomes)
    return [
        (
            np.concatenate([column[0] for column in columns]),
            np.concatenate([column[1] for column in columns]),
        )
        for columns in zip(*chunks, strict=True)
    ]


def compute_drop_observed_beyond_floor(
    floor: float, stored: int, new: int, sd: float, power: float = 0.8
) -> float:
    """Return the true drop whose observed value exceeds a floor with the stated power.

    Args:
        floor: in the unit of ``sd``.
        stored, new: seeds, of normal returns.
        sd: standard deviation of one run.
    """
    # the observed drop has this standard error around the true one
    return floor + float(scipy.special.ndtri(power)) * sd * math.sqrt(1 / stored + 1 / new)


@dataclass(frozen=True)
class _GroupSimulations:
    """Simulated courses of one group of cells with normal returns.

    Attributes:
        rejected: whether the group's evidence rejects [R].
        runs: new runs of each cell that were used [R, k].
    """

    rejected: NDArray[np.bool_]
    runs: NDArray[np.int64]


@dataclass(frozen=True)
class _GroupNoise:
    """Normal returns of mean 0 and sd 1 of k cells, summarised at each look.

    Attributes:
        effect: mean(stored) - mean(new), over its standard error for a known sd [K, R, k].
        spread: estimated standard deviation [K, R, k].
        stored: m of each cell [k].
    """

    effect: NDArray[np.float64]
    spread: NDArray[np.float64]
    stored: NDArray[np.int64]


def _draw_group_noise(
    stored: Sequence[int], looks: Looks, repetitions: int, rng: np.random.Generator
) -> _GroupNoise:
    effect = np.empty((len(looks.run_counts), repetitions, len(stored)))
    spread = np.empty_like(effect)
    for cell, m in enumerate(stored):
        before = rng.standard_normal((repetitions, m))
        after = rng.standard_normal((repetitions, looks.max_runs))
        for look, n in enumerate(looks.run_counts):
            new = after[:, :n]
            squares = before.var(axis=1) * m + new.var(axis=1) * n
            effect[look, :, cell] = (before.mean(axis=1) - new.mean(axis=1)) / math.sqrt(
                1 / m + 1 / n
            )
            spread[look, :, cell] = np.sqrt(squares / (m + n - 2))
    return _GroupNoise(effect, spread, np.array(stored))


def _simulate_looks_at_group(
    noise: _GroupNoise,
    relative_sd: NDArray[np.float64],
    rejectable: NDArray[np.bool_],
    drop: float,
    looks: Looks,
    level: float,
    floor: float = 0.0,
) -> _GroupSimulations:
    """Simulate the looks at a group whose cells all lose ``drop`` of their scale.

    Args:
        rejectable: whether the evidence of each cell can be predicted [k].
        floor: the mean drop must be observed beyond this.
    """
    repetitions, cells = noise.effect.shape[1:]
    # a cell without spread would divide by zero
    sds = np.maximum(relative_sd, 1e-6)
    open_cells = np.ones((repetitions, cells), dtype=bool)
    open_group = np.ones(repetitions, dtype=bool)
    keeps_cells = np.ones(repetitions, dtype=bool)  # the group keeps its cells from being accepted
    rejected = np.zeros(repetitions, dtype=bool)
    runs = np.zeros((repetitions, cells), dtype=np.int64)
    for look, (n, weight) in enumerate(zip(looks.run_counts, looks.weights, strict=True)):
        m = noise.stored
        shift = drop * np.sqrt(m * n / (m + n)) / sds
        loss = drop + (noise.effect[look] * np.sqrt(1 / m + 1 / n) * sds).mean(axis=1)
        tail = scipy.special.stdtr(m + n - 2, -(noise.effect[look] + shift) / noise.spread[look])
        # the permutation test has a smallest p-value; the mid-p value there is half of it
        best = np.array(
            [-scipy.special.ndtri(compute_smallest_p_value(int(stored), n) / 2) for stored in m]
        )
        z = np.clip(-scipy.special.ndtri(np.clip(tail, 1e-300, 1 - 1e-16)), -best, best)
        pooled = scipy.special.ndtr(-np.where(rejectable, z, 0.0).sum(axis=1) / math.sqrt(cells))
        # runs count before the verdict of this look: they are done by then
        runs[open_cells] = n
        rejected |= open_group & (pooled < weight * level) & (loss > floor)
        if look < len(looks.accept_cell):
            keeps_cells &= (pooled <= looks.accept_group[look]) | rejected
            open_group &= keeps_cells & ~rejected
            open_cells &= (tail <= looks.accept_cell[look]) | keeps_cells[:, None]
    return _GroupSimulations(rejected, runs)


def estimate_runs_if_unchanged(
    stored: Sequence[int],
    looks: Looks,
    hypotheses: int,
    alpha: float = 0.05,
    quantities: int = 1,
    repetitions: int = 2 * REPETITIONS,
    seed: int = 0,
) -> float:
    """Return the average number of new runs of one cell of a group if nothing changed.

    Returns are normal.

    Args:
        stored: stored seeds of the cells of the group; a cell without a group is a group of one.
        quantities: how many numbers of each run are judged. Each may need more runs. They are taken
            to be independent.
        looks, hypotheses, alpha, repetitions, seed: as in ``estimate_smallest_drop``.
    """
    rng = np.random.default_rng([seed, len(stored), looks.max_runs])
    runs = [
        _simulate_looks_at_group(
            _draw_group_noise(stored, looks, repetitions, rng),
            np.ones(len(stored)),
            np.ones(len(stored), dtype=bool),
            0.0,
            looks,
            alpha / hypotheses,
        ).runs
        for _ in range(quantities)
    ]
    # a run has a number of every quantity, so the one that needs most runs decides
    return float(np.max(runs, axis=0).mean())


def estimate_smallest_group_drop(
    stored: Sequence[int],
    looks: Looks,
    relative_sd: Sequence[float],
    hypotheses: int,
    alpha: float = 0.05,
    power: float = 0.8,
    repetitions: int = 2 * REPETITIONS,
    seed: int = 0,
    floor: float = 0.0,
    ceilings: Sequence[bool] = (),
) -> float:
    """Return the smallest common drop of a group, as a share, that Stouffer's z detects.

    The mid-p value of a cell is that of the pooled t-test of normal returns, cut off where the
    permutation test of that cell ends. The permutation test itself gives the same within 0.03
    (tested).

    Args:
        stored: stored seeds of the k cells.
        relative_sd: standard deviation over scale of each cell [k].
        looks, hypotheses, alpha, power, repetitions, seed: as in ``estimate_smallest_drop``.
        floor: share beyond which the mean drop has to be observed.
        ceilings: whether each cell is at a ceiling [k]. Such a cell adds no predictable evidence,
            but its noise enters the mean drop. Empty: none is.

    Returns:
        The drop as a share of each cell's scale; inf if no drop is detected.
    """
    return _search_group_drop(
        tuple(stored),
        tuple(relative_sd),
        tuple(not at_ceiling for at_ceiling in ceilings or [False] * len(stored)),
        looks,
        alpha / hypotheses,
        power,
        repetitions,
        (seed, hypotheses),
        floor,
    )


# a session computes the same groups again after each look and in its report
@functools.lru_cache(maxsize=1024)
def _search_group_drop(
    stored: tuple[int, ...],
    relative_sd: tuple[float, ...],
    rejectable: tuple[bool, ...],
    looks: Looks,
    level: float,
    power: float,
    repetitions: int,
    seed: tuple[int, int],
    floor: float,
) -> float:
    rng = np.random.default_rng([seed[0], len(stored), seed[1]])
    noise = _draw_group_noise(stored, looks, repetitions, rng)
    spreads, is_rejectable = np.array(relative_sd, dtype=np.float64), np.array(rejectable)

    def compute_detected_share(drop: float) -> float:
        # the same noise for every drop: the share then grows with it, as bisection needs
        courses = _simulate_looks_at_group(noise, spreads, is_rejectable, drop, looks, level, floor)
        return float(courses.rejected.mean())

    low, high = 0.0, 1.0
    # doubling finds an upper end; bisection then narrows it
    while compute_detected_share(high) < power:
        low, high = high, 2 * high
        # a thousand times the scale: no drop is detected
        if high > 1e3:
            return math.inf
    while high - low > 1e-3 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if compute_detected_share(middle) >= power else (middle, high)
    return high
