"""Environments that play back what a probe is given, and record the actions that reach them."""

from __future__ import annotations

from typing import Any, List, Sequence

import gymnasium
import numpy as np
from gymnasium import spaces

from rlregress.frameworks.torchrl.api import GymWrapper


class Playback(gymnasium.Env):
    """Plays back observations, rewards and flags, step after step, each of them over and over.

    Args:
        low, high: the action bounds, a number per action dimension.
        observations, next_observations: before and after each step, [T] numbers or [T, n].
        rewards, terminated, truncated: [T].
        actions: receives every action that the environment is given.
        dtype: of the observations.
    """

    def __init__(
        self,
        low: Any = -1.0,
        high: Any = 1.0,
        observations: Sequence[Any] = (0.0,),
        next_observations: Sequence[Any] = (0.0,),
        rewards: Sequence[float] = (0.0,),
        terminated: Sequence[float] = (0.0,),
        truncated: Sequence[float] = (0.0,),
        actions: Any = None,
        render_mode: Any = None,
        dtype: Any = np.float32,
    ) -> None:
        self._observations = np.asarray(observations, dtype=dtype)
        self._next = np.asarray(next_observations, dtype=dtype)
        self._outcomes = [list(column) for column in (rewards, terminated, truncated)]
        self._done = 0
        self.actions: List[np.ndarray] = [] if actions is None else actions
        self.observation_space = spaces.Box(
            -np.inf, np.inf, self._at(self._observations, 0).shape, dtype
        )
        self.action_space = spaces.Box(
            np.atleast_1d(np.asarray(low, dtype=np.float32)),
            np.atleast_1d(np.asarray(high, dtype=np.float32)),
            dtype=np.float32,
        )

    @staticmethod
    def _at(table: np.ndarray, step: int) -> np.ndarray:
        return np.atleast_1d(table[step % len(table)]).copy()

    def reset(self, *, seed=None, options=None):
        """Go on with the step that comes next."""
        super().reset(seed=seed)
        return self._at(self._observations, self._done), {}

    def step(self, action):
        """The recorded step, whatever the action."""
        self.actions.append(np.array(action, dtype=np.float64))
        reward, terminated, truncated = [x[self._done % len(x)] for x in self._outcomes]
        observation = self._at(self._next, self._done)
        self._done += 1
        return observation, float(reward), bool(terminated), bool(truncated), {}


def wrapped(environment: gymnasium.Env) -> GymWrapper:
    """As TorchRL sees it."""
    return GymWrapper(environment, device="cpu")
