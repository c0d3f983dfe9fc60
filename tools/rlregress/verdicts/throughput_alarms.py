"""Verdicts on throughput and memory: stored processes against new ones.

The test is that of returns: permutations of stored and new processes, with Holm's correction over
everything that a session judges. A tolerance is added. A ratio of throughput repeats itself within
a few per cent, so a difference too small to matter is soon significant; it raises no alarm. The
smallest change that is detected with 80 % power accounts for the test and the tolerance.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rlregress.model.throughput_verdict import ThroughputVerdict
from rlregress.model.verdict import HOLDS, IMPROVED, INCONCLUSIVE, REGRESSED
from rlregress.verdicts.effect import compute_welch_interval
from rlregress.verdicts.family import Name, adjust_by_holm_with_names
from rlregress.verdicts.looks import make_single_look
from rlregress.verdicts.permutation import (
    can_reject_at_level,
    compute_p_values_of_one_comparison,
    make_generator_from_values,
)
from rlregress.verdicts.power import estimate_detectable_drop

#: a smaller change, as a share of the stored mean, is no alarm
TOLERATED_SHARE = 0.10
#: ``holds`` needs that a change for the worse of this share would have been detected
MUST_DETECT_SHARE = 0.20


@dataclass(frozen=True)
class ThroughputSample:
    """Measurements of one quantity, such as steps per second, in stored and in new processes.

    Attributes:
        stored: positive numbers, one for each stored process [m >= 1].
        new: positive numbers, one for each new process [n >= 1].
        less_is_better: true for memory, false for throughput.
    """

    stored: Sequence[float]
    new: Sequence[float]
    less_is_better: bool = False


def judge_throughput_samples(
    samples: Mapping[Name, ThroughputSample], alpha: float = 0.05
) -> dict[Name, ThroughputVerdict]:
    """Judge throughput and memory of a session against stored ones, as one family of hypotheses.

    A quantity with so few processes that no data could give p < alpha is left out, so that it costs
    the others no power (Tarone 1990).
    """
    p = {
        name: compute_p_values_of_one_comparison(
            *orient_values_so_more_is_better(sample),
            make_generator_from_values(sample.stored, sample.new),
        )
        for name, sample in samples.items()
        if can_reject_at_level(len(sample.stored), len(sample.new), alpha)
    }
    # two families, each with its own alpha, as for returns
    worse = adjust_by_holm_with_names({name: float(value.drop) for name, value in p.items()})
    better = adjust_by_holm_with_names({name: float(value.gain) for name, value in p.items()})
    nan = math.nan
    return {
        name: _judge_throughput_sample(
            sample, worse.get(name, nan), better.get(name, nan), alpha, len(p)
        )
        for name, sample in samples.items()
    }


def orient_values_so_more_is_better(sample: ThroughputSample) -> tuple[list[float], list[float]]:
    """Return stored and new values with their sign such that more is better."""
    sign = -1 if sample.less_is_better else 1
    return [sign * value for value in sample.stored], [sign * value for value in sample.new]


def compute_smallest_detected_change(
    stored: Sequence[float], new_processes: int, hypotheses: int, alpha: float
) -> float | None:
    """Return the smallest worsening, as a share, detected with 80 % power; None if none is.

    The worsening must be rejected by the test and observed beyond the tolerance.
    """
    m, n = len(stored), new_processes
    # a single process has no spread to predict from
    if m < 2 or not hypotheses or not can_reject_at_level(m, n, alpha / hypotheses):
        return None
    spread = float(np.std(stored, ddof=1) / np.mean(stored))
    visible = estimate_detectable_drop(
        m, make_single_look(n), hypotheses, alpha, spread, TOLERATED_SHARE
    )
    return visible if math.isfinite(visible) else None


def _judge_throughput_sample(
    sample: ThroughputSample, worse: float, better: float, alpha: float, hypotheses: int
) -> ThroughputVerdict:
    m, n = len(sample.stored), len(sample.new)
    before, after = float(np.mean(sample.stored)), float(np.mean(sample.new))
    change = after / before - 1
    visible = compute_smallest_detected_change(sample.stored, n, hypotheses, alpha)
    worsened = change if sample.less_is_better else -change
    if worse < alpha and worsened > TOLERATED_SHARE:
        verdict, reason = REGRESSED, f"worse by more than the tolerated {TOLERATED_SHARE:.0%}"
    elif better < alpha and -worsened > TOLERATED_SHARE:
        verdict, reason = (
            IMPROVED,
            f"better, and by more than the tolerated {TOLERATED_SHARE:.0%}: explain it",
        )
    elif visible is None:
        verdict = INCONCLUSIVE
        reason = f"{m} stored and {n} new processes: no change would be detected with 80 % power"
    elif visible > MUST_DETECT_SHARE:
        verdict, reason = INCONCLUSIVE, f"a change of {MUST_DETECT_SHARE:.0%} could be missed"
    elif worsened > visible:
        # a drop of this size would have been detected, so `holds` would claim too much
        verdict, reason = INCONCLUSIVE, "worse, and too few processes to reject chance"
    else:
        verdict, reason = HOLDS, f"no change beyond the tolerated {TOLERATED_SHARE:.0%}"
    # for the reader only: the permutation test has decided
    interval = compute_welch_interval(sample.stored, sample.new)
    return ThroughputVerdict(
        verdict=verdict,
        reason=f"{reason}.",
        stored_processes=m,
        new_processes=n,
        stored_mean=before,
        stored_sd=float(np.std(sample.stored, ddof=1)) if m > 1 else math.nan,
        new_mean=after,
        change=change,
        interval=None if interval is None else (interval[0] / before, interval[1] / before),
        adjusted_worse=worse,
        adjusted_better=better,
        alpha=alpha,
        hypotheses=hypotheses,
        visible=visible,
    )
