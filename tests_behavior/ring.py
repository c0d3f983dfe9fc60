"""A ring of states with reward 1: its value is known exactly, with and without an end."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

from tests_behavior.limit import TIME_LIMIT, LimitIs

#: As many states as an episode has steps. So the observation tells how much time is left, and the
#: finite-horizon value is a function of it: exact for any mixture of n-step returns.
STATES = TIME_LIMIT

#: What marks the state in its observation. It is small, so that a linear critic first learns what
#: all states have in common (its bias); ones make the values chase each other around the ring.
MARK = 0.1


class Ring(gymnasium.Env[np.ndarray, np.ndarray]):
    """Every step moves on by one state and gives reward 1, whatever the action.

    Observations are float64 [8], MARK at the state and 0 elsewhere; actions are float32 [1] in
    [-1, 1]. An episode starts in state 0 and is ended after 8 steps, again in state 0. Whether
    that end is reported as truncation or as termination decides which value is true
    (``infinite_horizon_value`` or ``finite_horizon_values``); see Pardo et al. 2018, "Time Limits
    in Reinforcement Learning".

    Args:
        limit_is: how the end is reported.
    """

    def __init__(self, limit_is: LimitIs) -> None:
        self.observation_space = gymnasium.spaces.Box(0.0, MARK, (STATES,), np.float64)
        self.action_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32)
        self._limit_is = limit_is
        self._step = 0

    def _observation(self) -> np.ndarray:
        return list_observations()[self._step % STATES]

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self._step = 0
        return self._observation(), {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        self._step += 1
        terminated, truncated = self._limit_is.make_flags(self._step == TIME_LIMIT)
        return self._observation(), 1.0, terminated, truncated, {}


def list_observations() -> np.ndarray:
    """Return the observations of all states, in the order of the ring: float64 [8, 8]."""
    return MARK * np.eye(STATES, dtype=np.float64)


def infinite_horizon_value(discount: float) -> float:
    """Return the value of every state if the task has no time limit: 1 / (1 - discount)."""
    return 1.0 / (1.0 - discount)


def finite_horizon_values(discount: float) -> np.ndarray:
    """Return the values of the states if the task ends at the limit: float64 [8].

    (1 - discount^n) / (1 - discount) with n = 8, 7, ... 1 steps left.
    """
    steps_left = TIME_LIMIT - np.arange(STATES)
    return (1.0 - discount**steps_left) / (1.0 - discount)
