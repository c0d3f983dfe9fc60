"""The toy environments behave as their true values assume."""

from __future__ import annotations

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from tests_behavior import clock, ring
from tests_behavior.clock import Clock
from tests_behavior.counter import StepCounter
from tests_behavior.limit import LimitIs


def episodes(environment, steps: int) -> tuple[list[list[float]], list[tuple[bool, bool]]]:
    """Return all observations (after every reset and every step) and the flags of the steps."""
    seen_observations, flags = [environment.reset(seed=0)[0].tolist()], []
    for _ in range(steps):
        observation, reward, terminated, truncated, _ = environment.step(np.zeros(1, np.float32))
        assert reward == 1.0
        seen_observations.append(observation.tolist())
        flags.append((terminated, truncated))
        if terminated or truncated:
            seen_observations.append(environment.reset()[0].tolist())
    return seen_observations, flags


@pytest.mark.parametrize("environment", [ring.Ring(LimitIs.BOTH), Clock()])
def test_an_environment_keeps_the_rules_of_gymnasium(environment):
    """Gymnasium's own checker accepts the ring and the clock."""
    check_env(environment, skip_render_check=True)


@pytest.mark.parametrize(
    ("limit_is", "last"),
    [(LimitIs.TRUNCATION, (False, True)), (LimitIs.TERMINATION, (True, False))],
)
@pytest.mark.parametrize("make", [ring.Ring, lambda how: StepCounter(0, how)])
def test_an_episode_ends_after_eight_steps(make, limit_is, last):
    """The eighth step ends the episode, as the flag that was asked for, and no other step does."""
    _, flags = episodes(make(limit_is), 16)
    assert flags == [*[(False, False)] * 7, last] * 2


def test_the_counter_says_where_it_is():
    """Observations are (environment, episode, step), from 0 to 8 and on in the next episode."""
    observations, _ = episodes(StepCounter(number=3), 10)
    expected = [[3, 0, step] for step in range(9)] + [[3, 1, step] for step in range(3)]
    assert observations == expected


def test_clocks_end_their_episodes_at_different_times():
    """Environment n ends after 3 + n steps, and each of them meets an observation only once."""
    met = clock.simulate_steps(3, 16)
    assert len(met) == 3 * 16
    ends = [
        [k % 16 for k, end in enumerate(met.values()) if end and k // 16 == n] for n in range(3)
    ]
    assert ends == [[2, 5, 8, 11, 14], [3, 7, 11, 15], [4, 9, 14]]


def test_the_reward_of_a_clock_encodes_environment_time_and_action():
    """The reward is the number of the environment, the time and the action."""
    environment = Clock(2, LimitIs.TERMINATION)
    environment.reset()
    rewards = [environment.step(np.array([0.5], np.float32))[1] for _ in range(2)]
    assert rewards == [2 - clock.TICK / 2 + 0.5, 2 + 0.5]
