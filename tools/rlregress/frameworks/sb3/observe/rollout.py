"""Probes of PPO's networks and rollouts: its own policy, ``learn`` and rollout buffer."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import torch

from rlregress.frameworks.sb3 import compat
from rlregress.frameworks.sb3.observe.drivers import probe_agents
from rlregress.frameworks.sb3.observe.helpers.on_policy import PROBED_PPO, ProbedPPO
from rlregress.frameworks.sb3.train.collection import RolloutEndCallback
from rlregress.probing.interface import Inputs, Probe
from rlregress.probing.layers import (
    list_linear_layers,
    make_output_constant,
    measure_ppo_initialisation,
)


def _read_array_of_one_rollout(agent: Any, name: str) -> np.ndarray:
    """Return the array ``name`` of the rollout buffer after one rollout, flattened."""
    arrays: list[np.ndarray] = []

    def copy_array_of_buffer(agent: Any) -> None:
        arrays.append(np.array(getattr(agent.rollout_buffer, name)).flatten())

    agent.learn(agent.n_steps, callback=RolloutEndCallback(copy_array_of_buffer))
    (array,) = arrays
    return array


def _measure_initialisation(algorithm: ProbedPPO, inputs: Inputs) -> np.ndarray:
    hidden = [inputs["hidden"]] * 2
    bound = np.ones(inputs["action_dimensions"])
    environment = algorithm.make_environment(
        -bound, bound, observation_dimensions=inputs["observation_dimensions"]
    )
    networks = {"net_arch": compat.convert_sizes_to_net_arch(hidden, hidden)}
    agent = algorithm.make_agent(environment, n_steps=8, batch_size=8, policy_kwargs=networks)
    policy = agent.policy
    parts = (
        policy.mlp_extractor.policy_net,
        policy.action_net,
        policy.mlp_extractor.value_net,
        policy.value_net,
    )
    return np.array(
        measure_ppo_initialisation([own for part in parts for own in list_linear_layers(part)])
    )


def _measure_action_bounding(algorithm: ProbedPPO, inputs: Inputs) -> np.ndarray:
    environment = algorithm.make_environment(inputs["low"], inputs["high"])
    agent = algorithm.make_one_epoch_agent(
        environment, n_steps=2, batch_size=2, learning_rate=probe_agents.FROZEN
    )
    executed, stored = [], []
    for x in inputs["samples"]:
        make_output_constant(agent.policy.action_net, x)
        with torch.no_grad():
            agent.policy.log_std.fill_(-20.0)
        stored.append(_read_array_of_one_rollout(agent, "actions")[0])
        executed.append(environment.received[-2].item())
    return np.array(executed + stored)


def _read_array_of_scripted_segment(algorithm: ProbedPPO, inputs: Inputs, name: str) -> np.ndarray:
    """Return an array of the rollout buffer after the scripted segment, with V(s) = s."""
    environment = algorithm.make_environment(
        observations=inputs["values"],
        next_observations=inputs["next_values"],
        rewards=inputs["rewards"],
        terminated=inputs["terminated"],
        truncated=inputs["truncated"],
    )
    steps = len(inputs["rewards"])
    agent = algorithm.make_one_epoch_agent(
        environment,
        n_steps=steps,
        batch_size=steps,
        gamma=inputs["discount"],
        gae_lambda=inputs["trace"],
        policy_kwargs=dict(algorithm.linear),
    )
    algorithm.set_value_to_observation(agent)
    return _read_array_of_one_rollout(agent, name).astype(np.float64)


def _measure_advantages(algorithm: ProbedPPO, inputs: Inputs) -> np.ndarray:
    return _read_array_of_scripted_segment(algorithm, inputs, "advantages")


def _measure_value_targets(algorithm: ProbedPPO, inputs: Inputs) -> np.ndarray:
    return _read_array_of_scripted_segment(algorithm, inputs, "returns")


PROBES: Mapping[str, Probe] = {
    "ppo.initialisation": partial(_measure_initialisation, PROBED_PPO),
    "ppo.action.bounding": partial(_measure_action_bounding, PROBED_PPO),
    "gae.truncation": partial(_measure_advantages, PROBED_PPO),
    "gae.value_target": partial(_measure_value_targets, PROBED_PPO),
}
