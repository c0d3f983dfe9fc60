"""Probes of the loop of TD3: its own ``learn``."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from stable_baselines3 import TD3
from stable_baselines3.common.noise import NormalActionNoise

from rlregress.frameworks.base import Inputs, Probe
from rlregress.frameworks.layers import make_constant
from rlregress.frameworks.sb3.probes.helpers import constant_agents, critics, off_policy_loops
from rlregress.frameworks.scripted import Scripted
from rlregress.measurements.spread import log2_spread, spread_between_environments


def _centre(agent: Any) -> None:
    make_constant(agent.actor.mu, 0.0)


def _collected(steps: int, environments: int = 1, starts: int = 0, **arguments: Any) -> np.ndarray:
    """Actions in a collection without updates, [environments, steps]."""
    journal, _ = off_policy_loops.run(
        TD3,
        steps * environments,
        environments=environments,
        prepare=_centre,
        learning_starts=starts,
        frequency={"train_freq": 1, "gradient_steps": 0},
        **arguments,
    )
    return journal.collected()


def _replay_action(inputs: Inputs) -> np.ndarray:
    environment = Scripted(inputs["low"], inputs["high"])
    agent = constant_agents.make_off_policy(TD3, environment, learning_starts=0, gradient_steps=0)
    make_constant(agent.actor.mu, inputs["pre_tanh"])
    return critics.executed_and_stored(agent, environment)


def _exploration_default(inputs: Inputs) -> np.ndarray:
    return np.array([log2_spread(_collected(int(inputs["samples"])))])


def _exploration_environments(inputs: Inputs) -> np.ndarray:
    environments = int(inputs["environments"])
    noise = NormalActionNoise(mean=np.zeros(1), sigma=np.full(1, 0.1))
    actions = _collected(int(inputs["steps"]), environments, action_noise=noise)
    return spread_between_environments(actions)


def _exploration_warmup(inputs: Inputs) -> np.ndarray:
    steps = int(inputs["steps"])
    noise = NormalActionNoise(mean=np.full(1, float(inputs["noise"])), sigma=np.zeros(1))
    actions = _collected(steps, starts=steps, action_noise=noise)
    return np.array([np.mean(np.abs(actions) >= 1.0)])


PROBES: Mapping[str, Probe] = {
    "td3.learning_starts": partial(off_policy_loops.learning_starts, TD3),
    "td3.update_ratio": partial(off_policy_loops.update_ratio, TD3, ["critic"]),
    "td3.vectorisation": partial(off_policy_loops.vectorisation, TD3),
    "td3.networks": partial(off_policy_loops.networks, TD3),
    "td3.gradient_clip": partial(off_policy_loops.gradient_clip, TD3),
    "td3.adam.epsilon": partial(off_policy_loops.adam_epsilon, TD3),
    "td3.replay.action": _replay_action,
    "td3.exploration.default": _exploration_default,
    "td3.exploration.environments": _exploration_environments,
    "td3.exploration.warmup": _exploration_warmup,
}
