"""Two published summaries against each other: what mean and spread of a few seeds allow to say.

Whether one printed mean lies inside the other's interval is no test: it takes the one mean for
exact, and what it answers depends on whose interval is asked. From two means and standard
deviations there is the two-sample t-test, exact for normal returns with one variance; returns are
not normal, and no test without that assumption can be made from two numbers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TypeVar

import scipy

from rlregress.model.cells import Band
from rlregress.model.study_answers import Difference
from rlregress.verdicts.family import holm

Name = TypeVar("Name")


def _p(first: Band, second: Band, pooled: bool) -> float:
    """Largest p-value that the rounding of the printed numbers allows; nan without spread."""
    if first.half == 0 or second.half == 0:
        return math.nan
    rounding = first.rounding + second.rounding
    effect = max(0.0, abs(first.mean - second.mean) - rounding)
    test = scipy.stats.ttest_ind_from_stats(
        effect, first.sd_high, first.seeds, 0.0, second.sd_high, second.seeds, equal_var=pooled
    )
    return float(test.pvalue)


def _adjusted(p: Mapping[Name, float]) -> dict[Name, float]:
    """Holm over what can be tested; nan for the rest."""
    tested = holm({name: value for name, value in p.items() if not math.isnan(value)})
    return {name: tested.get(name, math.nan) for name in p}


def differences(pairs: Mapping[Name, tuple[Band, Band]]) -> dict[Name, Difference]:
    """Compare the two summaries of every pair; Holm over all pairs that can be tested."""
    p = {name: _p(first, second, pooled=True) for name, (first, second) in pairs.items()}
    welch = {name: _p(first, second, pooled=False) for name, (first, second) in pairs.items()}
    adjusted, adjusted_welch = _adjusted(p), _adjusted(welch)
    compared = {}
    for name, (first, second) in pairs.items():
        effect = first.mean - second.mean
        compared[name] = Difference(
            effect=effect,
            outside=(_outside(effect, first.half), _outside(effect, second.half)),
            p=p[name],
            adjusted_p=adjusted[name],
            welch=welch[name],
            adjusted_welch=adjusted_welch[name],
        )
    return compared


def _outside(effect: float, half: float) -> bool:
    """Whether a difference lies beyond half an interval; printed decimals may tie, which is in."""
    return abs(effect) > half + 1e-9


def seeds_needed(hypotheses: int, alpha: float = 0.05) -> int:
    """Seeds of each side from which on a permutation test could reject one of that many.

    The smallest two-sided p-value of n against n is 2 / comb(2n, n).
    """
    n = 1
    while 2 / math.comb(2 * n, n) >= alpha / hypotheses:
        n += 1
    return n
