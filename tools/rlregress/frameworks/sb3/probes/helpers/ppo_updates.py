"""One update of PPO: its own ``train`` on a rollout buffer that a probe has filled."""

from __future__ import annotations

from typing import Any, List

import numpy as np
import torch
from stable_baselines3 import PPO

from rlregress.frameworks import watched_updates
from rlregress.frameworks.layers import make_constant
from rlregress.frameworks.sb3.probes.helpers import constant_agents
from rlregress.frameworks.scripted import Scripted

#: a bound on the norm of the gradient that none of them reaches.
NO_CLIP = 1e9


def fill(
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
    make_constant(policy.value_net, value)
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


def make(n: int, **arguments: Any) -> Any:
    """An agent whose rollout has n samples, in one minibatch if not told otherwise."""
    arguments.setdefault("batch_size", n)
    return constant_agents.make(
        PPO, Scripted(), n_steps=n, n_epochs=1, learning_rate=constant_agents.FROZEN, **arguments
    )


def total_losses(agent: Any, **feed: Any) -> List[float]:
    """The loss that each step of one epoch follows."""
    fill(agent, **feed)
    losses = watched_updates.losses_of_update(agent.train, {"policy": agent.policy.optimizer})
    return losses["policy"]
