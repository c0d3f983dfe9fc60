"""Probes of PPO's networks and rollouts: its own policy, ``learn`` and rollout buffer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from rlregress.frameworks.sb3 import compat
from rlregress.frameworks.sb3.observe.drivers import probe_agents
from rlregress.frameworks.sb3.observe.helpers.on_policy import (
    AlgorithmProbe,
    ProbedPPO,
    bind_probes_to_ppo,
)
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
    sizes = dict.fromkeys(("pi", "vf"), [inputs["hidden"]] * 2)
    bound = np.ones(inputs["action_dimensions"])
    environment = algorithm.make_environment(
        -bound, bound, observation_dimensions=inputs["observation_dimensions"]
    )
    networks = {"net_arch": compat.convert_networks_to_net_arch(sizes)}
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


#: detail -> probe of PPO, or of a class like it
PROBES_OF_ALGORITHM: Mapping[str, AlgorithmProbe] = {
    "ppo.initialisation": _measure_initialisation,
    "ppo.action.bounding": _measure_action_bounding,
    "gae.truncation": _measure_advantages,
    "gae.value_target": _measure_value_targets,
}
PROBES: Mapping[str, Probe] = bind_probes_to_ppo(PROBES_OF_ALGORITHM)
