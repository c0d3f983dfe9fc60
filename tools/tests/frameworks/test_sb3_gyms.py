"""What a version of Stable-Baselines3 before 2.0 is given: environments and spaces of gym."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from rlregress.frameworks.sb3 import compat, gyms


class Counting(gymnasium.Env):
    """Ends as its script says; its observation tells the seed and the steps since the reset."""

    def __init__(self, *ends):
        self.observation_space = spaces.Box(-1e9, 1e9, (2,), np.float64)
        self.action_space = spaces.Discrete(3)
        self.ends, self.received = list(ends), []

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.zeros(2), {}

    def step(self, action):
        self.received.append(action)
        return np.ones(2), np.float32(2.0), *self.ends.pop(0), {"own": 1}


@pytest.mark.parametrize(
    ("terminated", "truncated", "done", "message"),
    [
        (False, False, False, {}),
        (True, False, True, {}),
        (False, True, True, {"TimeLimit.truncated": True}),
        (True, True, True, {"TimeLimit.truncated": False}),
    ],
)
def test_a_step_answers_with_four_values(terminated, truncated, done, message):
    """Done for whatever reason; of a truncation the info tells, as gym's TimeLimit does."""
    environment = Counting((terminated, truncated))
    observation, reward, ended, info = gyms.OldGymEnv(environment).step(2)
    assert observation.tolist() == [1.0, 1.0]
    assert (reward, ended, info) == (2.0, done, {"own": 1, **message})
    assert environment.received == [2]


def test_advantages_are_left_as_they_are_by_a_normalisation():
    """Their mean and deviation are said to be 0 and 1; what comes out is an ordinary tensor."""
    torch = pytest.importorskip("torch")
    given = torch.tensor([1.0, 5.0])
    as_they_are = given.as_subclass(compat._UnnormalisedAdvantages)
    normalised = (as_they_are - as_they_are.mean()) / (as_they_are.std() + 1e-8)
    assert type(normalised) is torch.Tensor
    assert normalised.tolist() == given.tolist()
    assert normalised.mean().item() == 3.0
