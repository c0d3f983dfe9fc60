"""Probes of what a user hands over, and of the next observation that is stored."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from stable_baselines3 import SAC, TD3

from rlregress.frameworks.base import Inputs, Probe
from rlregress.frameworks.sb3.probes.helpers import constant_agents, critics
from rlregress.frameworks.sb3.probes.helpers.target_noise import smoothed_actions
from rlregress.frameworks.scripted import ending_both_ways


def coefficient(algorithm: Any, inputs: Inputs, **arguments: Any) -> np.ndarray:
    """As ``critics.polyak``, with tau as it is asked for."""
    return critics.polyak(algorithm, inputs, tau=float(inputs["coefficient"]), **arguments)


def _target_noise(inputs: Inputs) -> np.ndarray:
    wide = smoothed_actions(inputs, target_policy_noise=5.0, target_noise_clip=0.3)
    narrow = smoothed_actions(inputs, target_policy_noise=0.01, target_noise_clip=0.5)
    return np.array([np.max(np.abs(wide)), np.std(narrow)])


def _next_observation(inputs: Inputs) -> np.ndarray:
    agent = constant_agents.make_off_policy(SAC, ending_both_ways(), gradient_steps=0)
    agent.learn(int(inputs["steps"]))
    return agent.replay_buffer.next_observations[[2, 4], 0, 0].astype(np.float64)


PROBES: Mapping[str, Probe] = {
    "sac.target_update.parameter": partial(coefficient, SAC),
    "td3.target_update.parameter": partial(coefficient, TD3, policy_delay=1),
    "td3.target_noise.parameter": _target_noise,
    "replay.next_observation": _next_observation,
}
