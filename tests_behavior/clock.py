"""Environments whose observations and rewards identify the environment and the time.

A row of a minibatch whose parts are of two steps, or of two environments, is readable at sight.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import gymnasium
import numpy as np

from tests_behavior.limit import LimitIs

#: positions in the observation
ENVIRONMENT, TIME = 0, 1
#: what one step adds to the time: small numbers, which no framework's wrappers clip
TICK = 1 / 8
#: the steps of an episode of environment 0; every other environment has one more than the last
SHORTEST = 3


class Clock(gymnasium.Env[np.ndarray, np.ndarray]):
    """The observation is (number of the environment, time); the time goes on across episodes.

    Observations are float64 [2]; actions are float32 [1] in [-1, 1]. The reward is the number of
    the environment, plus the time at which the action was given, plus the action within its bounds.
    An episode of environment n has 3 + n steps, so that episodes end at different times.

    Each step leads to the next whole tick. A reset goes back by half a tick: the observation that
    ends an episode comes again as the second one of the next episode, as the first one it never
    does. So the value of every next observation, the final one too, is known from a later row.

    Args:
        number: of this environment.
        limit_is: how the end of an episode is reported.
    """

    def __init__(self, number: int = 0, limit_is: LimitIs = LimitIs.TRUNCATION) -> None:
        self.observation_space = gymnasium.spaces.Box(-1.0, 1000.0, (2,), np.float64)
        self.action_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32)
        self._number = number
        self._limit_is = limit_is
        self._ticks = 0.0
        self._step = 0

    def _observation(self) -> np.ndarray:
        return np.array([self._number, self._ticks * TICK], dtype=np.float64)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Go back by half a tick, unless the last step was a reset too."""
        super().reset(seed=seed)
        self._ticks = math.ceil(self._ticks) - 0.5
        self._step = 0
        return self._observation(), {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        reward = self._number + self._ticks * TICK + float(np.clip(action[0], -1.0, 1.0))
        self._ticks = math.floor(self._ticks) + 1.0
        self._step += 1
        terminated, truncated = self._limit_is.make_flags(self._step == SHORTEST + self._number)
        return self._observation(), reward, terminated, truncated, {}


#: makes clocks whose limit is a termination; one object, so that caches know it again
TERMINATED = partial(Clock, limit_is=LimitIs.TERMINATION)


def simulate_steps(environments: int, steps: int) -> dict[tuple[float, float], bool]:
    """Return (environment, time) -> whether an episode ends, for all steps of an agent.

    In the order of the steps, environment by environment.
    """
    met = {}
    for number in range(environments):
        environment = Clock(number)
        observation = environment.reset()[0]
        for _ in range(steps):
            place = observation[ENVIRONMENT], observation[TIME]
            observation, _, _, met[place], _ = environment.step(np.zeros(1, np.float32))
            if met[place]:
                observation = environment.reset()[0]
    return met


def get_next_time(time: np.ndarray) -> np.ndarray:
    """Return the time of the observation after a step, whether or not it ends an episode."""
    return (np.floor(time / TICK) + 1.0) * TICK


class StepRecorder(gymnasium.Wrapper[np.ndarray, np.ndarray, np.ndarray, np.ndarray]):
    """Notes (environment, time) -> reward, and -> end of an episode, of every step.

    Args:
        paid: the table of rewards to fill.
        ends: the table of ends to fill.
    """

    def __init__(
        self,
        env: gymnasium.Env[Any, Any],
        paid: dict[tuple[float, float], float],
        ends: dict[tuple[float, float], bool],
    ) -> None:
        super().__init__(env)
        self._paid, self._ends = paid, ends
        self._here = (0.0, 0.0)

    def _note(self, observation: np.ndarray) -> None:
        self._here = float(observation[ENVIRONMENT]), float(observation[TIME])

    def reset(self, **options: Any) -> tuple[np.ndarray, dict[str, Any]]:
        observation, info = self.env.reset(**options)
        self._note(observation)
        return observation, info

    def step(self, action: np.ndarray) -> tuple[np.ndarray, Any, bool, bool, dict[str, Any]]:
        outcome = self.env.step(action)
        self._paid[self._here] = float(outcome[1])
        self._ends[self._here] = outcome[2] or outcome[3]
        self._note(outcome[0])
        return outcome


class PreviousAsFinal(gymnasium.Wrapper[np.ndarray, np.ndarray, np.ndarray, np.ndarray]):
    """A fault: an episode ends with the observation before its last step."""

    _place: np.ndarray

    def reset(self, **options: Any) -> tuple[np.ndarray, dict[str, Any]]:
        self._here, info = self.env.reset(**options)
        return self._here, info

    def step(self, action: np.ndarray) -> tuple[np.ndarray, Any, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = self.env.step(action)
        reported = self._here if terminated or truncated else observation
        self._here = observation
        return reported, reward, terminated, truncated, info


class RewardOfOtherClock(gymnasium.Wrapper[np.ndarray, np.ndarray, np.ndarray, np.ndarray]):
    """A fault: the reward is that of the next environment, for the same action and time."""

    def step(self, action: np.ndarray) -> tuple[np.ndarray, Any, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = self.env.step(action)
        return observation, float(reward) + 1.0, terminated, truncated, info


class FinalOfOtherClock(gymnasium.Wrapper[np.ndarray, np.ndarray, np.ndarray, np.ndarray]):
    """A fault: an episode ends with the observation of another environment at the same time.

    Args:
        by: the number of the other environment minus that of this one.
    """

    def __init__(self, env: gymnasium.Env[Any, Any], by: int = 1) -> None:
        super().__init__(env)
        self._by = by

    def step(self, action: np.ndarray) -> tuple[np.ndarray, Any, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = self.env.step(action)
        if terminated or truncated:
            observation = observation + np.array([self._by, 0.0])
        return observation, reward, terminated, truncated, info


def make_swapped(number: int) -> FinalOfOtherClock:
    """Return one of three clocks, which shows the final observation of another one of them."""
    return FinalOfOtherClock(Clock(number), by=1 if number < 2 else -2)
