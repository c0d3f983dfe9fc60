"""Probes of PPO's update: its own ``train`` on its own rollout buffer."""

from __future__ import annotations

from typing import Any, List, Mapping, Sequence

import numpy as np
import torch
from stable_baselines3 import PPO

from rlregress.frameworks.sb3.probes.helpers import agents, watched_updates
from rlregress.frameworks.sb3.probes.helpers.environments import Scripted

_NO_CLIP = 1e9


def _fill(
    agent: Any,
    *,
    advantages: Any = 0.0,
    returns: Any = 0.0,
    old_values: Any = 0.0,
    ratios: Any = 1.0,
    value: float = 0.0,
    actions: float = 0.5,
) -> None:
    """Fill the rollout buffer; numbers or [n] each.

    The stored actions are ``actions``, their stored log-probability is the present one minus
    log(ratios); V(s) is made ``value`` for every state.
    """
    policy, buffer = agent.policy, agent.rollout_buffer
    agents.make_constant(policy.value_net, value)
    n = buffer.buffer_size
    observation = np.full((1, 1), 0.5, dtype=np.float32)
    action = np.full((1, 1), actions, dtype=np.float32)
    with torch.no_grad():
        _, present, _ = policy.evaluate_actions(
            torch.as_tensor(observation), torch.as_tensor(action)
        )
    buffer.reset()
    for k in range(n):
        old = present - float(np.log(np.broadcast_to(ratios, n)[k]))
        old_value = torch.full((1,), float(np.broadcast_to(old_values, n)[k]))
        buffer.add(observation, action, np.zeros(1), np.zeros(1), old_value, old)
    # The buffer computes these two from rewards; the update only reads them.
    buffer.advantages[:, 0] = advantages
    buffer.returns[:, 0] = returns


def _make(n: int, **arguments: Any) -> Any:
    """An agent whose rollout has n samples, in one minibatch if not told otherwise."""
    arguments.setdefault("batch_size", n)
    return agents.make(
        PPO, Scripted(), n_steps=n, n_epochs=1, learning_rate=agents.FROZEN, **arguments
    )


def _total_losses(agent: Any, **feed: Any) -> List[float]:
    """The loss that each step of one epoch follows."""
    _fill(agent, **feed)
    losses = watched_updates.losses_of_update(agent.train, {"policy": agent.policy.optimizer})
    return losses["policy"]


def _policy_loss(inputs: Mapping[str, Any]) -> np.ndarray:
    agent = _make(
        len(inputs["ratios"]),
        clip_range=float(inputs["clip_range"]),
        normalize_advantage=False,
        vf_coef=0.0,
        ent_coef=0.0,
    )
    losses = _total_losses(agent, advantages=inputs["advantages"], ratios=inputs["ratios"])
    return np.array([watched_updates.only(losses)])


def _normalisation(inputs: Mapping[str, Any]) -> np.ndarray:
    agent = _make(
        len(inputs["advantages"]),
        batch_size=int(inputs["minibatch_size"]),
        clip_range=0.2,
        vf_coef=0.0,
        ent_coef=0.0,
    )
    losses = _total_losses(agent, advantages=inputs["advantages"], ratios=inputs["ratio"])
    return np.array([np.mean(losses)])


def _normalisation_epsilon(inputs: Mapping[str, Any]) -> np.ndarray:
    agent = _make(
        len(inputs["advantages"]),
        clip_range=0.2,
        normalize_advantage=True,
        vf_coef=0.0,
        ent_coef=0.0,
    )
    losses = _total_losses(agent, advantages=inputs["advantages"], ratios=inputs["ratio"])
    return np.array([watched_updates.only(losses)])


def _value_losses(batches: Sequence[Mapping[str, Any]], n: int, **arguments: Any) -> np.ndarray:
    """The value loss of each minibatch of n samples: the total loss where nothing else enters."""
    agent = _make(n, normalize_advantage=False, vf_coef=1.0, ent_coef=0.0, **arguments)
    return np.array([watched_updates.only(_total_losses(agent, **batch)) for batch in batches])


def _value_loss_scale(inputs: Mapping[str, Any]) -> np.ndarray:
    batch = {"value": inputs["value"], "returns": inputs["return"], "old_values": inputs["value"]}
    return _value_losses([batch], int(inputs["batch_size"]))


def _value_loss_distance(inputs: Mapping[str, Any]) -> np.ndarray:
    wanted = float(inputs["return"])
    batches = [
        {"value": wanted + error, "returns": wanted, "old_values": wanted + error}
        for error in inputs["errors"]
    ]
    losses = _value_losses(batches, int(inputs["batch_size"]))
    return losses[1:] / losses[0]


def _value_loss_coefficient(inputs: Mapping[str, Any]) -> np.ndarray:
    batch = {"value": 3.0, "returns": 5.0, "old_values": 3.0}
    by_default = watched_updates.only(_total_losses(_make(8, ent_coef=0.0), **batch))
    return by_default / _value_losses([batch], 8)


def _clipped_value_losses(inputs: Mapping[str, Any], **arguments: Any) -> np.ndarray:
    batches = [
        {"value": inputs["value"], "old_values": old, "returns": returns}
        for old, returns in zip(inputs["old_values"], inputs["returns"])
    ]
    losses = _value_losses(batches, inputs["old_values"].shape[1], **arguments)
    return losses[:2] / losses[2]


def _value_clip(inputs: Mapping[str, Any]) -> np.ndarray:
    return _clipped_value_losses(inputs, clip_range_vf=float(inputs["clip_range"]))


def _gradient_of_log_std(**arguments: Any) -> float:
    agent = _make(8, normalize_advantage=False, max_grad_norm=_NO_CLIP, **arguments)
    _fill(agent)
    agent.train()
    return agent.policy.log_std.grad.item()


def _entropy_bonus(inputs: Mapping[str, Any]) -> np.ndarray:
    return np.array([_gradient_of_log_std(ent_coef=float(inputs["coefficient"]))])


def _entropy_coefficient(inputs: Mapping[str, Any]) -> np.ndarray:
    return np.array([_gradient_of_log_std() / _gradient_of_log_std(ent_coef=1.0)])


def _gradient_clip(inputs: Mapping[str, Any]) -> np.ndarray:
    # Advantage and error are so large that each half has a norm far above the one asked for.
    far = 1e3 * float(inputs["raw_norm"])
    agent = _make(8, normalize_advantage=False)
    _fill(agent, advantages=far, returns=far)
    norms: List[float] = []

    def look() -> None:
        gradients = [p.grad.flatten() for p in agent.policy.parameters() if p.grad is not None]
        norms.append(torch.cat(gradients).norm().item())

    with watched_updates.before_steps(agent.policy.optimizer, look):
        agent.train()
    return np.array([min(watched_updates.only(norms), float(inputs["cap"]))])


def _adam_epsilon(inputs: Mapping[str, Any]) -> np.ndarray:
    optimizer = _make(8).policy.optimizer
    if not isinstance(optimizer, torch.optim.Adam):
        raise RuntimeError(f"the optimiser is no Adam but {type(optimizer).__name__}")
    return np.log10([optimizer.param_groups[0]["eps"]])


PROBES = {
    "ppo.policy_loss.clip": _policy_loss,
    "ppo.advantage_normalisation": _normalisation,
    "ppo.advantage_normalisation.epsilon": _normalisation_epsilon,
    "ppo.value_loss.scale": _value_loss_scale,
    "ppo.value_loss.coefficient": _value_loss_coefficient,
    "ppo.value_loss.distance": _value_loss_distance,
    "ppo.value_clip": _value_clip,
    "ppo.value_clip.default": _clipped_value_losses,
    "ppo.entropy.bonus": _entropy_bonus,
    "ppo.entropy.coefficient": _entropy_coefficient,
    "ppo.gradient_clip": _gradient_clip,
    "ppo.adam.epsilon": _adam_epsilon,
}
