"""The modules that the scripts of CleanRL 0.4.8 import and that no longer exist.

``gym`` 0.17 (an environment has ``seed``, and ``step`` returns four values), PyBullet's
registration and the vectorised environments of Stable-Baselines3 1.0, as far as the scripts use
them, over Gymnasium. They serve to probe what the scripts themselves do. Returns of such trainings
are not those of the published runs, which used other environments.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np

from rlregress.frameworks.cleanrl.oldvec import (
    VecEnv,
    VecEnvWrapper,
    Watch,
    make_dummy_vec_env_class,
)

_TRUE = {"y", "yes", "t", "true", "on", "1"}


class Env:
    """A stand-in for gym's base class of environments, which the scripts import."""

    observation_space: Any = None
    action_space: Any = None
    metadata: dict[str, Any] = {}
    spec: Any = None

    @property
    def unwrapped(self) -> Any:
        return self


class OldEnvironment(Env):
    """A Gymnasium environment with the interface of gym 0.17.

    Args:
        environment: the Gymnasium environment, its time limit included.
        watch: notes resets and steps, unless a vectorised environment reports them.
    """

    def __init__(self, environment: Any, watch: Watch) -> None:
        self._environment = environment
        self._watch: Watch | None = watch
        self._seed: int | None = None
        self.observation_space = environment.observation_space
        self.action_space = environment.action_space
        self.spec = environment.spec
        self.np_random = np.random.RandomState()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._environment.unwrapped, name)

    def seed(self, seed: int | None = None) -> list[int | None]:
        """Seed the next reset; later resets continue its random numbers."""
        self._seed = seed
        self.np_random = np.random.RandomState(seed)
        return [seed]

    def reset(self, **_: Any) -> Any:
        if self._watch is not None:
            self._watch.note_start()
        seed, self._seed = self._seed, None
        return self._environment.reset(seed=seed)[0]

    def step(self, action: Any) -> tuple[Any, float, bool, dict[str, Any]]:
        """Return (observation, reward, done for whatever reason, info)."""
        numbers = np.asarray(action, dtype=self.action_space.dtype)
        observation, reward, terminated, truncated, info = self._environment.step(numbers)
        if truncated:
            info["TimeLimit.truncated"] = not terminated
        outcome = (observation, float(reward), bool(terminated or truncated), info)
        if self._watch is not None:
            self._watch.note_step(1, action, outcome)
        return outcome

    def render(self, *args: Any, **kwargs: Any) -> None:
        """Render nothing."""

    def close(self) -> None:
        self._environment.close()

    def stop_reporting(self) -> None:
        """Report nothing more: a vectorised environment reports the steps of all at once."""
        self._watch = None


class Wrapper(Env):
    """Delegates unknown attributes to its environment."""

    def __init__(self, env: Any) -> None:
        self.env = env
        self.observation_space = env.observation_space
        self.action_space = env.action_space
        self.spec = env.spec

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "env":
            raise AttributeError(name)
        return getattr(self.env, name)

    @property
    def unwrapped(self) -> Any:
        return self.env.unwrapped

    def step(self, action: Any) -> Any:
        return self.env.step(action)

    def reset(self, **kwargs: Any) -> Any:
        return self.env.reset(**kwargs)

    def seed(self, seed: int | None = None) -> Any:
        return self.env.seed(seed)

    def close(self) -> None:
        self.env.close()


class ObservationWrapper(Wrapper):
    """Changes observations by ``observation``."""

    def reset(self, **kwargs: Any) -> Any:
        return self.observation(self.env.reset(**kwargs))

    def step(self, action: Any) -> Any:
        observation, *results = self.env.step(action)
        return (self.observation(observation), *results)


class RewardWrapper(Wrapper):
    """Changes rewards by ``reward``."""

    def step(self, action: Any) -> Any:
        observation, reward, done, info = self.env.step(action)
        return observation, self.reward(reward), done, info


class TimeLimit(Wrapper):
    """Is imported by all scripts; only that of DDPG, which cannot be probed, would use it."""


class Monitor(Wrapper):
    """Stands in for a wrapper that recorded videos, and records nothing."""

    def __init__(self, env: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(env)


class RecordEpisodeStatistics(Wrapper):
    """Adds return and length of a finished episode to its last info."""

    def __init__(self, env: Any, *args: Any) -> None:
        super().__init__(env)
        self._return, self._length = 0.0, 0

    def reset(self, **kwargs: Any) -> Any:
        self._return, self._length = 0.0, 0
        return self.env.reset(**kwargs)

    def step(self, action: Any) -> Any:
        observation, reward, done, info = self.env.step(action)
        self._return += reward
        self._length += 1
        if done:
            info["episode"] = {"r": self._return, "l": self._length, "t": 0.0}
            self._return, self._length = 0.0, 0
        return observation, reward, done, info


def _make_module(name: str, **content: Any) -> types.ModuleType:
    module = types.ModuleType(name)
    vars(module).update(content)
    return module


def make_stub_modules(make_env: Callable[[str], Any], watch: Watch) -> dict[str, types.ModuleType]:
    """Return name -> stub of each module that the scripts import and that no longer exists.

    Args:
        make_env: environment id -> a Gymnasium environment.
        watch: notes resets and steps of the script's environment or environments.
    """
    vectorised = make_dummy_vec_env_class(watch)
    kinds = {kind.__name__: kind for kind in (Env, Wrapper, ObservationWrapper, RewardWrapper)}
    wrappers = _make_module(
        "gym.wrappers",
        TimeLimit=TimeLimit,
        Monitor=Monitor,
        RecordEpisodeStatistics=RecordEpisodeStatistics,
    )
    gym = _make_module(
        "gym",
        make=lambda id, **_: OldEnvironment(make_env(id), watch),
        spaces=gymnasium.spaces,
        wrappers=wrappers,
        core=_make_module("gym.core", **kinds),
        logger=gymnasium.logger,
        **kinds,
    )
    return {
        "gym": gym,
        "gym.wrappers": wrappers,
        "gym.spaces": gymnasium.spaces,
        "gym.core": gym.core,
        "pybullet_envs": _make_module("pybullet_envs"),
        "stable_baselines3.common.vec_env": _make_module(
            "stable_baselines3.common.vec_env",
            VecEnv=VecEnv,
            VecEnvWrapper=VecEnvWrapper,
            DummyVecEnv=vectorised,
            SubprocVecEnv=vectorised,
        ),
        # gone from the standard library with Python 3.12
        "distutils.util": _make_module(
            "distutils.util", strtobool=lambda text: text.lower() in _TRUE
        ),
    }
