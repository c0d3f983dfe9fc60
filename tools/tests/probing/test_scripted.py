"""The environment of probes follows its scripts through steps and resets."""

from __future__ import annotations

import numpy as np
import pytest

from rlregress.probing.scripted import Scripted, make_counting_environment, make_script_of_end_after


def play(environment, steps):
    """Observation before and after, reward and flags of some steps; a reset after each end."""
    observation, rows = environment.reset()[0], []
    for _ in range(steps):
        before = observation.tolist()
        observation, reward, terminated, truncated, _ = environment.step(np.zeros(1))
        rows.append((before, observation.tolist(), reward, terminated, truncated))
        if terminated or truncated:
            observation, _ = environment.reset()
    return rows


def test_each_script_starts_over_by_itself():
    """Two rewards and three observations: the fourth step has the second reward."""
    environment = Scripted(next_observations=[1.0, 2.0, 3.0], rewards=[1.0, -1.0])
    assert [(after, reward) for _, after, reward, _, _ in play(environment, 4)] == [
        ([1.0], 1.0),
        ([2.0], -1.0),
        ([3.0], 1.0),
        ([1.0], -1.0),
    ]


def test_a_reset_does_not_move_the_script():
    """A reset shows the observation before the next step, however often it is called."""
    environment = Scripted(observations=[5.0, 6.0], next_observations=[6.0, 7.0])
    assert environment.reset()[0] == environment.reset()[0] == [5.0]
    environment.step(np.zeros(1))
    assert environment.reset()[0] == [6.0]


@pytest.mark.parametrize(("restarts", "after_reset"), [(False, 2.0), (True, 0.0)])
def test_a_script_that_restarts_begins_again_with_every_reset(restarts, after_reset):
    """The steps are counted since the environment was made, or since its reset."""
    environment = make_counting_environment(9, restarts=restarts)
    environment.reset()
    environment.step(np.zeros(1))
    environment.step(np.zeros(1))
    assert environment.reset()[0] == [after_reset]


def test_an_end_comes_after_so_many_steps():
    """The second step of two is truncated, not terminated."""
    rows = play(make_counting_environment(2, truncated=make_script_of_end_after(2)), 4)
    assert [row[3:] for row in rows] == [(False, False), (False, True)] * 2
    assert [row[:2] for row in rows] == [([0.0], [1.0]), ([1.0], [2.0])] * 2


def test_numbers_are_repeated_in_all_dimensions_and_rows_are_not():
    """An observation is a number in every dimension, or a row of a table."""
    assert Scripted(observation_dimensions=3).reset()[0].tolist() == [0.5] * 3
    rows = Scripted(observations=[[1.0, 2.0]], next_observations=[[3.0, 4.0]])
    assert rows.observation_space.shape == (2,)
    assert play(rows, 1)[0][:2] == ([1.0, 2.0], [3.0, 4.0])


def test_actions_are_kept_as_they_arrive():
    """Actions are listed in the environment's units, and change nothing."""
    received: list[np.ndarray] = []
    environment = Scripted([-1.0, 0.0], [1.0, 4.0], received=received)
    environment.reset()
    environment.step(np.array([0.5, 3.0], dtype=np.float32))
    assert environment.received is received
    assert received[0].tolist() == [0.5, 3.0]
    assert environment.action_space.high.tolist() == [1.0, 4.0]
    assert Scripted(discrete=2).action_space.n == 2


def test_the_last_observation_cannot_be_changed():
    """Observations are copies: writing into one changes nothing."""
    environment = Scripted(next_observations=2.0)
    environment.reset()
    environment.step(np.zeros(1))[0][:] = 7.0
    assert environment.observation.tolist() == [2.0]
    assert environment.step(np.zeros(1))[0].tolist() == [2.0]
