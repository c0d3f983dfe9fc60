"""The vectorised environments of Stable-Baselines3 1.0, as CleanRL 0.4.8 uses them."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np


class Watch(Protocol):
    """Notes what happens to the environments of a script."""

    def note_start(self) -> None:
        """Note that environments are about to be reset."""

    def note_step(self, environments: int, actions: Any, outcome: tuple[Any, ...]) -> None:
        """Note the results of a step of one or several environments."""


class VecEnv:
    """A stand-in for Stable-Baselines3's class of several environments that step together."""

    num_envs: int
    observation_space: Any
    action_space: Any

    def step(self, actions: Any) -> Any:
        """Step all environments, and reset those whose episode has ended."""
        self.step_async(actions)
        return self.step_wait()

    def step_async(self, actions: Any) -> None:
        raise NotImplementedError

    def step_wait(self) -> Any:
        raise NotImplementedError


class VecEnvWrapper(VecEnv):
    """Delegates unknown attributes to its environment."""

    def __init__(self, venv: Any) -> None:
        self.venv = venv
        self.num_envs = venv.num_envs
        self.observation_space = venv.observation_space
        self.action_space = venv.action_space

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "venv":
            raise AttributeError(name)
        return getattr(self.venv, name)

    def step_async(self, actions: Any) -> None:
        self.venv.step_async(actions)

    def step_wait(self) -> Any:
        return self.venv.step_wait()

    def reset(self) -> Any:
        return self.venv.reset()


def make_dummy_vec_env_class(watch: Watch) -> Any:
    """Return a ``DummyVecEnv`` that reports each reset and step of all its environments once."""

    class DummyVecEnv(VecEnv):
        """Environments that are stepped one after the other in this process."""

        def __init__(self, env_fns: Any, *args: Any, **kwargs: Any) -> None:
            self.envs = [make() for make in env_fns]
            self.num_envs = len(self.envs)
            self.observation_space = self.envs[0].observation_space
            self.action_space = self.envs[0].action_space
            self._actions: Any = None
            for environment in self.envs:
                environment.unwrapped.stop_reporting()

        def _stack_rows(self, rows: list[Any]) -> np.ndarray:
            return np.stack([np.asarray(row, dtype=self.observation_space.dtype) for row in rows])

        def reset(self) -> np.ndarray:
            watch.note_start()
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
            outcome = (
                self._stack_rows(list(observations)),
                np.array(rewards, dtype=np.float32),
                np.array(dones, dtype=bool),
                list(infos),
            )
            watch.note_step(self.num_envs, self._actions, outcome)
            return outcome

        def close(self) -> None:
            for environment in self.envs:
                environment.close()

    return DummyVecEnv
