"""Environments whose observations identify the environment, the episode and the step.

They show at sight which row of a rollout or a replay buffer is wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import gymnasium
import numpy as np

from tests_behavior.limit import TIME_LIMIT, LimitIs

#: positions in the observation
ENVIRONMENT, EPISODE, STEP = 0, 1, 2


class StepCounter(gymnasium.Env[np.ndarray, np.ndarray]):
    """The observation is (number of the environment, number of the episode, step).

    Observations are float64 [3]; actions are float32 [1] in [-1, 1] and change nothing; the reward
    is 1. An episode has steps 0 to 8 and is ended on arriving at 8.

    Args:
        number: of this environment.
        limit_is: how the end is reported.
    """

    def __init__(self, number: int = 0, limit_is: LimitIs = LimitIs.TRUNCATION) -> None:
        self.observation_space = gymnasium.spaces.Box(0.0, np.inf, (3,), np.float64)
        self.action_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32)
        self._number = number
        self._limit_is = limit_is
        self._episode = -1
        self._step = 0

    def _observation(self) -> np.ndarray:
        return np.array([self._number, self._episode, self._step], dtype=np.float64)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Start the next episode at step 0."""
        super().reset(seed=seed)
        self._episode += 1
        self._step = 0
        return self._observation(), {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        self._step += 1
        terminated, truncated = self._limit_is.make_flags(self._step == TIME_LIMIT)
        return self._observation(), 1.0, terminated, truncated, {}


def number_environments(
    make: Callable[[int], gymnasium.Env[Any, Any]] = StepCounter,
) -> Callable[[], gymnasium.Env[Any, Any]]:
    """Return a factory that calls ``make`` with the numbers 0, 1, ... in turn."""
    numbers = count()
    return lambda: make(next(numbers))


class ResetAsFinal(gymnasium.Wrapper[np.ndarray, np.ndarray, np.ndarray, np.ndarray]):
    """A fault: the last step of an episode returns the first observation of the next one.

    So does a vectorised environment that resets within the step and loses the final observation.
    """

    _first: np.ndarray | None = None

    def step(self, action: np.ndarray) -> tuple[np.ndarray, Any, bool, bool, dict[str, Any]]:
        """Step; at the end of an episode, reset and return that observation."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        if terminated or truncated:
            self._first = observation = self.env.reset()[0]
        return observation, reward, terminated, truncated, info

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Reset, unless the last step has already done it."""
        first, self._first = self._first, None
        return (first, {}) if first is not None else self.env.reset(seed=seed, options=options)


class FinalAsFirst(gymnasium.Wrapper[np.ndarray, np.ndarray, np.ndarray, np.ndarray]):
    """A fault: an episode begins with the last observation of the one before.

    So does a vectorised environment that resets one step late, to a caller that expects the reset
    within the step.
    """

    _final: np.ndarray | None = None

    def step(self, action: np.ndarray) -> tuple[np.ndarray, Any, bool, bool, dict[str, Any]]:
        """Step, and remember the observation that ends an episode."""
        result = self.env.step(action)
        self._final = result[0] if result[2] or result[3] else None
        return result

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Reset; return the final observation of the last episode, if there was one."""
        first, info = self.env.reset(seed=seed, options=options)
        return (self._final if self._final is not None else first), info
