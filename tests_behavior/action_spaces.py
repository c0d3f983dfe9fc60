"""The actions that an algorithm can take in environments whose actions are a number."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

#: algorithms that choose one of several actions
CHOOSING = ("dqn",)


class OneOfTwo(gymnasium.ActionWrapper[Any, Any, Any]):
    """The actions 0 and 1, which an algorithm can choose from, of all numbers between -1 and 1."""

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        super().__init__(env)
        self.action_space = gymnasium.spaces.Discrete(2)

    def action(self, action: Any) -> np.ndarray:
        """The number of the action, [1]."""
        return np.array([action], dtype=np.float32)


def made_for(algorithm: str, env: Any) -> Any:
    """An environment with actions that the algorithm can take.

    Where these are one of several, observations are single precision, as those of Gymnasium's own
    tasks of this kind: CleanRL's dqn.py can take no others. The numbers of toys are exact in both.
    """
    if algorithm not in CHOOSING:
        return env
    unbounded = gymnasium.spaces.Box(-np.inf, np.inf, env.observation_space.shape, np.float32)
    return gymnasium.wrappers.TransformObservation(
        OneOfTwo(env), lambda observation: observation.astype(np.float32), unbounded
    )


def task(algorithm: str) -> gymnasium.Env[Any, Any]:
    """A real task with random initial states, which a seed has to reach; it needs no MuJoCo.

    Its episodes are short, so that several begin in a training of a hundred steps.
    """
    name = "CartPole-v1" if algorithm in CHOOSING else "Pendulum-v1"
    return gymnasium.make(name, max_episode_steps=24)
