"""One update of PPO: its own ``train`` on a rollout buffer that a probe has filled."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from rlregress.frameworks.sb3.observe.drivers import probe_agents
from rlregress.frameworks.sb3.observe.helpers.on_policy import ProbedPPO
from rlregress.probing.journal import run_and_record_steps

#: a bound on the norm of the gradient that none of them reaches.
NO_CLIP = 1e9


def fill_rollout_buffer(
    algorithm: ProbedPPO,
    agent: Any,
    *,
    advantages: Any = 0.0,
    returns: Any = 0.0,
    old_values: Any = 0.0,
    ratios: Any = 1.0,
    value: float = 0.0,
    actions: float = 0.5,
) -> None:
    """Fill the rollout buffer with one number for all steps, or an array of one for each.

    The stored actions are ``actions``, their stored log-probability is the present one minus
    log(ratios); V(s) is made ``value`` for every state.
    """
    buffer = agent.rollout_buffer
    algorithm.set_value_to_number(agent, value)
    n = buffer.buffer_size
    observation = np.full((1, 1), 0.5, dtype=np.float32)
    action = np.full((1, 1), actions, dtype=np.float32)
    with torch.no_grad():
        present = algorithm.compute_log_prob(agent, observation, action)
    buffer.reset()
    for k in range(n):
        old = present - float(np.log(np.broadcast_to(ratios, n)[k]))
        old_value = torch.full((1,), float(np.broadcast_to(old_values, n)[k]))
        # each step starts an episode, so that no memory goes on from one to the next
        step = (observation, action, np.zeros(1), np.ones(1), old_value, old)
        buffer.add(*step, **algorithm.make_extra_buffer_add_arguments(agent))
    # The buffer computes these two from rewards; the update only reads them.
    buffer.advantages[:, 0] = advantages
    buffer.returns[:, 0] = returns


def make_one_rollout_agent(algorithm: ProbedPPO, n: int, **arguments: Any) -> Any:
    """Return an agent whose rollout has n samples, by default in one minibatch."""
    arguments.setdefault("batch_size", n)
    return algorithm.make_one_epoch_agent(
        algorithm.make_environment(), n_steps=n, learning_rate=probe_agents.FROZEN, **arguments
    )


def list_total_losses(algorithm: ProbedPPO, agent: Any, **feed: Any) -> list[float]:
    """Return the total loss of each optimiser step in one epoch."""
    fill_rollout_buffer(algorithm, agent, **feed)
    return run_and_record_steps(agent.train, {"policy": agent.policy.optimizer}).losses["policy"]
