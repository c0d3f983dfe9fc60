"""Small runs of whole scripts on an environment that is known step by step."""

from __future__ import annotations

from typing import Any, List

import gymnasium
import numpy as np
from gymnasium import spaces

from rlregress.frameworks.cleanrl.running import ScriptRun, run_script
from rlregress.frameworks.cleanrl.sources import Source


class Steps(gymnasium.Env):
    """Every step earns 1; every ``episode``-th terminates, is truncated, or both.

    Attributes:
        received: the actions as they arrived, each [1].
    """

    def __init__(
        self,
        episode: int = 1_000_000,
        terminates: bool = True,
        truncates: bool = False,
        low: float = -1.0,
        high: float = 1.0,
        discrete: bool = False,
    ) -> None:
        self.observation_space = spaces.Box(-1.0, 1.0, (1,), np.float32)
        box = spaces.Box(np.float32(low), np.float32(high), (1,), np.float32)
        self.action_space = spaces.Discrete(2) if discrete else box
        self._ends = (terminates, truncates)
        self._episode, self._t = episode, 0
        self.received: List[np.ndarray] = []

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        """The only observation there is."""
        super().reset(seed=seed)
        self._t = 0
        return np.zeros(1, np.float32), {}

    def step(self, action: Any) -> Any:
        """Reward 1, and an end at the end of the episode."""
        self.received.append(np.array(action, dtype=np.float64))
        self._t += 1
        ended = self._t >= self._episode
        flags = [ended and flag for flag in self._ends]
        return np.zeros(1, np.float32), 1.0, *flags, {}


def off_policy(
    source: Source, script: str, steps: int, environment: Any = None, **settings: Any
) -> ScriptRun:
    """A run of an off-policy script with a small replay buffer; no updates unless asked for."""
    shimmed = settings.pop("shimmed", True)
    patches = settings.pop("patches", ())
    overrides = {
        "total_timesteps": steps,
        "buffer_size": 4 * steps,
        "learning_starts": steps,
        "batch_size": 2 * steps,
        **settings,
    }
    made = Steps() if environment is None else environment
    path = source.script(script).path
    return run_script(path, overrides, make_env=lambda: made, shimmed=shimmed, patches=patches)


def stored(buffer: Any) -> int:
    """How many transitions a script's replay buffer holds."""
    return len(buffer.buffer) if hasattr(buffer, "buffer") else int(buffer.size())


def rewards(buffer: Any) -> np.ndarray:
    """The rewards of the transitions that a script's replay buffer holds, in order of storage."""
    if hasattr(buffer, "buffer"):
        return np.array([float(transition[2]) for transition in buffer.buffer])
    return np.array(buffer.rewards[: buffer.size()], dtype=np.float64).reshape(-1)
