"""Estimates of how many seeds would have decided an ``inconclusive`` verdict."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import scipy
from numpy.typing import NDArray

from rlregress.model.quantities import RETURNS, Quantity
from rlregress.verdicts import ceiling
from rlregress.verdicts.looks import Looks, make_single_look
from rlregress.verdicts.power import compute_drop_observed_beyond_floor, estimate_smallest_drop
from rlregress.verdicts.rules import Rules

FloatArray = NDArray[np.float64]

#: Numbers of seeds that are tried. A suggestion is rounded up to one of these.
_SEEDS = (5, 10, 15, 20, 25, 30, 40, 50, 60, 80, 100, 150, 200, 300, 500)
_POWER = 0.8


def compute_drop_detected_by_t_test(m: int, n: int, level: float) -> float:
    """Return the drop, in sd, that the one-sided t-test of m against n normal returns detects."""
    freedom = m + n - 2
    return float(
        (scipy.stats.t.isf(level, freedom) + scipy.stats.t.ppf(_POWER, freedom))
        * math.sqrt(1 / m + 1 / n)
    )


def suggest_seeds_of_cell(
    stored: FloatArray,
    looks: Looks,
    hypotheses: int,
    alpha: float,
    share: float,
    quantity: Quantity = RETURNS,
    floor: float = Rules.floor,
) -> str:
    """Say about how many seeds a cell needs so that a drop of ``share`` of its scale is detected.

    The drop that the looks detect is simulated for the present seeds. For more seeds it is scaled
    like the drop of the t-test. It must also be observed beyond the floor. At a ceiling the
    failing seeds are counted.

    Args:
        stored: stored returns [m], m at least 2.
        looks, hypotheses, alpha: as in ``estimate_smallest_drop``.
        share: the drop that is to be detected with 80 % power.
        floor: as a share of the scale.
    """
    m, level = len(stored), alpha / hypotheses
    if ceiling.are_returns_at_ceiling(stored):
        # more stored seeds are expected to fail as often as those here
        failing = np.count_nonzero(stored < stored.max()) / m

        def is_drop_detected(m_: int, looks_: Looks) -> bool:
            # at most all seeds can fail
            return ceiling.is_collapse_detected(
                min(share, 1.0), round(failing * m_), m_, looks_, level, _POWER
            )

    else:
        sd = float(stored.std(ddof=1)) / quantity.compute_scale(stored)
        # simulating every number of seeds would take minutes: the t-test carries one simulated
        # drop to the others, or stands alone where the present seeds detect no drop
        detected_drop = estimate_smallest_drop(m, looks, hypotheses, alpha).drop
        ratio = (
            detected_drop / compute_drop_detected_by_t_test(m, looks.max_runs, level)
            if math.isfinite(detected_drop)
            else 1.0
        )

        def is_drop_detected(m_: int, looks_: Looks) -> bool:
            rejected = ratio * compute_drop_detected_by_t_test(m_, looks_.max_runs, level) * sd
            return (
                max(rejected, compute_drop_observed_beyond_floor(floor, m_, looks_.max_runs, sd))
                <= share
            )

    return _describe_needed_seeds(m, looks, is_drop_detected, quantity.describe_loss(share))


def suggest_seeds_of_group(
    stored: int,
    relative_sd: Sequence[float],
    looks: Looks,
    visible: float,
    share: float,
    quantity: Quantity = RETURNS,
    floor: float = Rules.floor,
) -> str:
    """Say how many seeds each cell of a group needs so that a common drop ``share`` is detected.

    Args:
        stored: stored seeds of the cell that has the fewest.
        relative_sd: standard deviation over scale of each cell [k].
        visible: the common drop that is detected now.
        floor: share beyond which the mean drop has to be observed.
    """
    # of the mean over the cells, whose runs are independent
    sd = float(np.linalg.norm(relative_sd)) / len(relative_sd)
    error_now = math.sqrt(1 / stored + 1 / looks.max_runs)

    def is_drop_detected(m_: int, looks_: Looks) -> bool:
        # a drop that is detected shrinks like the standard error of the difference of means
        shrunk = math.sqrt(1 / m_ + 1 / looks_.max_runs) / error_now
        return (
            max(
                visible * shrunk, compute_drop_observed_beyond_floor(floor, m_, looks_.max_runs, sd)
            )
            <= share
        )

    return _describe_needed_seeds(
        stored, looks, is_drop_detected, quantity.describe_common_loss(share)
    )


def _describe_needed_seeds(
    stored_count: int, looks: Looks, detects: Callable[[int, Looks], bool], loss: str
) -> str:
    stored = next(
        (seeds for seeds in _SEEDS if seeds > stored_count and detects(seeds, looks)), None
    )
    new = next(
        (
            seeds
            for seeds in _SEEDS
            if seeds > looks.max_runs and detects(stored_count, make_single_look(seeds))
        ),
        None,
    )
    both = next(
        (
            seeds
            for seeds in _SEEDS
            if seeds > stored_count and detects(seeds, make_single_look(seeds))
        ),
        None,
    )
    suggestions = []
    if stored is not None:
        suggestions.append(f"{stored} stored seeds (now {stored_count})")
    if new is not None:
        suggestions.append(f"{new} new seeds at one look")
    # more seeds of both kinds are no suggestion where as many of one kind suffice
    if both is not None and not any(count is not None and count <= both for count in (stored, new)):
        suggestions.append(f"{both} stored and {both} new seeds at one look")
    if not suggestions:
        return f"not even {_SEEDS[-1]} stored and new seeds would detect {loss}"
    return f"to detect {loss}: about {' or '.join(suggestions)}"
