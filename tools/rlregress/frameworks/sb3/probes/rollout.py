"""Probes of PPO's networks and rollouts: its own policy, ``learn`` and rollout buffer."""

from __future__ import annotations

from functools import partial
from typing import Any, List

import numpy as np
import torch
from stable_baselines3 import PPO
from torch import nn

from rlregress.frameworks.base import Inputs
from rlregress.frameworks.layers import make_constant
from rlregress.frameworks.sb3 import compat
from rlregress.frameworks.sb3.collection import AtRolloutEnd
from rlregress.frameworks.sb3.probes.helpers import constant_agents
from rlregress.frameworks.scripted import Scripted


def _one_rollout(agent: Any, name: str) -> np.ndarray:
    """The array ``name`` of the rollout buffer after one rollout, flattened."""
    arrays: List[np.ndarray] = []

    def look(agent: Any) -> None:
        arrays.append(np.array(getattr(agent.rollout_buffer, name)).flatten())

    agent.learn(agent.n_steps, callback=AtRolloutEnd(look))
    (array,) = arrays
    return array


def _initialisation(inputs: Inputs) -> np.ndarray:
    hidden = [int(inputs["hidden"])] * 2
    bound = np.ones(int(inputs["action_dimensions"]))
    environment = Scripted(
        -bound, bound, observation_dimensions=int(inputs["observation_dimensions"])
    )
    networks = {"net_arch": compat.network_sizes(hidden, hidden)}
    policy = constant_agents.make(
        PPO, environment, n_steps=8, batch_size=8, policy_kwargs=networks
    ).policy
    parts = (
        policy.mlp_extractor.policy_net,
        policy.action_net,
        policy.mlp_extractor.value_net,
        policy.value_net,
    )
    layers = [m for part in parts for m in part.modules() if isinstance(m, nn.Linear)]
    extremes: List[float] = []
    with torch.no_grad():
        for layer in layers:
            singular = torch.linalg.svdvals(layer.weight)
            extremes += [singular.min().item(), singular.max().item()]
        largest_bias = max(layer.bias.abs().max().item() for layer in layers)
    return np.array([*extremes, largest_bias])


def _bounding(inputs: Inputs) -> np.ndarray:
    environment = Scripted(inputs["low"], inputs["high"])
    agent = constant_agents.make(
        PPO, environment, n_steps=2, batch_size=2, n_epochs=1, learning_rate=constant_agents.FROZEN
    )
    executed, stored = [], []
    for x in inputs["samples"]:
        make_constant(agent.policy.action_net, x)
        with torch.no_grad():
            agent.policy.log_std.fill_(-20.0)
        stored.append(_one_rollout(agent, "actions")[0])
        executed.append(environment.received[-2].item())
    return np.array(executed + stored)


def _script(algorithm: Any, inputs: Inputs, name: str, **updates: Any) -> np.ndarray:
    """An array of the rollout buffer after the scripted segment, with V(s) = s."""
    environment = Scripted(
        observations=inputs["values"],
        next_observations=inputs["next_values"],
        rewards=inputs["rewards"],
        terminated=inputs["terminated"],
        truncated=inputs["truncated"],
    )
    steps = len(inputs["rewards"])
    agent = constant_agents.make(
        algorithm,
        environment,
        n_steps=steps,
        batch_size=steps,
        gamma=float(inputs["discount"]),
        gae_lambda=float(inputs["trace"]),
        policy_kwargs={"net_arch": []},
        **updates,
    )
    with torch.no_grad():
        agent.policy.value_net.weight.fill_(1.0)
        agent.policy.value_net.bias.zero_()
    return _one_rollout(agent, name).astype(np.float64)


def advantages(algorithm: Any, inputs: Inputs, **updates: Any) -> np.ndarray:
    """The advantages of a segment; ``updates``: arguments that make few updates of it."""
    return _script(algorithm, inputs, "advantages", **updates)


def value_targets(algorithm: Any, inputs: Inputs, **updates: Any) -> np.ndarray:
    """What the values of a segment are regressed towards; ``updates``: as for advantages."""
    return _script(algorithm, inputs, "returns", **updates)


PROBES = {
    "ppo.initialisation": _initialisation,
    "ppo.action.bounding": _bounding,
    "gae.truncation": partial(advantages, PPO, n_epochs=1),
    "gae.value_target": partial(value_targets, PPO, n_epochs=1),
}
