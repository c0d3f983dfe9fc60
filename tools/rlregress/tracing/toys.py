"""Environments of the built-in trainings: every kind of end within a few dozen steps.

Runs inside foreign and old environments: gymnasium and NumPy only, Python 3.9 syntax.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

#: length and flags (terminated, truncated) of the episodes, one after the other, over and over.
_ENDS = ((7, True, False), (10, False, True), (5, True, True))
_MIX = np.array([[0.9, -0.2, 0.1], [0.2, 0.8, -0.1], [-0.1, 0.1, 0.7]])


class Ends(gymnasium.Env):
    """A damped linear system whose episodes terminate, are truncated, and both at once, in turn.

    Observations are three numbers, actions two with different bounds, or one of three choices.

    Args:
        discrete: whether actions are choices.
    """

    def __init__(self, discrete: bool = False) -> None:
        self._discrete = discrete
        self.observation_space = spaces.Box(-10.0, 10.0, (3,), np.float32)
        low, high = np.array([-2.0, -1.0], np.float32), np.array([2.0, 3.0], np.float32)
        self.action_space = spaces.Discrete(3) if discrete else spaces.Box(low, high)
        self._episode, self._t, self._state = -1, 0, np.zeros(3)

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        """A state near zero, drawn from the environment's own generator."""
        super().reset(seed=seed)
        self._episode, self._t = self._episode + 1, 0
        self._state = self.np_random.uniform(-0.5, 0.5, size=3)
        return self._state.astype(np.float32), {}

    def step(self, action: Any) -> Any:
        """The next state, a reward that depends on state and action, and the flags of the turn."""
        if self._discrete:
            push = np.array([float(action) - 1.0, 0.0])
        else:
            push = np.asarray(action, dtype=np.float64).reshape(2)
        self._t += 1
        self._state = _MIX @ self._state + 0.3 * np.array([push[0], push[1], push.sum()])
        length, terminates, truncates = _ENDS[self._episode % len(_ENDS)]
        ended = self._t >= length
        reward = 1.0 - float(np.sum(self._state**2)) - 0.1 * float(np.sum(push**2))
        observation = self._state.astype(np.float32)
        return observation, reward, ended and terminates, ended and truncates, {}
