"""What an ``inconclusive`` verdict lacks: about how many seeds would have decided."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import scipy
from numpy.typing import NDArray

from rlregress.model.quantities import RETURNS, Quantity
from rlregress.verdicts import ceiling
from rlregress.verdicts.looks import Looks, fixed
from rlregress.verdicts.power import beyond_floor, smallest_drop
from rlregress.verdicts.rules import Rules

FloatArray = NDArray[np.float64]

#: Numbers of seeds that are tried; one that is named is rounded up to these.
_SEEDS = (5, 10, 15, 20, 25, 30, 40, 50, 60, 80, 100, 150, 200, 300, 500)
_POWER = 0.8


def _of_t_test(m: int, n: int, level: float) -> float:
    """The drop, in sd, that the one-sided t-test of m against n normal returns sees."""
    freedom = m + n - 2
    return float(
        (scipy.stats.t.isf(level, freedom) + scipy.stats.t.ppf(_POWER, freedom))
        * math.sqrt(1 / m + 1 / n)
    )


def seeds_for_cell(
    stored: FloatArray,
    looks: Looks,
    hypotheses: int,
    alpha: float,
    share: float,
    quantity: Quantity = RETURNS,
    floor: float = Rules.floor,
) -> str:
    """About how many seeds see a drop of ``share`` of the scale of one cell, in words.

    What the looks see is simulated for the seeds that there are, and scaled from there on as the
    t-test's drop is; it has to be observed beyond the floor as well. At a ceiling the failing seeds
    are counted.

    Args:
        stored: stored returns [m], m at least 2.
        looks, hypotheses, alpha: as in ``smallest_drop``.
        share: the drop that is to be detected with 80 % power.
        floor: as a share of the scale.
    """
    m, level = len(stored), alpha / hypotheses
    if ceiling.at_ceiling(stored):
        failing = np.count_nonzero(stored < stored.max()) / m

        def detects(m_: int, looks_: Looks) -> bool:
            # more than all of the seeds cannot fail
            return ceiling.detects(min(share, 1.0), round(failing * m_), m_, looks_, level, _POWER)

    else:
        sd = float(stored.std(ddof=1)) / quantity.scale(stored)
        known = smallest_drop(m, looks, hypotheses, alpha).drop
        ratio = known / _of_t_test(m, looks.most, level) if math.isfinite(known) else 1.0

        def detects(m_: int, looks_: Looks) -> bool:
            rejected = ratio * _of_t_test(m_, looks_.most, level) * sd
            return max(rejected, beyond_floor(floor, m_, looks_.most, sd)) <= share

    return _in_words(m, looks, detects, quantity.loss(share))


def seeds_for_group(
    stored: int,
    relative_sd: Sequence[float],
    looks: Looks,
    visible: float,
    share: float,
    quantity: Quantity = RETURNS,
    floor: float = Rules.floor,
) -> str:
    """About how many seeds of each cell see a common drop of ``share`` of the scale, in words.

    Args:
        stored: stored seeds of the cell that has the fewest.
        relative_sd: standard deviation over scale of each cell [k].
        visible: the common drop that is seen now.
        floor: share beyond which the mean drop has to be observed.
    """
    sd = float(np.linalg.norm(relative_sd)) / len(relative_sd)
    now = math.sqrt(1 / stored + 1 / looks.most)

    def detects(m_: int, looks_: Looks) -> bool:
        shrunk = math.sqrt(1 / m_ + 1 / looks_.most) / now
        return max(visible * shrunk, beyond_floor(floor, m_, looks_.most, sd)) <= share

    return _in_words(stored, looks, detects, quantity.common_loss(share))


def _in_words(m: int, looks: Looks, detects: Callable[[int, Looks], bool], what: str) -> str:
    stored = next((seeds for seeds in _SEEDS if seeds > m and detects(seeds, looks)), None)
    new = next((seeds for seeds in _SEEDS if seeds > looks.most and detects(m, fixed(seeds))), None)
    both = next((seeds for seeds in _SEEDS if seeds > m and detects(seeds, fixed(seeds))), None)
    ways = []
    if stored is not None:
        ways.append(f"{stored} stored seeds (now {m})")
    if new is not None:
        ways.append(f"{new} new seeds at one look")
    if both is not None and not any(count is not None and count <= both for count in (stored, new)):
        ways.append(f"{both} stored and {both} new seeds at one look")
    if not ways:
        return f"not even {_SEEDS[-1]} stored and new seeds would detect {what}"
    return f"to detect {what}: about {' or '.join(ways)}"
