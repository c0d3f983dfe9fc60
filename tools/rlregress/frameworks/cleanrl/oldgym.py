"""The modules that the scripts of CleanRL 0.4.8 import and that no longer exist.

``gym`` 0.17 (an environment has ``seed``, and ``step`` returns four values), PyBullet's
registration and the vectorised environments of Stable-Baselines3 1.0, as far as the scripts use
them, over Gymnasium. They serve to probe what the scripts themselves do. Returns of such trainings
are not those of the published runs, which used other environments.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from functools import partial
from typing import Any

import gymnasium
import numpy as np

_TRUE = {"y", "yes", "t", "true", "on", "1"}


class Wrapper:
    """Takes every attribute that it lacks from its environment."""

    def __init__(self, env: Any) -> None:
        self.env = env

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "env":
            raise AttributeError(name)
        return getattr(self.env, name)


class OldEnvironment:
    """A Gymnasium environment with the interface of gym 0.17.

    Args:
        environment: the Gymnasium environment, its time limit included.
        watch: notes resets and steps; None: a vectorised environment reports those of all at once.
    """

    def __init__(self, environment: Any, watch: Any) -> None:
        self._environment, self.watch = environment, watch
        self._seed: int | None = None
        self.observation_space = environment.observation_space
        self.action_space = environment.action_space
        self.spec = environment.spec
        self.unwrapped, self.close = self, environment.close
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
        if self.watch is not None:
            self.watch.note_start()
        seed, self._seed = self._seed, None
        return self._environment.reset(seed=seed)[0]

    def step(self, action: Any) -> tuple[Any, float, bool, dict[str, Any]]:
        """Return (observation, reward, done for whatever reason, info)."""
        numbers = np.asarray(action, dtype=self.action_space.dtype)
        observation, reward, terminated, truncated, info = self._environment.step(numbers)
        if truncated:
            info["TimeLimit.truncated"] = not terminated
        if self.watch is not None:
            self.watch.note_step(1)
        return observation, float(reward), bool(terminated or truncated), info


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


class RecordEpisodeStatistics(Wrapper):
    """Adds return and length of a finished episode to its last info."""

    def reset(self, **kwargs: Any) -> Any:
        self._rewards: list[float] = []
        return self.env.reset(**kwargs)

    def step(self, action: Any) -> Any:
        observation, reward, done, info = self.env.step(action)
        self._rewards.append(reward)
        if done:
            info["episode"] = {"r": sum(self._rewards), "l": len(self._rewards), "t": 0.0}
            self._rewards = []
        return observation, reward, done, info


class VecEnv:
    """A stand-in for Stable-Baselines3's class of several environments that step together."""

    def step(self: Any, actions: Any) -> Any:
        """Step all environments, and reset those whose episode has ended."""
        self.step_async(actions)
        return self.step_wait()


class VecEnvWrapper(VecEnv, Wrapper):
    """Takes every attribute that it lacks from its environments, ``venv``."""

    def __init__(self, venv: Any) -> None:
        super().__init__(venv)
        self.venv = venv


class DummyVecEnv(VecEnv):
    """Environments that are stepped one after the other, and reported together."""

    def __init__(self, watch: Any, env_fns: Any) -> None:
        self._watch = watch
        self._actions: Any = None
        self.envs = [make() for make in env_fns]
        self.num_envs = len(self.envs)
        self.observation_space = self.envs[0].observation_space
        self.action_space = self.envs[0].action_space
        for environment in self.envs:
            environment.unwrapped.watch = None

    def _stack_rows(self, rows: Any) -> np.ndarray:
        return np.stack([np.asarray(row, dtype=self.observation_space.dtype) for row in rows])

    def reset(self) -> np.ndarray:
        self._watch.note_start()
        return self._stack_rows([environment.reset() for environment in self.envs])

    def step_async(self, actions: Any) -> None:
        self._actions = actions

    def step_wait(self) -> Any:
        rows = []
        for environment, action in zip(self.envs, self._actions, strict=False):
            observation, reward, done, info = environment.step(action)
            if done:
                info["terminal_observation"] = observation
                observation = environment.reset()
            rows.append((observation, reward, done, info))
        observations, rewards, dones, infos = zip(*rows, strict=False)
        self._watch.note_step(self.num_envs)
        return (
            self._stack_rows(observations),
            np.array(rewards, dtype=np.float32),
            np.array(dones, dtype=bool),
            list(infos),
        )

    def close(self) -> None:
        for environment in self.envs:
            environment.close()


def make_module(name: str, **content: Any) -> types.ModuleType:
    """Return a new module with this content."""
    module = types.ModuleType(name)
    vars(module).update(content)
    return module


def make_stub_modules(make_env: Callable[[str], Any], watch: Any) -> dict[str, types.ModuleType]:
    """Return name -> stub of each module that the scripts import and that no longer exists.

    Args:
        make_env: environment id -> a Gymnasium environment.
        watch: notes resets and steps of the script's environment or environments.
    """
    vectorised = partial(DummyVecEnv, watch)
    kinds = {kind.__name__: kind for kind in (Wrapper, ObservationWrapper, RewardWrapper)}
    # the scripts import the first two, and use them for videos or not at all
    wrappers = make_module(
        "gym.wrappers",
        TimeLimit=Wrapper,
        Monitor=Wrapper,
        RecordEpisodeStatistics=RecordEpisodeStatistics,
    )
    gym = make_module(
        "gym",
        make=lambda id, **_: OldEnvironment(make_env(id), watch),
        spaces=gymnasium.spaces,
        wrappers=wrappers,
        core=make_module("gym.core", **kinds),
        logger=gymnasium.logger,
        **kinds,
    )
    return {
        "gym": gym,
        "gym.wrappers": wrappers,
        "gym.spaces": gymnasium.spaces,
        "gym.core": gym.core,
        "pybullet_envs": make_module("pybullet_envs"),
        "stable_baselines3.common.vec_env": make_module(
            "stable_baselines3.common.vec_env",
            VecEnvWrapper=VecEnvWrapper,
            DummyVecEnv=vectorised,
            SubprocVecEnv=vectorised,
        ),
        # gone from the standard library with Python 3.12
        "distutils.util": make_module(
            "distutils.util", strtobool=lambda text: text.lower() in _TRUE
        ),
    }
