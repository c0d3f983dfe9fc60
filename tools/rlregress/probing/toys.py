"""Environments of the built-in trainings: every kind of end within a few dozen steps.

Runs inside foreign and old environments: gymnasium and NumPy only, Python 3.10 syntax.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

#: length and flags (terminated, truncated) of the episodes, one after the other, over and over.
_ENDS = ((7, True, False), (10, False, True), (5, True, True))
_MIX = np.array([[0.9, -0.2, 0.1], [0.2, 0.8, -0.1], [-0.1, 0.1, 0.7]])
_BOUND = 10.0
#: pixels of an edge: the least that the three convolutions of Nature DQN take.
_EDGE = 36
_CHOICES = 5


def _make_observation_box(kind: Any) -> spaces.Box:
    return spaces.Box(-_BOUND, _BOUND, (3,), kind)


def _make_image_space(*shape: int) -> spaces.Box:
    return spaces.Box(0, 255, shape, np.uint8)


def _make_action_box(kind: Any) -> spaces.Box:
    low, high = np.array([-2.0, -1.0], kind), np.array([2.0, 3.0], kind)
    return spaces.Box(low, high, dtype=kind)


_ACTIONS = {
    "box": lambda: _make_action_box(np.float32),
    "float64": lambda: _make_action_box(np.float64),
    "discrete": lambda: spaces.Discrete(3),
    "multi-discrete": lambda: spaces.MultiDiscrete([3, 2]),
    "multi-binary": lambda: spaces.MultiBinary(3),
}
_OBSERVATIONS = {
    "box": lambda: _make_observation_box(np.float32),
    "float64": lambda: _make_observation_box(np.float64),
    "integer": lambda: spaces.Box(-100, 100, (3,), np.int64),
    "discrete": lambda: spaces.Discrete(_CHOICES),
    "multi-discrete": lambda: spaces.MultiDiscrete([_CHOICES, 2]),
    "multi-binary": lambda: spaces.MultiBinary(3),
    "image": lambda: _make_image_space(_EDGE, _EDGE, 1),
    "image-channels-first": lambda: _make_image_space(2, _EDGE, _EDGE),
    "dict": lambda: spaces.Dict(
        {"mode": spaces.Discrete(_CHOICES), "state": _make_observation_box(np.float32)}
    ),
    "dict-image": lambda: spaces.Dict(
        {"state": _make_observation_box(np.float32), "view": _make_image_space(_EDGE, _EDGE, 1)}
    ),
    "goal": lambda: spaces.Dict(
        {
            "achieved_goal": spaces.Box(-_BOUND, _BOUND, (2,), np.float32),
            "desired_goal": spaces.Box(-_BOUND, _BOUND, (2,), np.float32),
            "observation": _make_observation_box(np.float32),
        }
    ),
}


class MixedEndsEnv(gymnasium.Env):
    """A damped linear system whose episodes terminate, are truncated, and both at once, in turn.

    Its state is three numbers. The spaces decide how it is observed and how actions push it.

    Args:
        discrete: whether actions are one of three choices: ``actions="discrete"``.
        actions: "box" (two numbers with different bounds), "float64", "discrete",
            "multi-discrete" or "multi-binary".
        observations: "box" (the state), "float64", "integer", "discrete", "multi-discrete",
            "multi-binary", "image", "image-channels-first", "dict", "dict-image" or "goal".
        first: the end to begin with, so that environments side by side end at different steps.
    """

    def __init__(
        self,
        discrete: bool = False,
        actions: str = "box",
        observations: str = "box",
        first: int = 0,
    ) -> None:
        self._actions = "discrete" if discrete else actions
        self._observations = observations
        self.action_space: Any = _ACTIONS[self._actions]()
        self.observation_space: Any = _OBSERVATIONS[observations]()
        self._episode, self._t, self._state = first - 1, 0, np.zeros(3)
        self._goal = np.zeros(2, np.float32)

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        """Return a state near zero, drawn from the environment's own generator."""
        super().reset(seed=seed)
        self._episode, self._t = self._episode + 1, 0
        self._state = self.np_random.uniform(-0.5, 0.5, size=3)
        if self._observations == "goal":
            self._goal = self.np_random.uniform(-1.0, 1.0, size=2).astype(np.float32)
        return self._make_observation(), {}

    def step(self, action: Any) -> Any:
        """Return the next state, a reward that depends on state and action, and flags by turns."""
        push = self._convert_action(action)
        self._t += 1
        self._state = _MIX @ self._state + 0.3 * np.array([push[0], push[1], push.sum()])
        length, terminates, truncates = _ENDS[self._episode % len(_ENDS)]
        ended = self._t >= length
        observation = self._make_observation()
        if self._observations == "goal":
            reward = float(self.compute_reward(observation["achieved_goal"], self._goal, {}))
        else:
            reward = 1.0 - float(np.sum(self._state**2)) - 0.1 * float(np.sum(push**2))
        return observation, reward, ended and terminates, ended and truncates, {}

    def compute_reward(self, achieved_goal: Any, desired_goal: Any, info: Any) -> Any:
        """Return zero near the goal, otherwise minus one; goals [.., 2] give rewards [..]."""
        distance = np.sqrt(np.sum((np.asarray(achieved_goal) - desired_goal) ** 2, axis=-1))
        return -(distance > 0.5).astype(np.float32)

    def _convert_action(self, action: Any) -> Any:
        numbers = np.asarray(action, dtype=np.float64).reshape(-1)
        if self._actions == "discrete":
            return np.array([numbers[0] - 1.0, 0.0])
        if self._actions == "multi-discrete":
            return np.array([numbers[0] - 1.0, numbers[1] - 0.5])
        if self._actions == "multi-binary":
            return np.array([numbers[0] - numbers[1], numbers[2] - 0.5])
        return numbers

    def _make_observation(self) -> Any:
        kind, state = self._observations, np.clip(self._state, -_BOUND, _BOUND)
        bucket = int(np.clip(np.floor(2.0 * state[0] + _CHOICES / 2), 0, _CHOICES - 1))
        if kind == "integer":
            return np.round(10.0 * state).astype(np.int64)
        if kind == "discrete":
            return bucket
        if kind == "multi-discrete":
            return np.array([bucket, int(state[1] > 0.0)])
        if kind == "multi-binary":
            return (state > 0.0).astype(np.int8)
        if kind.startswith("image"):
            return _render_state_as_image(state, self.observation_space.shape)
        numbers = state.astype(np.float64 if kind == "float64" else np.float32)
        if not isinstance(self.observation_space, spaces.Dict):
            return numbers
        return {
            name: self._make_observation_entry(name, numbers, bucket)
            for name in self.observation_space.spaces
        }

    def _make_observation_entry(self, name: str, numbers: Any, bucket: int) -> Any:
        entries: dict[str, Any] = {
            "achieved_goal": numbers[:2],
            "desired_goal": self._goal,
            "mode": bucket,
        }
        if name == "view":
            return _render_state_as_image(self._state, self.observation_space.spaces["view"].shape)
        return entries.get(name, numbers)


def _render_state_as_image(state: Any, shape: Any) -> Any:
    """Return pixels whose brightness rises along the axes in proportion to the state."""
    slopes = [np.linspace(-1.0, 1.0, size) for size in shape]
    rise = sum(
        number * slope.reshape([-1 if i == axis else 1 for i in range(3)])
        for axis, (number, slope) in enumerate(zip(state, slopes, strict=False))
    )
    # one channel has no slope of its own
    return np.clip(128.0 + 40.0 * (rise + state[2]), 0.0, 255.0).astype(np.uint8)
