"""Admission check: how often a stored baseline would raise alarms although nothing changed.

The same baseline is used every night, so its alarms are not independent. A baseline whose mean is
too high by chance raises alarms again and again, and its mean cannot show that. The bound here
comes from its spread.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import ArrayLike

from rlregress.errors import UserError
from rlregress.verdicts.permutation import compute_permutation_p_values, make_generator_from_values


@dataclass(frozen=True)
class Stability:
    """Rates of false alarms of one baseline at the level of the single test.

    Attributes:
        expected: alarm rate if the true mean is the stored one.
        unlucky: alarm rate if the true mean is as low as its one-sided 95 % confidence bound; one
            baseline in 20 raises alarms at least about this often.
        mc_error: largest Monte Carlo standard error that either rate can have.
        level: level of the single test.
        stored_seeds, new_seeds: m and n.
    """

    expected: float
    unlucky: float
    mc_error: float
    level: float
    stored_seeds: int
    new_seeds: int

    def __str__(self) -> str:
        return (
            f"{self.stored_seeds} stored against {self.new_seeds} new seeds of the same code, at "
            f"level {self.level:.3g}: false alarms in {self.expected:.0%} of the nightly runs if "
            f"the stored mean is the true one (+- {self.mc_error:.0%}), and in {self.unlucky:.0%} "
            "if it is as much too high as in 1 of 20 baselines. Confirm an alarm with new seeds "
            "of the old version."
        )


def estimate_false_alarms_of_baseline(
    stored: ArrayLike, new_seeds: int, level: float = 0.05, repetitions: int = 2_000, seed: int = 0
) -> Stability:
    """Estimate the false alarm rates of a baseline by resampling it.

    New runs are drawn from the stored ones with replacement, with deviations multiplied by
    sqrt(m / (m - 1)), around the stored mean and around its lower confidence bound.

    Args:
        stored: returns [m], m >= 2.
        new_seeds: number of new runs of one nightly check.
        level: level of the single test (alpha / hypotheses).
        repetitions: simulated nights.
        seed: of the resampling, together with the returns themselves.
    """
    values = np.sort(np.asarray(stored, dtype=np.float64).ravel())
    m = len(values)
    if m < 2 or new_seeds < 1 or not np.isfinite(values).all():
        raise UserError(
            f"a baseline of {m} returns cannot be checked against {new_seeds} new ones: expected "
            "at least 2 finite stored returns and 1 new run"
        )
    rng = make_generator_from_values(values, seed=seed)
    mean, sd = float(values.mean()), float(values.std(ddof=1))
    # resampled deviations have the biased variance; the factor removes the bias
    widened = (values - mean) * math.sqrt(m / (m - 1))
    bound = float(scipy.stats.t.isf(0.05, m - 1)) * sd / math.sqrt(m)
    # a baseline that is too low by chance misses drops, but raises no alarm: one bound suffices
    nights = mean + rng.choice(widened, (repetitions, new_seeds))
    baseline = np.broadcast_to(values, (repetitions, m))

    def estimate_alarm_rate(shift: float) -> float:
        # 2 000 draws resolve the levels of a handful of cells; more for stricter ones.
        draws = min(20_000, max(2_000, math.ceil(100 / level)))
        p = compute_permutation_p_values(baseline, nights - shift, rng, draws, draws).drop
        return float(np.mean(np.asarray(p) < level))

    return Stability(
        estimate_alarm_rate(0.0),
        estimate_alarm_rate(bound),
        0.5 / math.sqrt(repetitions),
        level,
        m,
        new_seeds,
    )
