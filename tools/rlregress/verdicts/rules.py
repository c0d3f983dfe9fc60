"""The rules that turn p-values, effect and power into one of the four verdicts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rlregress.model.quantities import CRITIC, RETURNS, Quantity
from rlregress.model.verdict import IMPROVED, MOVED, REGRESSED
from rlregress.verdicts import ceiling
from rlregress.verdicts.looks import Looks
from rlregress.verdicts.power import estimate_detectable_drop

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Rules:
    """The settings of a verdict.

    Attributes:
        alpha: probability of one or more false ``regressed`` in the session, if nothing changed.
        floor: a rejected difference below this share of the scale is no regression.
        must_detect: ``holds`` needs a smallest detected drop of at most this share of the scale.
        min_stored: stored seeds that a baseline needs for ``holds``.
        max_failed_share: above this share of failed new runs a cell cannot hold.
        confidence: nominal coverage of the confidence intervals.
        seed: of the Monte Carlo arrangements, together with the returns themselves.
    """

    alpha: float = 0.05
    floor: float = 0.05
    must_detect: float = 0.5
    min_stored: int = 5
    max_failed_share: float = 0.2
    confidence: float = 0.95
    seed: int = 0


@dataclass(frozen=True)
class CellSample:
    """The runs of one cell, by their returns or by another quantity.

    Attributes:
        stored: final returns of the stored runs [m].
        new: final returns of the new runs that finished [n - failed]; in the order of their seeds
            where there are several looks.
        failed: new runs that crashed. Values in ``stored`` and ``new`` that are not finite are
            failed runs as well.
        group: name of the (framework, algorithm) group, "" for none.
        worst: the environment's worst recorded return, which a failed run counts as (or the worst
            return of this cell, if that is lower); needed only where a run failed.
        quantity: the kind of number. For other quantities than returns, a value that is not finite
            means that the run has none. It counts as the mean of the others, which is no evidence.
    """

    stored: Sequence[float] | FloatArray
    new: Sequence[float] | FloatArray
    failed: int = 0
    group: str = ""
    worst: float | None = None
    quantity: Quantity = RETURNS


def compute_detectable_drop_of_cell(
    stored: FloatArray,
    looks: Looks,
    hypotheses: int,
    alpha: float,
    quantity: Quantity = RETURNS,
    floor: float = Rules.floor,
) -> float | None:
    """Return the smallest drop or change of one cell that is detected with 80 % power, in returns.

    The drop is rejected and observed beyond the floor. None if there is none.

    Args:
        hypotheses, alpha: number of hypotheses about the quantity, and its share of the error.
        floor: as a share of the scale.
    """
    m = len(stored)
    if not looks.could_reject_at_level(m, alpha / hypotheses):
        return None
    sd = float(stored.std(ddof=1))
    drop = estimate_detectable_drop(
        m, looks, hypotheses, alpha, sd, floor * quantity.compute_scale(stored)
    )
    if ceiling.are_returns_at_ceiling(stored):
        below = int(np.count_nonzero(stored < stored.max()))
        share = ceiling.find_smallest_detected_failing_share(below, m, looks, alpha / hypotheses)
        if share is None:
            return None
        # Failing seeds are taken to lose everything: a cell at its ceiling gets worse that way.
        drop = max(drop, share * quantity.compute_scale(stored))
    # a drop that the returns cannot have is none that would be detected
    return drop if math.isfinite(drop) and drop <= quantity.compute_largest_loss(stored) else None


def classify_rejected_change(
    fraction: float,
    p: tuple[float, float, float, float],
    rules: Rules,
    quantity: Quantity = RETURNS,
) -> tuple[str, str]:
    """Return a verdict ("" if no change is rejected beyond the floor) and a sentence.

    Args:
        fraction: the effect as a share of the scale.
        p: p-values of drop and gain, then Holm's of both; nan where there was no test.
    """
    drop_rejected, gain_rejected = p[2] < rules.alpha, p[3] < rules.alpha  # nan: False
    if not (drop_rejected or gain_rejected):
        return "", "no change rejected"
    adjusted = p[2] if drop_rejected else p[3]
    text = f"{quantity.describe_change(fraction)} (adjusted p = {adjusted:.2g} < {rules.alpha:g})"
    # a certain but tiny difference is no regression
    if abs(fraction) <= rules.floor:
        return "", f"{text}, not more than the floor of {rules.floor:.0%}"
    if quantity.two_sided:
        return MOVED, text + ": a change too."
    if drop_rejected and fraction < 0:
        critic_note = ": this is the critic, not the return; the return has a separate line."
        ending = critic_note if quantity is CRITIC else "."
        return REGRESSED, text + ending
    if gain_rejected and fraction > 0:
        return IMPROVED, text + ": an unexpected gain is a change too."
    return "", f"{text}, but some cells gained and others dropped"


def list_reasons_against_holding(
    stored: FloatArray,
    new_count: int,
    failed: int,
    fraction: float,
    visible: float | None,
    looks: Looks,
    level: float,
    rules: Rules,
    quantity: Quantity = RETURNS,
) -> list[str]:
    """List the reasons why a cell that is not rejected does not hold; empty if it holds.

    Args:
        level: of the first step of Holm's procedure.
    """
    m = len(stored)
    # not rejected is not enough: the cell must have been able to show a drop that matters
    reasons = []
    if m < rules.min_stored:
        reasons.append(f"{m} stored seeds, at least {rules.min_stored} are needed")
    # failed runs have a substitute for a number: a verdict must not rest on many of them
    if new_count and failed / new_count > rules.max_failed_share:
        reasons.append(f"{failed} of {new_count} new runs {quantity.missing}")
    # a large drop that could be chance does not show that nothing changed
    if fraction < -rules.must_detect or (quantity.two_sided and fraction > rules.must_detect):
        reasons.append(f"{quantity.describe_change(fraction)}, too few seeds to reject it")
    if visible is None:
        reasons.append(
            f"no drop would be detected with 80 % power: {m} stored against {looks.max_runs} new "
            f"seeds at level {level:.2g}"
        )
    elif visible > rules.must_detect * quantity.compute_scale(stored):
        reasons.append(f"{quantity.describe_loss(rules.must_detect)} could be missed")
    return reasons
