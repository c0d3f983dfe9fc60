"""The episodes of a training are written down as its environments end them."""

from __future__ import annotations

import gymnasium
import numpy as np

from rlregress.training.episodes import Episodes


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
    both = [episodes.counted(Countdown(3)), episodes.counted(Countdown(2, truncated=True))]
    for environment in both:
        environment.reset(seed=0)
    for _ in range(3):
        for environment in both:
            if environment.step(0)[2:4] != (False, False):
                environment.reset()
    assert episodes.ended == [(4, 3.0, 2), (5, 6.0, 3)]


def test_an_episode_that_is_cut_off_by_a_reset_does_not_count():
    """What a reset breaks off has no return, and adds nothing to the next episode."""
    episodes = Episodes()
    environment = episodes.counted(Countdown(2))
    environment.reset()
    environment.step(0)
    environment.reset()
    environment.step(0)
    environment.step(0)
    assert episodes.ended == [(3, 3.0, 2)]
