"""Probes of PPO's networks and of the actions that they choose."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from rlregress.frameworks.sb3 import compat
from rlregress.frameworks.sb3.observe.helpers.on_policy import (
    AlgorithmProbe,
    ProbedPPO,
    bind_probes_to_ppo,
)
from rlregress.probing.interface import Inputs, Probe
from rlregress.probing.layers import (
    describe_ppo_networks_as_numbers,
    list_linear_layers,
    make_output_constant,
    measure_ppo_initialisation,
)


def _make_agent_with_bounds(algorithm: ProbedPPO, low: float = -1.0, high: float = 1.0) -> Any:
    environment = algorithm.make_environment(low=low, high=high)
    return algorithm.make_agent(environment, n_steps=8, batch_size=8)


def _measure_networks(algorithm: ProbedPPO, inputs: Inputs) -> np.ndarray:
    environment = algorithm.make_environment()
    policy = algorithm.make_default_agent(environment, n_steps=8, batch_size=8).policy
    parts = [policy.mlp_extractor.policy_net, policy.mlp_extractor.value_net]
    fed = torch.tensor(np.array(inputs["fed"]), dtype=torch.float32)
    return describe_ppo_networks_as_numbers(parts, 0, parts, fed)


def _measure_log_std(algorithm: ProbedPPO, inputs: Inputs) -> np.ndarray:
    agent = _make_agent_with_bounds(algorithm)
    with torch.no_grad():
        for layer in list_linear_layers(agent.policy):
            layer.bias.zero_()
        pair = (0.0, inputs["observation"])
        logs = [np.log(algorithm.compute_deviation(agent, x)) for x in pair]
    return np.array([logs[0], abs(logs[1] - logs[0]) > 1e-6])


def _measure_actions_at_fixed_means(algorithm: ProbedPPO, inputs: Inputs) -> np.ndarray:
    agent = _make_agent_with_bounds(algorithm, inputs["low"], inputs["high"])
    executed = []
    agent.env.reset()
    with torch.no_grad():
        agent.policy.log_std.fill_(float(np.log(inputs["scale"])))
    for mean in inputs["means"]:
        make_output_constant(agent.policy.action_net, mean)
        action, _ = agent.predict(np.zeros((1, 1), dtype=np.float32), deterministic=True)
        agent.env.step(action)
        executed.append(agent.env.envs[0].unwrapped.received[-1].item())
    return np.array(executed)


def _measure_initialisation(algorithm: ProbedPPO, inputs: Inputs) -> np.ndarray:
    sizes = dict.fromkeys(("pi", "vf"), [inputs["hidden"]] * 2)
    bound = np.ones(inputs["action_dimensions"])
    environment = algorithm.make_environment(
        low=-bound, high=bound, observation_dimensions=inputs["observation_dimensions"]
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


#: detail -> probe of PPO, or of a class like it
PROBES_OF_ALGORITHM: Mapping[str, AlgorithmProbe] = {
    "ppo.networks": _measure_networks,
    "ppo.initialisation": _measure_initialisation,
    "ppo.log_std": _measure_log_std,
    "ppo.action.distribution": _measure_actions_at_fixed_means,
}
PROBES: Mapping[str, Probe] = bind_probes_to_ppo(PROBES_OF_ALGORITHM)
