"""Probes of PPO's update: its own ``train`` on its own rollout buffer."""

from __future__ import annotations

from functools import partial
from typing import Any, List, Mapping, Sequence

import numpy as np
import torch

from rlregress.frameworks import watched_updates
from rlregress.frameworks.base import Inputs, Probe
from rlregress.frameworks.sb3.probes.helpers import ppo_updates
from rlregress.frameworks.sb3.probes.helpers.on_policy import OF_PPO, OnPolicy


def _policy_loss(kind: OnPolicy, inputs: Inputs) -> np.ndarray:
    agent = ppo_updates.make(
        kind,
        len(inputs["ratios"]),
        clip_range=float(inputs["clip_range"]),
        normalize_advantage=False,
        vf_coef=0.0,
        ent_coef=0.0,
    )
    losses = ppo_updates.total_losses(
        kind, agent, advantages=inputs["advantages"], ratios=inputs["ratios"]
    )
    return np.array([watched_updates.only(losses)])


def _normalisation(kind: OnPolicy, inputs: Inputs) -> np.ndarray:
    agent = ppo_updates.make(
        kind,
        len(inputs["advantages"]),
        batch_size=int(inputs["minibatch_size"]),
        clip_range=0.2,
        vf_coef=0.0,
        ent_coef=0.0,
    )
    losses = ppo_updates.total_losses(
        kind, agent, advantages=inputs["advantages"], ratios=inputs["ratio"]
    )
    return np.array([np.mean(losses)])


def _normalisation_epsilon(kind: OnPolicy, inputs: Inputs) -> np.ndarray:
    agent = ppo_updates.make(
        kind,
        len(inputs["advantages"]),
        clip_range=0.2,
        normalize_advantage=True,
        vf_coef=0.0,
        ent_coef=0.0,
    )
    losses = ppo_updates.total_losses(
        kind, agent, advantages=inputs["advantages"], ratios=inputs["ratio"]
    )
    return np.array([watched_updates.only(losses)])


def _value_losses(
    kind: OnPolicy, batches: Sequence[Mapping[str, Any]], n: int, **arguments: Any
) -> np.ndarray:
    """The value loss of each minibatch of n samples: the total loss where nothing else enters."""
    agent = ppo_updates.make(
        kind, n, normalize_advantage=False, vf_coef=1.0, ent_coef=0.0, **arguments
    )
    return np.array(
        [watched_updates.only(ppo_updates.total_losses(kind, agent, **batch)) for batch in batches]
    )


def _value_loss_scale(kind: OnPolicy, inputs: Inputs) -> np.ndarray:
    batch = {"value": inputs["value"], "returns": inputs["return"], "old_values": inputs["value"]}
    return _value_losses(kind, [batch], int(inputs["batch_size"]))


def _value_loss_distance(kind: OnPolicy, inputs: Inputs) -> np.ndarray:
    wanted = float(inputs["return"])
    batches = [
        {"value": wanted + error, "returns": wanted, "old_values": wanted + error}
        for error in inputs["errors"]
    ]
    losses = _value_losses(kind, batches, int(inputs["batch_size"]))
    return losses[1:] / losses[0]


def _value_loss_coefficient(kind: OnPolicy, inputs: Inputs) -> np.ndarray:
    batch = {"value": 3.0, "returns": 5.0, "old_values": 3.0}
    by_default = watched_updates.only(
        ppo_updates.total_losses(kind, ppo_updates.make(kind, 8, ent_coef=0.0), **batch)
    )
    return by_default / _value_losses(kind, [batch], 8)


def _clipped_value_losses(kind: OnPolicy, inputs: Inputs, **arguments: Any) -> np.ndarray:
    batches = [
        {"value": inputs["value"], "old_values": old, "returns": returns}
        for old, returns in zip(inputs["old_values"], inputs["returns"])
    ]
    losses = _value_losses(kind, batches, inputs["old_values"].shape[1], **arguments)
    return losses[:2] / losses[2]


def _value_clip(kind: OnPolicy, inputs: Inputs) -> np.ndarray:
    return _clipped_value_losses(kind, inputs, clip_range_vf=float(inputs["clip_range"]))


def _gradient_of_log_std(kind: OnPolicy, **arguments: Any) -> float:
    agent = ppo_updates.make(
        kind, 8, normalize_advantage=False, max_grad_norm=ppo_updates.NO_CLIP, **arguments
    )
    ppo_updates.fill(kind, agent)
    agent.train()
    return agent.policy.log_std.grad.item()


def _entropy_bonus(kind: OnPolicy, inputs: Inputs) -> np.ndarray:
    return np.array([_gradient_of_log_std(kind, ent_coef=float(inputs["coefficient"]))])


def _entropy_coefficient(kind: OnPolicy, inputs: Inputs) -> np.ndarray:
    return np.array([_gradient_of_log_std(kind) / _gradient_of_log_std(kind, ent_coef=1.0)])


def _gradient_clip(kind: OnPolicy, inputs: Inputs) -> np.ndarray:
    # Advantage and error are so large that each half has a norm far above the one asked for.
    far = 1e3 * float(inputs["raw_norm"])
    agent = ppo_updates.make(kind, 8, normalize_advantage=False)
    ppo_updates.fill(kind, agent, advantages=far, returns=far)
    norms: List[float] = []

    def look() -> None:
        gradients = [p.grad.flatten() for p in agent.policy.parameters() if p.grad is not None]
        norms.append(torch.cat(gradients).norm().item())

    with watched_updates.before_steps(agent.policy.optimizer, look):
        agent.train()
    return np.array([min(watched_updates.only(norms), float(inputs["cap"]))])


def _adam_epsilon(kind: OnPolicy, inputs: Inputs) -> np.ndarray:
    optimizer = ppo_updates.make(kind, 8).policy.optimizer
    if not isinstance(optimizer, torch.optim.Adam):
        raise RuntimeError(f"the optimiser is no Adam but {type(optimizer).__name__}")
    return np.log10([optimizer.param_groups[0]["eps"]])


PROBES: Mapping[str, Probe] = {
    "ppo.policy_loss.clip": partial(_policy_loss, OF_PPO),
    "ppo.advantage_normalisation": partial(_normalisation, OF_PPO),
    "ppo.advantage_normalisation.epsilon": partial(_normalisation_epsilon, OF_PPO),
    "ppo.value_loss.scale": partial(_value_loss_scale, OF_PPO),
    "ppo.value_loss.coefficient": partial(_value_loss_coefficient, OF_PPO),
    "ppo.value_loss.distance": partial(_value_loss_distance, OF_PPO),
    "ppo.value_clip": partial(_value_clip, OF_PPO),
    "ppo.value_clip.default": partial(_clipped_value_losses, OF_PPO),
    "ppo.entropy.bonus": partial(_entropy_bonus, OF_PPO),
    "ppo.entropy.coefficient": partial(_entropy_coefficient, OF_PPO),
    "ppo.gradient_clip": partial(_gradient_clip, OF_PPO),
    "ppo.adam.epsilon": partial(_adam_epsilon, OF_PPO),
}
