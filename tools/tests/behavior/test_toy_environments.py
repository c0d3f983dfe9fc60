"""The toy environments behave as their true values assume."""

from __future__ import annotations

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from tests_behavior import clock, ring
from tests_behavior.clock import Clock, FinalOfAnother, RewardOfAnother
from tests_behavior.counter import FinalAsFirst, ResetAsFinal, StepCounter, numbered
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


@pytest.mark.parametrize("limit_is", LimitIs)
def test_the_ring_keeps_the_rules_of_gymnasium(limit_is):
    """Gymnasium's own checker accepts the ring, however its limit is reported."""
    check_env(ring.Ring(limit_is), skip_render_check=True)


@pytest.mark.parametrize(
    ("limit_is", "last"),
    [(LimitIs.TRUNCATION, (False, True)), (LimitIs.TERMINATION, (True, False))],
)
@pytest.mark.parametrize("make", [ring.Ring, lambda how: StepCounter(0, how)])
def test_an_episode_ends_after_eight_steps(make, limit_is, last):
    """The eighth step ends the episode, as the flag that was asked for, and no other step does."""
    _, flags = episodes(make(limit_is), 16)
    assert flags == [*[(False, False)] * 7, last] * 2


def test_the_ring_closes():
    """The observation after eight steps is that of the start, and each of the eight differs."""
    observations, _ = episodes(ring.Ring(LimitIs.TRUNCATION), 8)
    assert observations[:8] == ring.observations().tolist()
    assert observations[8] == observations[0]
    assert len({tuple(row) for row in observations}) == ring.STATES


def test_the_values_solve_the_equations_of_the_ring():
    """Both true values are one reward more than the discounted value of the state that follows."""
    discount = 0.98
    endless = ring.infinite_horizon_value(discount)
    assert endless == pytest.approx(50.0)
    assert endless == pytest.approx(1.0 + discount * endless)
    values = ring.finite_horizon_values(discount)
    np.testing.assert_allclose(values[:-1], 1.0 + discount * values[1:])
    assert values[-1] == pytest.approx(1.0)
    assert values[0] == pytest.approx(sum(discount**step for step in range(8)))


def test_the_counter_says_where_it_is():
    """Observations are (environment, episode, step), from 0 to 8 and on in the next episode."""
    observations, _ = episodes(StepCounter(number=3), 10)
    expected = [[3, 0, step] for step in range(9)] + [[3, 1, step] for step in range(3)]
    assert observations == expected


def test_environments_are_numbered_in_the_order_of_their_making():
    """A factory gives its first environment the number 0 and the second one 1."""
    make = numbered()
    assert [make().reset()[0][0] for _ in range(2)] == [0.0, 1.0]
    assert numbered()().reset()[0][0] == 0.0


def test_reset_as_final_hides_the_final_observation():
    """The faulty wrapper shows the 0 of the next episode in place of the 8, then goes on."""
    observations, flags = episodes(ResetAsFinal(StepCounter()), 10)
    assert [step for _, _, step in observations] == [0, 1, 2, 3, 4, 5, 6, 7, 0, 0, 1, 2]
    assert [episode for _, episode, _ in observations] == [0] * 8 + [1] * 4
    assert flags[7] == (False, True)


def test_final_as_first_shows_the_final_observation_twice():
    """The faulty wrapper shows the 8 again in place of the 0, then goes on."""
    observations, _ = episodes(FinalAsFirst(StepCounter()), 10)
    assert [step for _, _, step in observations] == [0, 1, 2, 3, 4, 5, 6, 7, 8, 8, 1, 2]


def test_the_clock_goes_on_across_episodes():
    """A reset goes back by half a tick, so that a final observation comes again as a second one."""
    steps = [(time / clock.TICK, ends) for (_, time), ends in clock.played(1, 7).items()]
    assert steps == [(-0.5, 0), (0, 0), (1, 1), (1.5, 0), (2, 0), (3, 1), (3.5, 0)]


def test_clocks_end_their_episodes_at_different_times():
    """Environment n ends after 3 + n steps, and each of them meets an observation only once."""
    met = clock.played(3, 16)
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


@pytest.mark.parametrize(
    ("fault", "reward", "final"), [(RewardOfAnother, 2.0, 1.0), (FinalOfAnother, 1.0, 2.0)]
)
def test_a_faulty_clock_reports_as_another_environment(fault, reward, final):
    """One wrapper does so in the reward, the other one in the final observation."""
    environment = fault(Clock(1))
    number, time = environment.reset()[0]
    for step in range(4):
        assert number == 1.0
        (number, after), paid, _, terminated, _ = environment.step(np.zeros(1, np.float32))
        assert paid == reward + time
        assert terminated == (step == 3)
        time = after
    assert number == final


def test_the_clock_keeps_the_rules_of_gymnasium():
    """Gymnasium's own checker accepts the clock."""
    check_env(Clock(), skip_render_check=True)
