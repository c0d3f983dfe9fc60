"""AdaStop: pairs of implementations, compared with as few runs as the decision needs.

A sample is the runs of one implementation, in the order of their seeds. There are looks after n,
2n, ..., Kn runs. The statistic of a pair is the absolute difference of the two sums of returns so
far (Mathieu et al. 2023, "AdaStop", equation 1), here over the standard deviation of these returns.
If two samples have one law, every other arrangement of the runs of a block (n against n) is equally
likely. The boundary of a look is the quantile of the largest statistic of all undecided pairs over
such arrangements (equation 2). The pair with the largest statistic is separated if it is above, and
the boundary is computed again without it (step-down, appendix F.2). Of the error alpha, k alpha / K
may be spent after look k.

The paper does not divide by the standard deviation. An arrangement does not change the set of
returns of a pair, so for two samples the decisions are the same. For several samples or
environments, the division keeps pairs with large or variable returns from raising the boundary of
the others.

One set of arrangements serves all pairs. A block has 2n places, those of the first sample before
those of the second. The same n places are drawn for the first sample of every pair.

The probability of separating one or more pairs of equal laws is at most alpha for two samples, and
for pairs without a common sample. It is not exact if pairs share samples. In the pairs 1-2 and 2-3,
for example, sample 2 is once the second and once the first, and common places do not preserve how
the two statistics depend on each other. Its tests simulate the resulting error.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rlregress.errors import UserError
from rlregress.verdicts.permutation import TIE, draw_arrangements, enumerate_arrangements

FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.intp]
BoolArray = NDArray[np.bool_]

#: decisions about the first of two implementations
GREATER, SMALLER = "greater", "smaller"
NOT_SEPARATED, UNDECIDED = "not separated", "undecided"

#: with more looks, counting arrangements takes long, and a look gets no part of the error
_MOST_LOOKS = 1000


@dataclass(frozen=True, kw_only=True)
class AdastopPlan:
    """Settings that are fixed before the first run.

    Attributes:
        runs: n, new runs of every sample at each look.
        looks: K, looks at most.
        alpha: probability of separating one or more pairs of equal laws.
        beta: probability of accepting a pair before the last look, over all looks; 0: never
            (appendix G). A pair that is accepted early is ``not separated``.
        draws: number of drawn arrangements; if there are fewer, all are used.
        seed: seed of the drawn arrangements.

    Raises:
        UserError: a number is invalid, or the plan could not separate any pair.
    """

    runs: int = 5
    looks: int = 5
    alpha: float = 0.05
    beta: float = 0.0
    draws: int = 10_000
    seed: int = 0

    def __post_init__(self) -> None:
        if self.runs < 1 or self.looks < 1 or self.draws < 1:
            raise UserError(
                f"found {self.looks} looks of {self.runs} runs with {self.draws} arrangements, "
                "expected each number to be at least 1"
            )
        if self.looks > _MOST_LOOKS:
            raise UserError(
                f"{self.looks} looks are too many: expected {_MOST_LOOKS} at most, each of which "
                "needs new runs of every implementation; plan fewer with --looks"
            )
        if not (0 < self.alpha < 1 and 0 <= self.beta < 1):
            raise UserError(
                f"found alpha {self.alpha:g} and beta {self.beta:g}, expected alpha between 0 and "
                "1, and beta from 0 to below 1"
            )
        if (smallest := max(self.smallest_share, 1 / self.draws)) > self.alpha:
            raise UserError(
                f"{self.looks} x {self.runs} runs of each implementation cannot separate any two "
                f"at alpha {self.alpha:g}: even the clearest difference comes up by chance with "
                f"probability {smallest:.2g}; plan more runs"
            )

    @property
    def arrangements(self) -> int:
        """Number of used arrangements: all of them, or ``draws``."""
        return min(math.comb(2 * self.runs, self.runs) ** self.looks, self.draws)

    @property
    def smallest_share(self) -> float:
        """Share of all arrangements that tie with the clearest difference: it and its mirror."""
        return float(Fraction(2, math.comb(2 * self.runs, self.runs) ** self.looks))


@dataclass(frozen=True)
class SamplePair:
    """The decision about two samples.

    Attributes:
        first, second: their indices.
        decision: decision about the first: greater, smaller, not separated or undecided.
        look: the deciding look, from 1; 0 while it is undecided.
    """

    first: int
    second: int
    decision: str
    look: int


@dataclass(frozen=True)
class Look:
    """One look with its last boundaries and statistics.

    Attributes:
        lower, upper: the last boundaries, in sums of returns over the standard deviation of a
            pair's returns. A pair below ``lower`` is accepted; -inf: none is.
        statistics: pair -> its statistic, for pairs that were undecided before.
    """

    lower: float
    upper: float
    statistics: dict[tuple[int, int], float]


@dataclass(frozen=True)
class Comparison:
    """All pairs, in the requested order, and the looks that were possible."""

    pairs: tuple[SamplePair, ...]
    looks: tuple[Look, ...]


def _draw_arrangements(plan: AdastopPlan) -> Iterator[tuple[FloatArray, IndexArray]]:
    """Yield for each look the deals of a block as signs [deals, 2 runs] and the arrangements.

    An arrangement has one row of the first array at every look. These are all arrangements if there
    are at most ``plan.draws``, otherwise drawn ones and the observed one.
    """
    n = plan.runs
    deals = math.comb(2 * n, n)
    rng = np.random.default_rng(plan.seed)
    if plan.arrangements == deals**plan.looks:
        all_deals = 1.0 - 2.0 * enumerate_arrangements(n, n)
        yield from (
            (all_deals, deals_of_look)
            for deals_of_look in np.indices((deals,) * plan.looks).reshape(plan.looks, -1)
        )
    elif deals <= 2 * plan.draws:
        # drawing from a list is ten times as fast as drawing the places
        all_deals = 1.0 - 2.0 * enumerate_arrangements(n, n)
        for _ in range(plan.looks):
            indices = rng.integers(deals, size=plan.draws)
            indices[0] = deals - 1  # the last n of 2n runs are those of the second sample
            yield all_deals, indices
    else:
        draw_rows = np.arange(plan.draws)
        for _ in range(plan.looks):
            yield 1.0 - 2.0 * draw_arrangements(n, n, plan.draws - 1, rng), draw_rows


def _compute_pooled_spreads(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return the standard deviation of two rows [pairs, runs] together; 1 if all are equal."""
    stacked = np.concatenate([first, second], axis=1)
    return np.where(np.ptp(stacked, axis=1) > 0, stacked.std(axis=1), 1.0)


class _Envelope:
    """The largest (or smallest) statistic of each arrangement over the remaining pairs.

    Args:
        table: statistics [arrangements, pairs].
        reduction: ``np.maximum``, or ``np.minimum``.
    """

    def __init__(self, table: FloatArray, reduction: np.ufunc) -> None:
        self._table, self._reduction = table.copy(), reduction
        self._never = -math.inf if reduction is np.maximum else math.inf
        self.values: FloatArray = reduction.reduce(table, axis=1)

    def drop_pair(self, pair: int) -> None:
        """Remove a pair by its column in the table."""
        affected = np.flatnonzero(self._table[:, pair] == self.values)
        self._table[:, pair] = self._never
        # only rows whose extreme was in this pair; with many pairs they are few
        self.values[affected] = self._reduction.reduce(self._table[affected], axis=1)


def _decide_pairs(
    table: FloatArray,
    observed: FloatArray,
    tie: FloatArray,
    is_active: tuple[BoolArray, BoolArray],
    allowed: Sequence[int],
    on_decided: Callable[[], object],
) -> tuple[dict[int, bool], list[int], float, float]:
    """Separate or accept one pair after another, at boundaries of the remaining pairs.

    Args:
        table: statistics [arrangements, pairs] of the undecided pairs.
        observed, tie: observed statistics of these pairs, and their tolerances [pairs]. A statistic
            within its tolerance of a boundary is not beyond it.
        is_active: arrangements in which no earlier look has rejected a pair, or accepted one.
        allowed: how many of these may be beyond the upper boundary, and beyond the lower one.
        on_decided: called after each pair.

    Returns:
        Column of a decided pair -> whether it is separated; the pairs of the last boundaries; the
        lower and the upper boundary.
    """
    decided: dict[int, bool] = {}
    remaining_count = len(observed)
    largest = _Envelope(table, np.maximum)
    smallest = _Envelope(table, np.minimum) if allowed[1] > 0 else None
    from_top = iter(np.argsort(tie - observed, kind="stable").tolist())
    from_bottom = iter(np.argsort(observed + tie, kind="stable").tolist())
    top, bottom = next(from_top), next(from_bottom)
    while True:
        within = largest.values[is_active[0]]
        upper = float(np.partition(within, -1 - allowed[0])[-1 - allowed[0]])
        lower = -math.inf
        if smallest is not None:
            within = smallest.values[is_active[1]]
            lower = float(np.partition(within, allowed[1])[allowed[1]])
        if observed[top] - tie[top] > upper:
            pair, decided[top] = top, True
        elif observed[bottom] + tie[bottom] < lower:
            pair, decided[bottom] = bottom, False
        else:
            break
        on_decided()
        if remaining_count == 1:
            return decided, [pair], lower, upper
        remaining_count -= 1
        largest.drop_pair(pair)
        if smallest is not None:
            smallest.drop_pair(pair)
        while top in decided:
            top = next(from_top)
        while bottom in decided:
            bottom = next(from_bottom)
    return decided, [index for index in range(len(observed)) if index not in decided], lower, upper


def compare_samples(
    samples: Sequence[ArrayLike],
    pairs: Sequence[tuple[int, int]],
    plan: AdastopPlan,
    on_decided: Callable[[], object] = lambda: None,
) -> Comparison:
    """Decide pairs of samples, look by look, as far as there are runs.

    The comparison stops before the first look at which an undecided pair lacks runs; such pairs are
    then ``undecided``. After the last look they are ``not separated``. Later runs do not change
    decisions.

    Args:
        samples: returns [runs] of each sample, in the order of their seeds; of any lengths.
        pairs: indices of the compared samples.
        plan: looks, errors and arrangements.
        on_decided: called after each decided pair.

    Raises:
        UserError: a return that is not finite.
    """
    values = [np.asarray(sample, dtype=np.float64) for sample in samples]
    if not all(np.isfinite(sample).all() for sample in values):
        raise UserError("a return is not a finite number: failed runs must be replaced first")
    n, count = plan.runs, len(values)
    first, second = (np.array([pair[side] for pair in pairs], dtype=np.intp) for side in (0, 1))
    decided: dict[int, tuple[str, int]] = {}
    looks: list[Look] = []
    so_far = np.zeros((count, plan.looks * n))
    most = np.zeros(count)  # the largest magnitude that a sum of runs could have
    # contribution of each sample to the difference of sums in each arrangement, as first and second
    as_first, as_second = np.zeros((2, count, plan.arrangements))
    # arrangements in which no earlier look has rejected a pair, and in which none accepted one
    below = np.ones(plan.arrangements, dtype=bool)
    above = np.ones(plan.arrangements, dtype=bool)
    for look, (signs, arranged) in enumerate(_draw_arrangements(plan), start=1):
        undecided = [index for index in range(len(pairs)) if index not in decided]
        needed = {int(side[index]) for index in undecided for side in (first, second)}
        if not undecided or any(len(values[sample]) < look * n for sample in needed):
            break
        block = so_far[:, (look - 1) * n : look * n]
        for sample in needed:
            block[sample] = values[sample][(look - 1) * n : look * n]
        most += n * np.abs(block).max(axis=1)
        for part, dealt in ((as_first, signs[:, :n]), (as_second, signs[:, n:])):
            # einsum, because threads of BLAS wait for each other longer than this takes
            part += np.take(np.einsum("sr,dr->sd", block, dealt), arranged, axis=1)
        own = so_far[:, : look * n]
        sums = own.sum(axis=1)
        unit = _compute_pooled_spreads(own[first], own[second])
        # from the samples of the pair only: the size of other returns does not affect its rounding
        tie = TIE * (most[first] + most[second]) / unit
        observed = np.abs(sums[first] - sums[second]) / unit
        statistics = {(int(first[i]), int(second[i])): float(observed[i]) for i in undecided}
        allowed = [
            math.floor(level * look / plan.looks * plan.arrangements + TIE) - int((~inside).sum())
            for level, inside in ((plan.alpha, below), (plan.beta, above))
        ]
        rows = as_first[first[undecided]] + as_second[second[undecided]]
        table = np.ascontiguousarray(np.abs(rows, out=rows).T)
        table /= unit[undecided]
        separated, is_undecided, lower, upper = _decide_pairs(
            table, observed[undecided], tie[undecided], (below, above), allowed, on_decided
        )
        for place, by_more in separated.items():
            index = undecided[place]
            greater = sums[first[index]] > sums[second[index]]
            decision = (GREATER if greater else SMALLER) if by_more else NOT_SEPARATED
            decided[index] = decision, look
        table, ties = table[:, is_undecided], tie[undecided][is_undecided]
        if plan.beta:
            above &= (table + ties).min(axis=1) >= lower
        below &= (table - ties).max(axis=1) <= upper
        looks.append(Look(lower, upper, statistics))
    last = (NOT_SEPARATED, plan.looks) if len(looks) == plan.looks else (UNDECIDED, 0)
    return Comparison(
        tuple(
            SamplePair(int(first[index]), int(second[index]), *decided.get(index, last))
            for index in range(len(pairs))
        ),
        tuple(looks),
    )
