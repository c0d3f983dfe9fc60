"""The episodes of a training are written down as its environments end them."""

from __future__ import annotations

import gymnasium
import numpy as np

from rlregress.inside.episodes import Episodes, compute_return_of_last_third


class Countdown(gymnasium.Env):
    """Pays 1, 2, 3, ... and ends after ``length`` steps, terminated or truncated."""

    observation_space = gymnasium.spaces.Box(0, 9, (1,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, length: int, truncated: bool = False) -> None:
        self.length, self.truncated = length, truncated

    def reset(self, *, seed=None, options=None):
        self.at = 0
        return np.zeros(1, np.float32), {}

    def step(self, action):
        self.at += 1
        end = self.at == self.length
        ends = (end and not self.truncated, end and self.truncated)
        return np.full(1, self.at, np.float32), float(self.at), *ends, {}


def test_every_episode_has_its_return_and_its_length():
    """Episodes of 3 and of 2 steps, side by side: steps are those of both environments."""
    episodes = Episodes()
    both = [
        episodes.wrap_environment(Countdown(3)),
        episodes.wrap_environment(Countdown(2, truncated=True)),
    ]
    for environment in both:
        environment.reset(seed=0)
    for _ in range(3):
        for environment in both:
            if environment.step(0)[2:4] != (False, False):
                environment.reset()
    assert episodes.finished == [(4, 3.0, 2), (5, 6.0, 3)]


def test_an_episode_that_is_cut_off_by_a_reset_does_not_count():
    """An episode that a reset ends has no return, and adds nothing to the next one."""
    episodes = Episodes()
    environment = episodes.wrap_environment(Countdown(2))
    environment.reset()
    environment.step(0)
    environment.reset()
    environment.step(0)
    environment.step(0)
    assert episodes.finished == [(3, 3.0, 2)]


def _through(environment, steps):
    environment.reset()
    for _ in range(steps):
        if environment.step(0)[2:4] != (False, False):
            environment.reset()


def test_the_latest_episodes_are_those_of_the_last_third():
    """The last two of six episodes are kept whole, with their final observation; at most ten."""
    episodes = Episodes()
    _through(episodes.wrap_environment(Countdown(2, truncated=True)), 12)
    latest = episodes.list_latest_episodes()
    assert len(latest) == 2
    for episode in latest:
        assert [float(observation[0]) for observation in episode.observations] == [0.0, 1.0, 2.0]
        assert (episode.rewards, episode.terminated) == ([1.0, 2.0], False)
    _through(episodes.wrap_environment(Countdown(1)), 120)
    assert len(episodes.list_latest_episodes()) == 10


def test_at_least_the_last_episode_is_there():
    """One that ended before the last third is better than none; then one that is running."""
    episodes = Episodes()
    environment = episodes.wrap_environment(Countdown(10))
    assert episodes.list_latest_episodes() == []
    _through(environment, 4)
    (running,) = episodes.list_latest_episodes()
    assert (running.rewards, running.terminated) == ([1.0, 2.0, 3.0, 4.0], False)
    environment.env.length = 5
    environment.step(0)
    _through(environment, 4)
    (last,) = episodes.list_latest_episodes()
    assert (len(last.rewards), last.terminated) == (5, True)


def test_the_late_return_is_that_of_the_last_third():
    """Episodes that end after step 60 of 90 count, at least the last one; a NaN spoils the mean."""
    episodes = [(30, 1.0, 30), (60, 2.0, 30), (70, 4.0, 10), (90, 6.0, 20)]
    assert compute_return_of_last_third(episodes, 90) == 5.0
    assert compute_return_of_last_third(episodes[:2], 90) == 2.0
    assert compute_return_of_last_third([], 90) is None
    assert compute_return_of_last_third([*episodes, (90, float("nan"), 1)], 90) is None
