"""Probes of PPO's networks and of parts of its loss, for ``ppo_loop``."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from rlregress.frameworks.sb3.observe.helpers import ppo_updates
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
)


def _make_agent_with_bounds(algorithm: ProbedPPO, low: float = -1.0, high: float = 1.0) -> Any:
    return algorithm.make_agent(algorithm.make_environment(low, high), n_steps=8, batch_size=8)


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


def _measure_finiteness_and_loss_of_single_sample(
    algorithm: ProbedPPO, inputs: Inputs
) -> np.ndarray:
    with warnings.catch_warnings():
        # a minibatch of one can only be the last of a rollout, of which the agent warns
        warnings.simplefilter("ignore")
        agent = ppo_updates.make_one_rollout_agent(
            algorithm, 3, batch_size=2, normalize_advantage=True, vf_coef=0.0, ent_coef=0.0
        )
        # of one number there is no deviation, and PyTorch warns of it
        advantage = inputs["advantage"]
        loss = ppo_updates.list_total_losses(algorithm, agent, advantages=advantage)[-1]
    return np.array([1.0, loss] if np.isfinite(loss) else [0.0, 0.0])


#: detail -> probe of PPO, or of a class like it
PROBES_OF_ALGORITHM: Mapping[str, AlgorithmProbe] = {
    "ppo.advantage_normalisation.single": _measure_finiteness_and_loss_of_single_sample,
    "ppo.networks": _measure_networks,
    "ppo.log_std": _measure_log_std,
    "ppo.action.distribution": _measure_actions_at_fixed_means,
}
PROBES: Mapping[str, Probe] = bind_probes_to_ppo(PROBES_OF_ALGORITHM)
