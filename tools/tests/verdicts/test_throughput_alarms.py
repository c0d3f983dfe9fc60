"""Throughput and memory: what is an alarm, what is not, and what could have been seen."""

from __future__ import annotations

import numpy as np
import pytest

from rlregress.verdicts.throughput_alarms import (
    TOLERATED_SHARE,
    Sample,
    judge_throughput,
    smallest_detected_change,
)

#: ratios to the floor with a standard deviation of 2 %
STORED = [0.392, 0.396, 0.398, 0.399, 0.400, 0.400, 0.402, 0.404, 0.406, 0.413]
NEW = [0.393, 0.397, 0.401, 0.405, 0.408]


def verdict(new: list[float], stored: list[float] = STORED, less_is_better: bool = False) -> str:
    """The verdict on one quantity, alone in its session."""
    return judge_throughput({"it": Sample(stored, new, less_is_better)})["it"].verdict


def times(values: list[float], factor: float) -> list[float]:
    """All values, multiplied."""
    return [factor * value for value in values]


def test_what_has_not_changed_holds():
    """New processes like the stored ones hold."""
    assert verdict(NEW) == "holds"


def test_a_slowdown_is_a_regression():
    """A fifth more CPU time for each step is a sixth less throughput, and regressed."""
    assert verdict(times(NEW, 1 / 1.2)) == "regressed"


def test_a_faster_training_is_a_change_too():
    """More throughput is improved, as a change that is to be explained."""
    assert verdict(times(NEW, 1.2)) == "improved"


def test_a_significant_change_that_is_tolerated_is_no_alarm():
    """Chance is ruled out of a loss of 7 %, and it holds all the same."""
    verdict_found = judge_throughput({"it": Sample(STORED, times(NEW, 0.93))})["it"]
    assert verdict_found.adjusted_worse < 0.05
    assert verdict_found.verdict == "holds"


def test_of_memory_more_is_worse():
    """A fifth more memory is a regression, a fifth less an improvement."""
    stored = times(STORED, 1000.0)
    assert verdict(times(NEW, 1200.0), stored, less_is_better=True) == "regressed"
    assert verdict(times(NEW, 800.0), stored, less_is_better=True) == "improved"


def test_too_few_processes_cannot_tell():
    """Three against three can never be significant: inconclusive, however slow the new ones."""
    assert verdict(times(NEW[:3], 0.5), STORED[:3]) == "inconclusive"


def test_noise_that_hides_a_fifth_cannot_tell():
    """Stored processes that differ by a quarter could miss a loss of 20 %: inconclusive."""
    noisy = [0.3, 0.5, 0.35, 0.45, 0.4, 0.25, 0.55, 0.4, 0.3, 0.5]
    assert verdict([0.32, 0.48, 0.4, 0.36, 0.44], noisy) == "inconclusive"


def test_equal_memory_of_all_processes_can_be_judged():
    """A quantity without any spread holds, and a change beyond the floor is seen."""
    assert verdict([400.0] * 5, [400.0] * 10, less_is_better=True) == "holds"
    assert verdict([480.0] * 5, [400.0] * 10, less_is_better=True) == "regressed"


def test_the_smallest_visible_change_is_seen_in_four_of_five_sessions():
    """Both where what is tolerated decides (2 %) and where the test does (10 %)."""
    rng = np.random.default_rng(0)
    for spread in (0.02, 0.10):
        stored = np.array(STORED)
        stored = 1 + (stored - stored.mean()) / stored.std(ddof=1) * spread
        visible = smallest_detected_change(stored, 5, 1, 0.05)
        assert visible is not None
        assert visible > TOLERATED_SHARE
        verdict_found = 0
        for _ in range(400):
            before = rng.normal(1, spread, 10)
            after = rng.normal(1 - visible, spread, 5)
            verdict_found += (
                judge_throughput({"it": Sample(list(before), list(after))})["it"].verdict
                == "regressed"
            )
        assert 0.72 < verdict_found / 400 < 0.88, f"{spread}: seen in {verdict_found} of 400"


@pytest.mark.nightly
def test_false_alarms_of_a_session_keep_to_alpha():
    """Of sessions of 27 unchanged quantities that repeat within 15 %, 5 % ring at most."""
    rng = np.random.default_rng(1)
    rang = 0
    for _ in range(100):
        samples = {
            f"{number}": Sample(
                list(rng.lognormal(0, 0.15, 10)), list(rng.lognormal(0, 0.15, 5)), number % 3 == 2
            )
            for number in range(27)
        }
        rang += any(
            verdict_found.verdict == "regressed"
            for verdict_found in judge_throughput(samples).values()
        )
    # at a rate of 5 %, more than 11 of 100 are seen once in 200 times
    assert rang <= 11
