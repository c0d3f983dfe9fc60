"""Windows of clocks, sources of values, and laws within bounds are computed correctly."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import pytest

from rlregress.probing.interface import Minibatch
from tests_behavior import value_sources
from tests_behavior.bounds import Bounds, critical_distance, distance, grid, integral, share_inside
from tests_behavior.clock import BeforeAsFinal, Clock, FinalOfAnother, Notes, played
from tests_behavior.limit import LimitIs
from tests_behavior.windows import assert_windows, windows

STEPS = played(1, 7)
PAID = {place: float(k) for k, place in enumerate(STEPS)}


def test_a_window_ends_with_its_episode():
    """Rewards 0, 1, 2 | 3, 4, 5 | 6 give windows of three steps that stay within episodes."""
    expected = windows(STEPS, PAID, 3, 0.5, True, together=7)
    triples = [(window.rewards, window.terminated, window.discount) for window in expected.values()]
    assert triples == [
        (0 + 0.5 + 0.5, True, 0.125),
        (1 + 1.0, True, 0.25),
        (2.0, True, 0.5),
        (3 + 2 + 1.25, True, 0.125),
        (4 + 2.5, True, 0.25),
        (5.0, True, 0.5),
        (6.0, False, 0.5),
    ]
    times = [window.following[1] * 8 for window in expected.values()]
    assert times == [2, 2, 2, 4, 4, 4, 4]


def test_a_window_ends_with_what_was_collected_together():
    """With batches of two steps, no window leaves its batch, and none is terminated there."""
    expected = windows(dict.fromkeys(STEPS, False), PAID, 3, 1.0, True, together=2)
    assert [window.rewards for window in expected.values()] == [1, 1, 5, 3, 9, 5, 6]
    assert not any(window.terminated for window in expected.values())


def test_wrong_windows_are_detected():
    """A discount of another window fails by name, and a field that is missing does."""
    expected = windows(STEPS, PAID, 3, 0.5, True, together=7)
    rows = Minibatch(
        observations=np.array(list(expected)),
        actions=np.zeros((7, 1)),
        next_observations=np.array([window.following for window in expected.values()]),
        rewards=np.array([window.rewards for window in expected.values()]),
        terminated=np.array([window.terminated for window in expected.values()]),
        discounts=np.array([window.discount for window in expected.values()]),
    )
    assert_windows("F ppo", rows, expected)
    turned = Minibatch(**{**vars(rows), "discounts": rows.discounts[::-1]})
    with pytest.raises(AssertionError, match="F ppo: expected the discount of the step of"):
        assert_windows("F ppo", turned, expected)
    with pytest.raises(AssertionError, match="F ppo: expected rows with the field discount"):
        assert_windows("F ppo", Minibatch(**{**vars(rows), "discounts": None}), expected)


def _rows(source: str, discount: float) -> Minibatch:
    """Rows of two clocks whose ends take their value from somewhere, known by construction."""
    steps = played(2, 12)
    values = {place: 1.0 + k / 7 for k, place in enumerate(steps)}
    returns = []
    for (number, time), ends in steps.items():
        place = value_sources.places(number, time, 2)[source if ends else value_sources.FINAL]
        returns.append(number + time + discount * values.get(place, 0.0))
    return Minibatch(
        observations=np.array(list(steps)),
        actions=np.zeros((24, 1)),
        values=np.array(list(values.values())),
        returns=np.array(returns),
    )


@pytest.mark.parametrize("source", [value_sources.FINAL, value_sources.RESET, value_sources.BEFORE])
def test_the_source_of_a_value_is_found(source):
    """The source of the value behind an end is found, and no other one."""
    sources = value_sources.of_returns(_rows(source, 0.9), played(2, 12), 0.9, 2)
    assert sources == {source}
    if source != value_sources.FINAL:
        with pytest.raises(AssertionError, match=f"to be of its final .*, found it of {source}"):
            value_sources.assert_from("F ppo", "a truncation", sources, value_sources.FINAL)


def test_rows_without_ends_tell_no_source():
    """The test fails if no end was read, instead of passing without rows."""
    rows = _rows(value_sources.FINAL, 0.9)
    with pytest.raises(AssertionError, match="expected ends of episodes"):
        value_sources.of_returns(rows, dict.fromkeys(played(2, 12), False), 0.9, 2)


def test_a_faulty_clock_ends_with_the_observation_before():
    """The faulty wrapper ends an episode with the observation that the last step began with."""
    environment = BeforeAsFinal(Clock())
    times = [environment.reset()[0][1]]
    times += [environment.step(np.zeros(1, np.float32))[0][1] for _ in range(3)]
    assert [time * 8 for time in times] == [-0.5, 0, 1, 1]
    assert FinalOfAnother(Clock(2), by=-2).reset()[0][0] == 2.0


def test_notes_hold_every_step():
    """Rewards and ends are noted by who stepped and when."""
    paid: dict = {}
    ends: dict = {}
    environment = Notes(Clock(1, LimitIs.BOTH), paid, ends)
    environment.reset()
    flags = [environment.step(np.zeros(1, np.float32))[2:4] for _ in range(4)]
    assert flags == [(False, False)] * 3 + [(True, True)]
    assert list(paid) == list(ends) == list(played(2, 4))[4:]
    assert list(ends.values()) == [False, False, False, True]
    assert all(reward == sum(place) for place, reward in paid.items())


BOUNDS = Bounds(np.array([-1.0, 0.5]), np.array([3.0, 1.0]))


def test_both_ways_stay_within_their_bounds():
    """Clipping keeps inner values; tanh maps 0 to the middle."""
    assert BOUNDS.clipped(np.array([5.0, 0.7])).tolist() == [3.0, 0.7]
    assert BOUNDS.squashed(np.zeros(2)).tolist() == [1.0, 0.75]
    assert np.allclose(BOUNDS.squashed(np.array([9.0, -9.0])), [3.0, 0.5])


@pytest.mark.parametrize(("dimensions", "points"), [(1, 2001), (2, 121)])
def test_a_density_integrates_to_its_distribution_function(dimensions, points):
    """A Gaussian's over all numbers is 1, over the bounds what its distribution function says."""
    mean, deviation = np.array([0.5, 0.6])[:dimensions], np.array([0.7, 0.9])[:dimensions]
    low, high = BOUNDS.low[:dimensions], BOUNDS.high[:dimensions]

    def over(lowest, highest):
        actions = grid(lowest, highest, points)
        z = (actions - mean) / deviation
        log_probs = (-0.5 * z**2 - np.log(deviation * math.sqrt(2 * math.pi))).sum(axis=1)
        return integral(actions, log_probs, dimensions, points)

    assert over(mean - 8 * deviation, mean + 8 * deviation) == pytest.approx(1.0, abs=1e-3)
    inside = share_inside(Bounds(low, high), mean, deviation)
    assert over(low, high) == pytest.approx(inside, abs=1e-3)
    first = NormalDist(0.5, 0.7)
    assert share_inside(Bounds(low[:1], high[:1]), mean[:1], deviation[:1]) == pytest.approx(
        first.cdf(3.0) - first.cdf(-1.0)
    )


def test_distances_of_laws_are_those_of_their_distribution_functions():
    """Equal samples are 0 apart, disjoint ones 1; an atom of a half is a half."""
    numbers = np.arange(100.0)
    assert distance(numbers, numbers) == 0.0
    assert distance(numbers, numbers + 1000) == 1.0
    assert distance(np.maximum(numbers, 50.0), numbers) == pytest.approx(0.5)


def test_the_law_itself_is_rarely_further_away_than_allowed():
    """At a false-alarm rate of 20 %, at most that share of 300 samples of the law is rejected."""
    random = np.random.default_rng(0)
    law = np.array([NormalDist().inv_cdf((k + 0.5) / 2000) for k in range(2000)]).clip(-1.0, 1.0)
    allowed = critical_distance(256, 0.2)
    samples = random.standard_normal((300, 256)).clip(-1.0, 1.0)
    rejected = np.mean([distance(sample, law) > allowed for sample in samples])
    # the bound is not tight for a law with atoms; of 300 at 20 %, 4 deviations are 0.09
    assert rejected < 0.2 + 0.09
    assert critical_distance(256, 1e-9) == pytest.approx(0.2045, abs=1e-4)
