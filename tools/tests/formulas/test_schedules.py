"""The schedules and divergences that the details of PPO's loop are judged by."""

from __future__ import annotations

import numpy as np
import pytest

from rlregress.formulas import schedules


def test_linear_schedules_by_hand():
    """Three rollouts of two updates: literal factors of each way to fall linearly."""
    assert schedules.constant(3, 2).tolist() == [1.0] * 6
    by_rollout = schedules.linear_by_rollout(3, 2)
    assert by_rollout == pytest.approx([1, 1, 2 / 3, 2 / 3, 1 / 3, 1 / 3])
    after = schedules.linear_by_rollout(3, 2, 1.0)
    assert after == pytest.approx([2 / 3, 2 / 3, 1 / 3, 1 / 3, 0, 0])
    assert schedules.linear_by_rollout_to_zero(3, 2).tolist() == [1, 1, 0.5, 0.5, 0, 0]
    by_update = schedules.linear_by_update(3, 2)
    assert by_update == pytest.approx([1, 5 / 6, 4 / 6, 3 / 6, 2 / 6, 1 / 6])


def test_adaptive_rate_stays_within_its_band():
    """Above the band the rate is divided, below it multiplied, inside left alone."""
    divergences = np.array([0.03, 0.015, 0.004])
    rates = schedules.adaptive(divergences, 0.01, 2.0, 2.0)
    assert rates.tolist() == [0.5, 0.5, 1.0]
    assert schedules.adaptive(divergences, 0.01, 2.0, 2.0, up=False).tolist() == [0.5, 0.5, 0.5]


def test_estimates_agree_where_ratios_average_to_one():
    """The estimates k1 and k3 differ by the mean of r - 1."""
    ratios = np.array([0.6, 1.4])
    assert schedules.divergence(ratios, "k1") == pytest.approx(schedules.divergence(ratios, "k3"))
    ratios = np.array([0.5, 2.0])
    k1, k2, k3 = (schedules.divergence(ratios, name) for name in ("k1", "k2", "k3"))
    assert k1 == pytest.approx(0.0)
    assert k2 == pytest.approx(np.log(2.0) ** 2 / 2)
    assert k3 == pytest.approx(0.25)


def test_estimates_see_a_known_divergence():
    """On samples of N(0, 1) all estimates tend to KL(N(0, 1), N(0.1, 1)) = 0.005."""
    x = np.random.default_rng(0).normal(size=400_000)
    ratios = np.exp(0.1 * x - 0.005)
    for name in ("k1", "k2", "k3"):
        assert schedules.divergence(ratios, name) == pytest.approx(0.005, abs=4e-4)


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ("before_step", (0, 1)),
        ("before_step_this_epoch", (0, 3)),
        ("after_step", (1, 1)),
        ("after_epoch", (2, 2)),
        ("never", (6, 6)),
    ],
)
def test_stopped_updates(place, expected):
    """Steps and evaluations of three epochs of two minibatches, stopped at each place."""
    assert schedules.stopped_updates(True, 3, 2, place) == expected
    assert schedules.stopped_updates(False, 3, 2, place) == (6, 6)
