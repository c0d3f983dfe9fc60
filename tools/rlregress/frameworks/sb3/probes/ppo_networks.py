"""Probes of PPO's networks and of parts of its loss, for ``ppo_loop``."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import torch
from stable_baselines3 import PPO

from rlregress.frameworks.base import Inputs
from rlregress.frameworks.layers import linear_layers, make_constant, ppo_architecture
from rlregress.frameworks.sb3.probes.helpers import constant_agents, ppo_updates
from rlregress.frameworks.scripted import Scripted


def _policy(low: float = -1.0, high: float = 1.0) -> Any:
    return constant_agents.make(PPO, Scripted(low, high), n_steps=8, batch_size=8)


def _networks(inputs: Inputs) -> np.ndarray:
    policy = _policy().policy
    parts = [policy.mlp_extractor.policy_net, policy.mlp_extractor.value_net]
    fed = torch.tensor(np.array(inputs["fed"]), dtype=torch.float32)
    return ppo_architecture(parts, 0, parts, fed)


def _log_std(inputs: Inputs) -> np.ndarray:
    policy = _policy().policy
    with torch.no_grad():
        for layer in linear_layers(policy):
            layer.bias.zero_()
        logs = [
            policy.get_distribution(torch.tensor([[x]])).distribution.stddev.log().item()
            for x in (0.0, float(inputs["observation"]))
        ]
    return np.array([logs[0], abs(logs[1] - logs[0]) > 1e-6])


def _action_distribution(inputs: Inputs) -> np.ndarray:
    agent = _policy(float(inputs["low"]), float(inputs["high"]))
    executed = []
    agent.env.reset()
    with torch.no_grad():
        agent.policy.log_std.fill_(float(np.log(inputs["scale"])))
    for mean in inputs["means"]:
        make_constant(agent.policy.action_net, mean)
        action, _ = agent.predict(np.zeros((1, 1), dtype=np.float32), deterministic=True)
        agent.env.step(action)
        executed.append(agent.env.envs[0].unwrapped.received[-1].item())
    return np.array(executed)


def _normalisation_of_one(inputs: Inputs) -> np.ndarray:
    with warnings.catch_warnings():
        # a minibatch of one can only be the last of a rollout, of which the agent warns
        warnings.simplefilter("ignore")
        agent = ppo_updates.make(
            3, batch_size=2, normalize_advantage=True, vf_coef=0.0, ent_coef=0.0
        )
    loss = ppo_updates.total_losses(agent, advantages=float(inputs["advantage"]))[-1]
    return np.array([1.0, loss] if np.isfinite(loss) else [0.0, 0.0])


PROBES = {
    "ppo.advantage_normalisation.single": _normalisation_of_one,
    "ppo.networks": _networks,
    "ppo.log_std": _log_std,
    "ppo.action.distribution": _action_distribution,
}
