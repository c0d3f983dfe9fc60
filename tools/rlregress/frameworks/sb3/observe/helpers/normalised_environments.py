"""Environments within VecNormalize, and an agent's observations and rewards there."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

from rlregress.frameworks.sb3 import gyms
from rlregress.probing.scripted import Scripted


class Walk(NamedTuple):
    """Observations and rewards of a vectorised environment.

    Attributes:
        observations: [T + 1, environments], that of the reset first.
        rewards: [T, environments].
    """

    observations: np.ndarray
    rewards: np.ndarray


def showing(observations: Any, **script: Any) -> Scripted:
    """An environment whose reset gives observations[0] and whose step t gives [t + 1].

    Another reset, after an end at step t, gives ``resets[t]``, by default observations[t].
    """
    resets = script.pop("resets", np.asarray(observations)[:-1])
    return Scripted(observations=resets, next_observations=np.asarray(observations)[1:], **script)


def paying(rewards: Any, **script: Any) -> Scripted:
    """An environment with these rewards, one a step, and observations of 0."""
    return Scripted(observations=0.0, next_observations=0.0, rewards=rewards, **script)


def vectorised(*environments: Any) -> DummyVecEnv:
    """Environments side by side."""
    return gyms.side_by_side(*environments)


def normalised(*environments: Any, **options: Any) -> VecNormalize:
    """Environments side by side, within VecNormalize and its defaults."""
    return VecNormalize(vectorised(*environments), **options)


def walk(environment: Any, steps: int) -> Walk:
    """Reset a vectorised environment and step it with actions of 0."""
    actions = np.zeros((environment.num_envs, *environment.action_space.shape), dtype=np.float32)
    observations, rewards = [environment.reset()], []
    for _ in range(steps):
        observation, reward, _, _ = environment.step(actions)
        observations.append(observation)
        rewards.append(reward)
    return Walk(np.stack(observations)[..., 0], np.array(rewards))
