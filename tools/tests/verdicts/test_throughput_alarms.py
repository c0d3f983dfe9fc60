"""Throughput and memory raise alarms beyond the tolerated share, and state their power."""

from __future__ import annotations

import numpy as np
import pytest

from rlregress.verdicts.throughput_alarms import (
    TOLERATED_SHARE,
    ThroughputSample,
    compute_smallest_detected_change,
    judge_throughput_samples,
)

#: ratios to the floor with a standard deviation of 2 %
STORED = [0.392, 0.396, 0.398, 0.399, 0.400, 0.400, 0.402, 0.404, 0.406, 0.413]
NEW = [0.393, 0.397, 0.401, 0.405, 0.408]


def times(values: list[float], factor: float) -> list[float]:
    """Return all values, multiplied."""
    return [factor * value for value in values]


#: new and stored values, whether less is better, and the verdict
VERDICTS = {
    "unchanged throughput": (NEW, STORED, False, "holds"),
    "a fifth more CPU time for each step": (times(NEW, 1 / 1.2), STORED, False, "regressed"),
    "more throughput": (times(NEW, 1.2), STORED, False, "improved"),
    "a fifth more memory": (times(NEW, 1200.0), times(STORED, 1000.0), True, "regressed"),
    "a fifth less memory": (times(NEW, 800.0), times(STORED, 1000.0), True, "improved"),
    "too few processes": (times(NEW[:3], 0.5), STORED[:3], False, "inconclusive"),
    "stored processes that differ by a quarter": (
        [0.32, 0.48, 0.4, 0.36, 0.44],
        [0.3, 0.5, 0.35, 0.45, 0.4, 0.25, 0.55, 0.4, 0.3, 0.5], False, "inconclusive"),
    "equal memory of all processes": ([400.0] * 5, [400.0] * 10, True, "holds"),
    "more memory of all processes": ([480.0] * 5, [400.0] * 10, True, "regressed"),
}  # fmt: skip


@pytest.mark.parametrize("case", VERDICTS)
def test_a_quantity_has_its_verdict(case):
    """A change beyond the tolerated fifth is reported, unless noise could hide it."""
    new, stored, less_is_better, expected = VERDICTS[case]
    judged = judge_throughput_samples({"it": ThroughputSample(stored, new, less_is_better)})
    assert judged["it"].verdict == expected


def test_the_smallest_change_is_detected_in_four_of_five_sessions():
    """A significant change that is tolerated is no alarm."""
    judged = judge_throughput_samples({"it": ThroughputSample(STORED, times(NEW, 0.93))})["it"]
    assert judged.adjusted_worse < 0.05
    assert judged.verdict == "holds"
    rng = np.random.default_rng(0)
    for spread in (0.02, 0.10):
        stored = np.array(STORED)
        stored = 1 + (stored - stored.mean()) / stored.std(ddof=1) * spread
        visible = compute_smallest_detected_change(stored, 5, 1, 0.05)
        assert visible is not None
        assert visible > TOLERATED_SHARE
        detected = 0
        for _ in range(400):
            before = rng.normal(1, spread, 10)
            after = rng.normal(1 - visible, spread, 5)
            judged = judge_throughput_samples({"it": ThroughputSample(list(before), list(after))})[
                "it"
            ]
            detected += judged.verdict == "regressed"
        assert 0.72 < detected / 400 < 0.88, f"{spread}: detected in {detected} of 400"
