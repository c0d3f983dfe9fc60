"""The environments that probes need: they play a script and keep the actions that they receive."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces


class Scripted(gymnasium.Env):
    """An environment whose step t gives a scripted observation, reward and end for any action.

    Each script is a number (the same at every step), a list [T], or of observations a table [T, n];
    step T starts over, each script by itself. A reset gives ``observations[t]``, and step t ends in
    ``next_observations[t]``. t goes on through a reset, or ``restarts`` there.

    Args:
        low, high: bounds of the action, a number or a number for each dimension.
        observation_dimensions: of observations that are given as numbers, which are repeated.
        discrete: number of discrete actions in the place of those within bounds; 0: none.
        restarts: every reset starts the scripts over, however far they are.
        received: the list that gets the actions; without it one of its own.
        dtype: of the observations.
        render_mode: gymnasium hands it over; there is nothing to be seen.

    Attributes:
        received: the actions as they arrived, float64, each [action dimensions].
        observation, reward: those given last.
    """

    def __init__(
        self,
        low: Any = -1.0,
        high: Any = 1.0,
        *,
        observation_dimensions: int = 1,
        observations: Any = 0.5,
        next_observations: Any = 0.5,
        rewards: Any = 1.0,
        terminated: Any = 0.0,
        truncated: Any = 0.0,
        discrete: int = 0,
        restarts: bool = False,
        received: list[np.ndarray] | None = None,
        dtype: Any = np.float32,
        render_mode: str | None = None,
    ) -> None:
        del render_mode
        bounds = [np.atleast_1d(np.asarray(bound, dtype=np.float32)) for bound in (low, high)]
        bounded = spaces.Box(bounds[0], bounds[1], dtype=np.float32)
        self.action_space: Any = spaces.Discrete(discrete) if discrete else bounded
        self._tables = [
            self._make_script_table(script, observation_dimensions, dtype)
            for script in (observations, next_observations)
        ]
        shape = self._tables[0].shape[1:]
        self.observation_space = spaces.Box(-np.inf, np.inf, shape, dtype=dtype)
        self._rewards = np.atleast_1d(rewards)
        self._ends = [np.atleast_1d(terminated), np.atleast_1d(truncated)]
        self._restarts = restarts
        self._t = 0
        self.received = [] if received is None else received
        self.observation = self._tables[0][0]
        self.reward = 0.0

    @staticmethod
    def _make_script_table(script: Any, dimensions: int, dtype: Any) -> np.ndarray:
        table = np.atleast_1d(np.asarray(script, dtype=dtype))
        return np.repeat(table[:, None], dimensions, axis=1) if table.ndim == 1 else table

    def _read_observation(self, table: np.ndarray) -> np.ndarray:
        self.observation = table[self._t % len(table)]
        return self.observation.copy()

    def reset(
        self, *, seed: int | None = None, options: Any = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Return the observation before step t."""
        super().reset(seed=seed)
        if self._restarts:
            self._t = 0
        return self._read_observation(self._tables[0]), {}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Return observation, reward and ends of step t."""
        self.received.append(np.array(action, dtype=np.float64))
        observation = self._read_observation(self._tables[1])
        terminated, truncated = (bool(ends[self._t % len(ends)]) for ends in self._ends)
        self.reward = float(self._rewards[self._t % len(self._rewards)])
        self._t += 1
        return observation, self.reward, terminated, truncated, {}


def make_script_of_end_after(steps: int) -> list[float]:
    """Return flags that are 1 at the last of ``steps`` steps, as a script of ends."""
    return [0.0] * (steps - 1) + [1.0]


def make_script_of_segment(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return a script of steps whose observations are the values that a critic is to output.

    Args:
        inputs: "values", "next_values" and "rewards" of the steps and, if any ends, "terminated"
            and "truncated".
    """
    ends = {name: inputs[name] for name in ("terminated", "truncated") if name in inputs}
    observations = {"observations": inputs["values"], "next_observations": inputs["next_values"]}
    return {**observations, "rewards": inputs["rewards"], **ends}


def make_counting_environment(
    steps: int, make: Callable[..., Any] = Scripted, **script: Any
) -> Any:
    """Return an environment that observes the number of steps done; it restarts after ``steps``.

    Args:
        make: makes the environment of such a script.
    """
    counted = np.arange(steps, dtype=np.float64)
    return make(observations=counted, next_observations=counted + 1.0, **script)


def make_env_truncated_then_terminated() -> Scripted:
    """Return an environment whose episodes are truncated after 3, then terminated after 2 steps."""
    return Scripted(
        observations=[0.0, 1.0, 2.0, 0.0, 1.0],
        next_observations=[1.0, 2.0, 3.0, 1.0, 2.0],
        terminated=[0.0, 0.0, 0.0, 0.0, 1.0],
        truncated=[0.0, 0.0, 1.0, 0.0, 0.0],
    )
