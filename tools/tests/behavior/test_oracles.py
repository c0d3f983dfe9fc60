"""Windows of clocks, sources of values, and laws within bounds are computed correctly."""

from __future__ import annotations

import numpy as np
import pytest

from rlregress.probing.interface import Minibatch
from tests_behavior import choices, value_sources
from tests_behavior.bounds import measure_distance
from tests_behavior.clock import Clock, StepRecorder, simulate_steps
from tests_behavior.limit import LimitIs
from tests_behavior.windows import assert_windows, compute_windows

STEPS = simulate_steps(1, 7)
PAID = {place: float(k) for k, place in enumerate(STEPS)}


def test_a_window_ends_with_its_episode():
    """Rewards 0, 1, 2 | 3, 4, 5 | 6 give windows of three steps that stay within episodes."""
    expected = compute_windows(STEPS, PAID, 3, 0.5, True, steps_per_batch=7)
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


def test_wrong_windows_are_detected():
    """A discount of another window fails by name, and a field that is missing does."""
    expected = compute_windows(STEPS, PAID, 3, 0.5, True, steps_per_batch=7)
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
    steps = simulate_steps(2, 12)
    values = {place: 1.0 + k / 7 for k, place in enumerate(steps)}
    returns = []
    for (number, time), ends in steps.items():
        place = value_sources.list_source_places(number, time, 2)[
            source if ends else value_sources.FINAL
        ]
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
    sources = value_sources.find_return_sources(_rows(source, 0.9), simulate_steps(2, 12), 0.9, 2)
    assert sources == {source}
    if source != value_sources.FINAL:
        with pytest.raises(AssertionError, match=f"to be of its final .*, found it of {source}"):
            value_sources.assert_source("F ppo", "a truncation", sources, value_sources.FINAL)


def test_notes_hold_every_step():
    """Rows without ends tell no source."""
    rows = _rows(value_sources.FINAL, 0.9)
    with pytest.raises(AssertionError, match="expected ends of episodes"):
        value_sources.find_return_sources(rows, dict.fromkeys(simulate_steps(2, 12), False), 0.9, 2)
    paid: dict = {}
    ends: dict = {}
    environment = StepRecorder(Clock(1, LimitIs.BOTH), paid, ends)
    environment.reset()
    flags = [environment.step(np.zeros(1, np.float32))[2:4] for _ in range(4)]
    assert flags == [(False, False)] * 3 + [(True, True)]
    assert list(paid) == list(ends) == list(simulate_steps(2, 4))[4:]
    assert list(ends.values()) == [False, False, False, True]
    assert all(reward == sum(place) for place, reward in paid.items())


def test_distances_of_laws_are_those_of_their_distribution_functions():
    """Equal samples are 0 apart, disjoint ones 1; an atom of a half is a half."""
    numbers = np.arange(100.0)
    assert measure_distance(numbers, numbers) == 0.0
    assert measure_distance(numbers, numbers + 1000) == 1.0
    assert measure_distance(np.maximum(numbers, 50.0), numbers) == pytest.approx(0.5)


def _actions(*environments: list[int]) -> np.ndarray:
    return np.array(environments).T[:, :, None]


def test_shared_decisions_and_draws_are_detected():
    """Own ones are let through."""
    choices.assert_independent_draws("A", _actions([7, 0, 3, 0], [0, 5, 4, 0]), 0.75)
    with pytest.raises(
        AssertionError, match="whose decisions to explore have the correlation 1.00"
    ):
        choices.assert_independent_draws("A", _actions([7, 0, 3, 0], [8, 0, 4, 0]), 0.75)
    with pytest.raises(AssertionError, match="whose random actions are the same in 100% of steps"):
        choices.assert_independent_draws("A", _actions([7, 0, 3, 0], [0, 5, 3, 0]), 0.75)
