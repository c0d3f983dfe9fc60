"""Probes of TRPO: its own ``train`` on a rollout of known actions, and its rollouts."""

from __future__ import annotations

from functools import partial
from typing import Any, List, Mapping, Sequence, Tuple

import numpy as np
import torch
from sb3_contrib import TRPO

from rlregress.frameworks import watched_updates
from rlregress.frameworks.base import Inputs, Probe
from rlregress.frameworks.layers import make_constant
from rlregress.frameworks.sb3.probes import rollout
from rlregress.frameworks.sb3.probes.helpers import constant_agents
from rlregress.frameworks.scripted import Scripted


def _step(actions: Sequence[float], advantages: Any, **arguments: Any) -> Tuple[float, float]:
    """One update of a Gaussian from mean 0 and deviation 1: its mean, log of its deviation."""
    count = len(actions)
    agent = constant_agents.make(
        TRPO,
        # observations of 0: of the layer of the mean the bias alone counts
        Scripted(observations=0.0, next_observations=0.0),
        n_steps=count,
        batch_size=count,
        n_critic_updates=1,
        normalize_advantage=False,
        policy_kwargs={"net_arch": []},
        **arguments,
    )
    policy, buffer = agent.policy, agent.rollout_buffer
    make_constant(policy.action_net, 0.0)
    observation = np.zeros((1, 1), dtype=np.float32)
    for number in actions:
        action = np.full((1, 1), number, dtype=np.float32)
        with torch.no_grad():
            value, log_prob, _ = policy.evaluate_actions(
                torch.as_tensor(observation), torch.as_tensor(action)
            )
        buffer.add(observation, action, np.zeros(1), np.zeros(1), value.flatten(), log_prob)
    buffer.advantages[:, 0] = advantages
    buffer.returns[:, 0] = 0.0
    agent.train()
    return float(policy.action_net.bias.detach()), float(policy.log_std.detach())


def _divergence(**arguments: Any) -> float:
    """KL divergence of an update that moves the mean alone."""
    mean, _ = _step([1.0, -1.0], [1.0, -1.0], **arguments)
    return 0.5 * mean**2


def _bound(inputs: Inputs) -> np.ndarray:
    bound = float(inputs["bound"])
    return np.array([bound * _divergence() / _divergence(target_kl=bound)])


def _damping(inputs: Inputs) -> np.ndarray:
    bound = float(inputs["bound"])
    return np.array([_divergence(target_kl=bound) / bound])


def _line_search(inputs: Inputs) -> np.ndarray:
    bound = float(inputs["bound"])
    shares = []
    for actions, advantages in zip(inputs["actions"], inputs["advantages"]):
        _, log_std = _step(actions, advantages, target_kl=bound, cg_damping=0.0)
        shares.append(abs(log_std) / np.sqrt(bound))
    return np.array(shares)


def _expected(inputs: Inputs) -> np.ndarray:
    action, bound = float(inputs["action"]), float(inputs["bound"])
    _, log_std = _step([action, -action], 1.0, target_kl=bound, cg_damping=0.0)
    return np.array([abs(log_std) / np.sqrt(bound)])


def _direction(inputs: Inputs) -> np.ndarray:
    mean, log_std = _step([inputs["action"]] * 2, 1.0, target_kl=1e-3, cg_damping=0.0)
    return np.array([log_std / mean])


def _critic_updates(inputs: Inputs) -> np.ndarray:
    size = int(inputs["batch_size"])
    agent = constant_agents.make(TRPO, Scripted(), n_steps=2 * size, batch_size=size)
    steps: List[None] = []
    with watched_updates.before_steps(agent.policy.optimizer, lambda: steps.append(None)):
        agent.learn(2 * size)
    return np.array([len(steps) / 2])


PROBES: Mapping[str, Probe] = {
    "trpo.kl.bound": _bound,
    "trpo.damping": _damping,
    "trpo.line_search": _line_search,
    "trpo.line_search.expected": _expected,
    "trpo.direction": _direction,
    "trpo.critic_updates": _critic_updates,
    "gae.truncation": partial(rollout.advantages, TRPO, n_critic_updates=1),
    "gae.value_target": partial(rollout.value_targets, TRPO, n_critic_updates=1),
}
