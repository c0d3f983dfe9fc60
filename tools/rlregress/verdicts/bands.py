"""Published bands: new runs against a printed "mean +- half" of a few seeds.

A printed 95 % interval of a mean is not a band for new results: 5 new seeds of an unchanged
implementation fall outside it in 28 % of the cases. What the two printed numbers allow is a
two-sample t-test from summary statistics. The variances are pooled: Welch's test exceeds the
small levels of Holm's procedure many times over at n = 5. Even so it is a coarse check; a
comparison with stored runs is the fine one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from rlregress.errors import UserError
from rlregress.model.cells import Band, BandVerdict
from rlregress.verdicts import ceiling
from rlregress.verdicts.family import adjust_by_holm_with_names
from rlregress.verdicts.looks import make_single_look
from rlregress.verdicts.power import compute_drop_observed_beyond_floor


def recover_band_from_printed_numbers(
    mean: float, half_width: float, seeds: int = 5, decimals: int = 1
) -> Band:
    """Recover the standard deviation of one run's return from a printed mean and half width.

    Four returns of 1000 and one of 193 are printed as 838.6 +- 282.9.

    Raises:
        UserError: fewer than two seeds, a negative half width, or numbers that are not finite.
    """
    if seeds < 2 or not half_width >= 0 or not (math.isfinite(mean) and math.isfinite(half_width)):
        raise UserError(
            f"the published band {mean} +- {half_width} of {seeds} seeds cannot be used: it needs "
            "finite numbers, a half width of at least 0 and at least 2 seeds"
        )
    rounding = 0.5 * 10.0**-decimals
    # printed is 1.96 times the standard error, from the variance that divides by all seeds
    to_sample_sd = math.sqrt(seeds) / 1.96 * math.sqrt(seeds / (seeds - 1))
    return Band(
        mean=mean,
        half=half_width,
        seeds=seeds,
        rounding=rounding,
        sd=half_width * to_sample_sd,
        sd_low=max(0.0, half_width - rounding) * to_sample_sd,
        sd_high=(half_width + rounding) * to_sample_sd,
    )


def compute_band_p_value(band: Band, new: Sequence[float]) -> float:
    """Return the two-sided p-value of the pooled t-test of a band against new returns [n], n >= 2.

    Rounding of the printed numbers allows a range of p-values; the largest is returned.
    """
    values = np.asarray(new, dtype=np.float64)
    # the printed mean may be off by its rounding: the smallest difference gives the largest p
    difference = max(0.0, abs(float(values.mean()) - band.mean) - band.rounding)
    new_sd = float(values.std(ddof=1))
    # a larger spread gives a larger p as well
    test = scipy.stats.ttest_ind_from_stats(
        difference, band.sd_high, band.seeds, 0.0, new_sd, len(values)
    )
    return float(test.pvalue)


def _compute_standard_error(sd: float, seeds: int, new: np.ndarray) -> float:
    """Return the standard error of the difference of means, with the pooled variance."""
    squares = (seeds - 1) * sd**2 + (len(new) - 1) * float(new.var(ddof=1))
    return math.sqrt(squares / (seeds + len(new) - 2) * (1 / seeds + 1 / len(new)))


def compute_smallest_band_drop(
    seeds: int, new_runs: int, hypotheses: int = 1, alpha: float = 0.05, power: float = 0.8
) -> float:
    """Return the smallest drop that this check detects, in standard deviations of one run's return.

    It follows from the noncentral t law, two-sided at alpha / hypotheses. For 5 published seeds:
    n = 5: 2.0 (one cell), 3.0 (8 cells), 4.1 (72 cells); n = 20: 1.5, 1.9, 2.4.
    """
    freedom = seeds + new_runs - 2
    # Holm's first step: the level that a single deviating cell must pass
    needed = scipy.stats.t.isf(alpha / hypotheses / 2, freedom)
    root = math.sqrt(seeds * new_runs / (seeds + new_runs))
    return float(
        scipy.optimize.brentq(
            lambda d: scipy.stats.nct.sf(needed, freedom, d * root) - power, 0.0, 100.0
        )
    )


@dataclass(frozen=True)
class BandSample:
    """One cell to judge: its published band and the new returns [n].

    Attributes:
        ceiling_counts: (failed, all): published seeds below the ceiling, pooled over the cells of
            the environment, for bands of width 0; default: none of this cell's seeds.
    """

    band: Band
    new: Sequence[float]
    ceiling_counts: tuple[int, int] | None = None


def _count_runs_below_published_mean(sample: BandSample) -> int:
    values = np.asarray(sample.new, dtype=np.float64)
    # the printed mean is rounded: a return within its rounding has reached it
    return int(np.count_nonzero(values < sample.band.mean - sample.band.rounding))


def _compute_band_or_ceiling_p_value(sample: BandSample) -> float:
    band = sample.band
    if band.half > 0:
        return compute_band_p_value(band, sample.new)
    # without spread there is no t-test: at a ceiling, only failing seeds show a drop
    failed, published = sample.ceiling_counts or (0, band.seeds)
    return ceiling.compute_fisher_p(
        failed, published, _count_runs_below_published_mean(sample), len(sample.new)
    )


def judge_bands(
    samples: Mapping[str, BandSample],
    alpha: float = 0.05,
    floor: float = 0.05,
    must_detect: float = 0.5,
) -> dict[str, BandVerdict]:
    """Judge cells against their published bands, with Holm's correction over all of them.

    Args:
        samples: cell name -> BandSample.
        alpha: probability of one or more false alarms, of either direction, in the family.
        floor: differences below this share of the published mean's magnitude do not count.
        must_detect: ``holds`` needs a smallest detected drop of at most this share.

    Raises:
        UserError: fewer than two new returns in a cell, or one that is not finite.
    """
    for name, sample in samples.items():
        if len(sample.new) < 2 or not np.isfinite(np.asarray(sample.new, dtype=float)).all():
            raise UserError(
                f"cell {name} cannot be judged against a published band: expected at least two "
                f"finite new returns, found {len(sample.new)} returns"
            )
    p = {name: _compute_band_or_ceiling_p_value(sample) for name, sample in samples.items()}
    adjusted = adjust_by_holm_with_names(p)
    return {
        name: _judge_band(sample, p[name], adjusted[name], alpha, len(samples), floor, must_detect)
        for name, sample in samples.items()
    }


def _judge_band(
    sample: BandSample,
    p: float,
    adjusted: float,
    alpha: float,
    hypotheses: int,
    floor: float,
    must_detect: float,
) -> BandVerdict:
    band, new = sample.band, np.asarray(sample.new, dtype=np.float64)
    n = len(new)
    effect = float(new.mean()) - band.mean
    # a mean near zero is no scale: its spread is used instead
    scale = max(abs(band.mean), band.sd) or 1.0
    interval: tuple[float, float] | None = None
    visible: float | None
    if band.half > 0:
        margin = float(scipy.stats.t.isf(alpha / 2, band.seeds + n - 2))
        margin *= _compute_standard_error(band.sd_high, band.seeds, new)
        interval = (effect - margin, effect + margin)
        # a drop must be rejected and observed beyond the floor: the harder condition counts
        beyond = compute_drop_observed_beyond_floor(floor * scale, band.seeds, n, band.sd)
        visible = max(
            compute_smallest_band_drop(band.seeds, n, hypotheses, alpha) * band.sd, beyond
        )
        basis = f"a {band.seeds}-seed band, pooled t-test, a coarse check"
    else:
        failed, published = sample.ceiling_counts or (0, band.seeds)
        share = ceiling.find_smallest_detected_failing_share(
            failed, published, make_single_look(n), alpha / hypotheses
        )
        visible = None if share is None else share * scale
        basis = (
            f"{_count_runs_below_published_mean(sample)} of {n} new seeds fail to reach "
            f"{band.mean:g}, {failed} of {published} published ones, Fisher's exact test, a coarse "
            "check"
        )
    # A band of width 0 is tested for failing seeds only: it can show no gain.
    if adjusted < alpha and abs(effect) > floor * scale and (effect < 0 or band.half > 0):
        verdict = "regressed" if effect < 0 else "improved"
        reason = f"the mean differs by {effect:+.4g} from the published one ({basis})."
    elif visible is None:
        verdict, reason = "inconclusive", f"no drop would be detected with 80 % power ({basis})."
    else:
        verdict = "holds" if visible <= must_detect * scale else "inconclusive"
        reason = (
            f"{'not rejected' if adjusted >= alpha else 'below the floor'}; the smallest drop "
            f"detected with 80 % power is {visible:.4g}, {visible / scale:.0%} of the published "
            f"mean ({basis})."
        )
    return BandVerdict(
        verdict=verdict,
        effect=effect,
        interval=interval,
        new_seeds=n,
        p=p,
        adjusted_p=adjusted,
        alpha=alpha,
        hypotheses=hypotheses,
        visible_drop=visible,
        reason=reason,
    )
