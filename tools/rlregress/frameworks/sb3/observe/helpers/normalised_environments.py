"""Environments within VecNormalize, and an agent's observations and rewards there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from stable_baselines3.common.vec_env import VecNormalize

from rlregress.frameworks.sb3 import gyms
from rlregress.measurements.normalisation import Script, Walked, count_steps_of_script
from rlregress.probing.scripted import Scripted


def make_normalised_environments(*scripts: Script, **options: Any) -> VecNormalize:
    """Return environments of these scripts side by side, within VecNormalize and its defaults."""
    return VecNormalize(
        gyms.vectorise_environments(*(Scripted(**own) for own in scripts)), **options
    )


def walk_through_environment(environment: Any, steps: int) -> Walked:
    """Reset a vectorised environment and step it with actions of 0."""
    actions = np.zeros((environment.num_envs, *environment.action_space.shape), dtype=np.float32)
    observations, rewards = [environment.reset()], []
    for _ in range(steps):
        observation, reward, _, _ = environment.step(actions)
        observations.append(observation)
        rewards.append(reward)
    return Walked(np.stack(observations)[..., 0], np.array(rewards))


def walk_through_normalised(scripts: Sequence[Script]) -> Walked:
    """Return the observations and rewards of scripted environments within VecNormalize."""
    return walk_through_environment(
        make_normalised_environments(*scripts), count_steps_of_script(scripts[0])
    )
