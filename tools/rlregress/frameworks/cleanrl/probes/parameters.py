"""Probes of what a user hands over, and of the next observation that is stored."""

from __future__ import annotations

from functools import partial
from typing import Any, Callable, Dict

import gymnasium
import numpy as np
from gymnasium import spaces

from rlregress.frameworks.base import Inputs
from rlregress.frameworks.cleanrl.probes.helpers import critics, small_runs
from rlregress.frameworks.cleanrl.probes.helpers.target_noise import smoothed_actions
from rlregress.frameworks.cleanrl.sources import Source

_SAC, _TD3 = "sac_continuous_action", "td3_continuous_action"


def _coefficient(script: str, source: Source, inputs: Inputs) -> np.ndarray:
    return critics.polyak(script, source, inputs, tau=float(inputs["coefficient"]))


def _target_noise(source: Source, inputs: Inputs) -> np.ndarray:
    wide = smoothed_actions(source, inputs, True, policy_noise=5.0, noise_clip=0.3)
    narrow = smoothed_actions(source, inputs, True, policy_noise=0.01, noise_clip=0.5)
    return np.array([np.max(np.abs(wide)), np.std(narrow)])


class _Counting(gymnasium.Env):
    """Shows the steps since the reset; the third of one episode truncates, the second of the next
    terminates, and so on in turn."""

    def __init__(self) -> None:
        self.observation_space = spaces.Box(-100.0, 100.0, (1,), np.float32)
        self.action_space = spaces.Box(-1.0, 1.0, (1,), np.float32)
        self._episodes, self._t = 0, 0

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        """The observation 0."""
        super().reset(seed=seed)
        self._episodes, self._t = self._episodes + 1, 0
        return np.zeros(1, np.float32), {}

    def step(self, action: Any) -> Any:
        """The number of the step."""
        self._t += 1
        truncates = self._episodes % 2 == 1
        ended = self._t == (3 if truncates else 2)
        observation = np.full(1, self._t, np.float32)
        return observation, 0.0, ended and not truncates, ended and truncates, {}


def _next_observation(source: Source, inputs: Inputs) -> np.ndarray:
    ended = small_runs.off_policy(source, _SAC, int(inputs["steps"]), environment=_Counting())
    buffer = ended["rb"]
    if hasattr(buffer, "buffer"):
        stored = [float(np.ravel(transition[3])[0]) for transition in buffer.buffer]
    else:
        stored = buffer.next_observations.reshape(-1).tolist()
    return np.array([stored[2], stored[4]])


PROBES: Dict[str, Callable[[Source, Inputs], np.ndarray]] = {
    "sac.target_update.parameter": partial(_coefficient, _SAC),
    "td3.target_update.parameter": partial(_coefficient, _TD3),
    "td3.target_noise.parameter": _target_noise,
    "replay.next_observation": _next_observation,
}
