"""The answers to the three questions of the thesis, and their tests.

Janssens 2025, "How Stable are Baselines", section 1; see ``thesis_questions.py``. It is not a test
of two published summaries whether one mean lies inside the other's interval: one mean is taken for
exact, and the answer depends on the chosen interval. Two means and standard deviations allow the
two-sample t-test, which is exact for normal returns with one variance. Returns are not normal, but
no test without that assumption is possible from two numbers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

import scipy

from rlregress.model.cells import Band, BandVerdict
from rlregress.verdicts.family import adjust_by_holm_with_names
from rlregress_studies.rank.ranking_result import Ranking

#: level of each family
ALPHA = 0.05
#: each framework with its own hyperparameter set
OWN = "own"
WORSE, SIMILAR, BETTER = "worse", "similar", "better"
SAME, OPPOSITE, OPEN = "same", "opposite", "open"


@dataclass(frozen=True, kw_only=True)
class Difference:
    """The test of two summaries against each other.

    Attributes:
        effect: mean of the first minus mean of the second.
        outside: whether the second mean lies outside of the first one's printed interval, and the
            first mean outside of the second one's.
        p, adjusted_p: two-sided p-value with pooled variances, before and after Holm.
        welch, adjusted_welch: the same without the assumption of one variance. All four are nan if
            a summary has no spread, because there is no test then.
    """

    effect: float
    outside: tuple[bool, bool]
    p: float
    adjusted_p: float
    welch: float
    adjusted_welch: float

    @property
    def is_tested(self) -> bool:
        """Return whether both summaries have a spread."""
        return not math.isnan(self.p)

    def get_sign(self, alpha: float) -> int:
        """Return +1 or -1 if the difference is rejected in its family at ``alpha``, otherwise 0."""
        if not self.adjusted_p < alpha:
            return 0
        return 1 if self.effect > 0 else -1


@dataclass(frozen=True, kw_only=True)
class Reproduction:
    """One implementation against the paper of its algorithm.

    Attributes:
        difference: implementation minus original.
        interval: worse, similar or better, by the printed interval of the implementation.
        failed: number of failed stored runs; each counts as the environment's worst return.
    """

    framework: str
    algorithm: str
    environment: str
    mean: float
    original: float
    interval: str
    difference: Difference
    failed: int = 0

    @property
    def verdict(self) -> str:
        """Worse, similar or better, after Holm; similar means: not rejected."""
        return {-1: WORSE, 0: SIMILAR, 1: BETTER}[self.difference.get_sign(ALPHA)]


@dataclass(frozen=True, kw_only=True)
class PairOfFrameworks:
    """Two frameworks, one algorithm, environment and hyperparameter set."""

    algorithm: str
    environment: str
    hyperparameters: str
    first: str
    second: str
    difference: Difference


@dataclass(frozen=True, kw_only=True)
class Order:
    """The algorithms on one environment under one hyperparameter set.

    Attributes:
        hyperparameters: a set, or ``own``: each framework with its own set.
        orders: framework -> algorithms by falling mean.
        pairs: pair of algorithms -> ``same`` if every framework separates them, all in one
            direction; ``opposite`` if two frameworks separate them in different directions;
            otherwise ``open``.
    """

    environment: str
    hyperparameters: str
    orders: Mapping[str, tuple[str, ...]]
    pairs: Mapping[tuple[str, str], str]

    @property
    def agrees(self) -> bool:
        """Return whether the means have the same order in all frameworks."""
        return len(set(self.orders.values())) == 1


@dataclass(frozen=True, kw_only=True)
class StoredAnswer:
    """The answer of stored runs to one question.

    Attributes:
        ranking: None if there is nothing to compare.
        reason: why there is no ranking, or what was left out.
    """

    ranking: Ranking | None
    reason: str


@dataclass(frozen=True, kw_only=True)
class StoredCell:
    """Stored runs of one cell, compared with a published table.

    Attributes:
        cell: id of the cell.
        returns: final returns; a failed run counts as the environment's worst return.
        band: the published band.
        verdict: None with fewer than two runs.
        failed: number of failed runs.
    """

    cell: str
    returns: tuple[float, ...]
    band: Band
    verdict: BandVerdict | None
    failed: int


@dataclass(frozen=True, kw_only=True)
class Study:
    """The answers to all questions.

    Attributes:
        without_originals: algorithms whose papers printed no numbers for these environments.
        tested_order: number of pairs of algorithms within a framework tested for ``orders``.
        stored_reproduction: comparison of stored runs that are long enough.
        stored_frameworks: comparison of frameworks by stored runs.
        stored_order: comparison of algorithms within each framework by stored runs.
        stored_pairs: environment, hyperparameter set and budget -> pairs of algorithms, as in
            ``Order``.
        stored_cells: stored runs compared with the published table of their budget.
        published_cells: number of cells in that table.
        seeds: seeds of every published cell.
        visible: difference of two published cells, in standard deviations of one run's return, that
            is detected with 80 % power among all tested pairs if returns are normal.
        needed: seeds of each side without which nothing can be rejected if they are not normal.
    """

    reproduction: tuple[Reproduction, ...]
    without_originals: tuple[str, ...]
    frameworks: tuple[PairOfFrameworks, ...]
    orders: tuple[Order, ...]
    tested_order: int
    stored_reproduction: tuple[Reproduction, ...]
    stored_frameworks: StoredAnswer
    stored_order: StoredAnswer
    stored_pairs: Mapping[str, Mapping[tuple[str, str], str]]
    stored_cells: tuple[StoredCell, ...]
    published_cells: int
    seeds: int
    visible: float
    needed: int


Name = TypeVar("Name")


def _compute_largest_p_value(first: Band, second: Band, pooled: bool) -> float:
    """Return the largest p-value that the rounding of the numbers allows; nan without spread."""
    if first.half == 0 or second.half == 0:
        return math.nan
    rounding = first.rounding + second.rounding
    effect = max(0.0, abs(first.mean - second.mean) - rounding)
    test = scipy.stats.ttest_ind_from_stats(
        effect, first.sd_high, first.seeds, 0.0, second.sd_high, second.seeds, equal_var=pooled
    )
    return float(test.pvalue)


def _adjust_p_values(p: Mapping[Name, float]) -> dict[Name, float]:
    """Return Holm's p-values of all that can be tested; nan for the rest."""
    tested = adjust_by_holm_with_names(
        {name: value for name, value in p.items() if not math.isnan(value)}
    )
    return {name: tested.get(name, math.nan) for name in p}


def compare_pairs_of_bands(pairs: Mapping[Name, tuple[Band, Band]]) -> dict[Name, Difference]:
    """Compare the two summaries of every pair; Holm over all pairs that can be tested."""
    p = {
        name: _compute_largest_p_value(first, second, pooled=True)
        for name, (first, second) in pairs.items()
    }
    welch = {
        name: _compute_largest_p_value(first, second, pooled=False)
        for name, (first, second) in pairs.items()
    }
    adjusted, adjusted_welch = _adjust_p_values(p), _adjust_p_values(welch)
    compared = {}
    for name, (first, second) in pairs.items():
        effect = first.mean - second.mean
        compared[name] = Difference(
            effect=effect,
            outside=(_exceeds_interval(effect, first.half), _exceeds_interval(effect, second.half)),
            p=p[name],
            adjusted_p=adjusted[name],
            welch=welch[name],
            adjusted_welch=adjusted_welch[name],
        )
    return compared


def _exceeds_interval(effect: float, half: float) -> bool:
    """Return whether a difference exceeds half an interval; ties of printed decimals do not."""
    return abs(effect) > half + 1e-9


def count_needed_seeds(hypotheses: int, alpha: float = 0.05) -> int:
    """Return the seeds of each side with which a permutation test could reject one of many.

    The smallest two-sided p-value of n against n is 2 / comb(2n, n).
    """
    n = 1
    while 2 / math.comb(2 * n, n) >= alpha / hypotheses:
        n += 1
    return n
