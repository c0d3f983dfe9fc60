"""The one environment that the probes need: it plays a script and keeps the actions received."""

from __future__ import annotations

from typing import Any, Dict, List, Tuple

import gymnasium
import numpy as np
from gymnasium import spaces


class Scripted(gymnasium.Env):
    """Step t gives a scripted observation, reward and end, whatever the action.

    Each script is a number (the same at every step) or a vector [T]; step T starts over. A reset
    does not move t: it gives ``observations[t]``, and step t ends in ``next_observations[t]``.

    Attributes:
        received: the actions as they arrived, each [action dimensions].
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
    ) -> None:
        bounds = [np.atleast_1d(np.asarray(b, dtype=np.float32)) for b in (low, high)]
        self.action_space = spaces.Box(bounds[0], bounds[1], dtype=np.float32)
        self._shape = (observation_dimensions,)
        self.observation_space = spaces.Box(-np.inf, np.inf, self._shape, dtype=np.float32)
        scripts = (observations, next_observations, rewards, terminated, truncated)
        self._script = np.stack(np.broadcast_arrays(*(np.atleast_1d(s) for s in scripts)), axis=1)
        self._t = 0
        self.received: List[np.ndarray] = []

    def _observation(self, number: float) -> np.ndarray:
        return np.full(self._shape, number, dtype=np.float32)

    def reset(self, *, seed: Any = None, options: Any = None) -> Tuple[np.ndarray, Dict[str, Any]]:
        """The observation before step t."""
        super().reset(seed=seed)
        return self._observation(self._script[self._t % len(self._script), 0]), {}

    def step(self, action: np.ndarray) -> Tuple[np.ndarray, float, bool, bool, Dict[str, Any]]:
        """What the script says of step t."""
        _, following, reward, terminated, truncated = self._script[self._t % len(self._script)]
        self.received.append(np.array(action))
        self._t += 1
        return self._observation(following), float(reward), bool(terminated), bool(truncated), {}
