"""The smallest environments, each of which needs one thing more than those before it.

After Andy Jones, "Debugging RL, without the agonizing pain" (probe environments): an agent that
fails at one of them, and not at those before, lacks what that one needs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np

#: of rewards that come a step later
DISCOUNT = 0.5


#: How far a value or an action may be away. A value that knows nothing is 0.5 (delay) or 1 away,
#: the wrong one of two actions 1, the wrong bound 2.
VALUE_TOLERANCE, ACTION_TOLERANCE = 0.3, 0.8


@dataclass(frozen=True)
class Rung:
    """One environment, and the value or action to be learned in it.

    Attributes:
        name: of the rung.
        because: why the value or the action is what it is.
        suspect: what an agent lacks that fails here and not below.
        observed: the reward depends on the observation.
        steps: of an episode; the reward is that of the last one.
        acted: the reward depends on the action.
        within: name of a higher rung, which nobody climbs who does not climb this one; or empty.
    """

    name: str
    because: str
    suspect: str
    observed: bool = False
    steps: int = 1
    acted: bool = False
    within: str = ""


#: from the lowest to the highest
RUNGS = (
    Rung(
        "constant",
        "the reward is always 1",
        "the value's loss, its optimiser, or the reward on its way there",
        within="observation",
    ),
    Rung(
        "observation",
        "the reward is the observation",
        "the observation on its way to the value, or rows of observations and rewards",
        observed=True,
    ),
    Rung(
        "delay",
        f"the reward 1 comes with observation 1, the discount is {DISCOUNT:g}",
        "discount or bootstrapping",
        steps=2,
    ),
    Rung(
        "action",
        "the reward is the action",
        "the policy's loss, the sign of the advantage, or the action on its way there",
        acted=True,
        within="both",
    ),
    Rung(
        "both",
        "the reward is the action times the observation",
        "the observation on its way to the policy, or rows of observations and actions",
        observed=True,
        acted=True,
    ),
)


class Ladder(gymnasium.Env[np.ndarray, Any]):
    """One rung.

    Observations are float32 [1]: 1 or -1, by chance, on a rung where they matter or where there
    are two steps in the order -1 and 1; else 1. An episode terminates with its last step, whose
    reward is 1, or the observation, or the action, or the product of both. The best action is at a
    bound, so that a policy that has gone there too fast is not lost.

    Args:
        rung: which.
        discrete: one of two actions, which stand for -1 and 1; else float32 [1] in [-1, 1].
    """

    def __init__(self, rung: Rung, discrete: bool) -> None:
        self.observation_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32)
        self.action_space: Any = (
            gymnasium.spaces.Discrete(2)
            if discrete
            else gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32)
        )
        self._rung, self._discrete = rung, discrete
        self._step, self._side = 0, 1.0

    def _observation(self) -> np.ndarray:
        return np.array([self._side], dtype=np.float32)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self._step = 0
        self._side = 1.0
        if self._rung.observed:
            self._side = float(self.np_random.choice([-1.0, 1.0]))
        elif self._rung.steps == 2:
            self._side = -1.0
        return self._observation(), {}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        self._step += 1
        if self._step < self._rung.steps:
            self._side = 1.0
            return self._observation(), 0.0, False, False, {}
        reward = self._side if self._rung.observed else 1.0
        if self._rung.acted:
            reward *= 2.0 * action - 1.0 if self._discrete else float(np.ravel(action)[0])
        return self._observation(), reward, True, False, {}


def list_observations(rung: Rung) -> np.ndarray:
    """Return all observations of a rung, float32 [n, 1], those of the first step first."""
    two = rung.observed or rung.steps == 2
    return np.array([[-1.0], [1.0]] if two else [[1.0]], dtype=np.float32)


def list_true_values(rung: Rung) -> np.ndarray:
    """Return the value of each observation if the best action is taken, float64 [n]."""
    sides = list_observations(rung)[:, 0].astype(np.float64)
    if rung.steps == 2:
        return np.array([DISCOUNT, 1.0])
    return sides if rung.observed and not rung.acted else np.ones(len(sides))


def list_best_actions(rung: Rung, discrete: bool) -> np.ndarray | None:
    """Return the best action for each observation, [n]; None if the reward ignores actions."""
    if not rung.acted:
        return None
    sides = list_observations(rung)[:, 0].astype(np.float64)
    return (sides > 0).astype(float) if discrete else sides
