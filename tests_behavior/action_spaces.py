"""The actions that an algorithm can take in environments whose actions are a number."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

#: algorithms that choose one of several actions
DISCRETE = ("dqn",)


class TwoDiscreteActions(gymnasium.ActionWrapper[Any, Any, Any]):
    """Offers the actions 0 and 1 alone, for algorithms that choose one of several actions."""

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        super().__init__(env)
        self.action_space = gymnasium.spaces.Discrete(2)

    def action(self, action: Any) -> np.ndarray:
        """Return the chosen action as an action of the environment, [1]."""
        return np.array([action], dtype=np.float32)


def adapt_actions(algorithm: str, env: Any) -> Any:
    """Return the environment, with actions that the algorithm can take.

    With discrete actions, observations are single precision, as in Gymnasium's own tasks of this
    kind: CleanRL's dqn.py takes no others. The numbers of toy environments are exact in both.
    """
    if algorithm not in DISCRETE:
        return env
    unbounded = gymnasium.spaces.Box(-np.inf, np.inf, env.observation_space.shape, np.float32)
    return gymnasium.wrappers.TransformObservation(
        TwoDiscreteActions(env), lambda observation: observation.astype(np.float32), unbounded
    )


def make_task(algorithm: str) -> gymnasium.Env[Any, Any]:
    """Return a task of Gymnasium whose initial states are drawn by the seed; it needs no MuJoCo.

    Its episodes are short, so that several begin in a training of a hundred steps.
    """
    name = "CartPole-v1" if algorithm in DISCRETE else "Pendulum-v1"
    return gymnasium.make(name, max_episode_steps=24)
