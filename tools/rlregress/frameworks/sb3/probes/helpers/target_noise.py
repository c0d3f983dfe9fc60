"""The target policy smoothing of TD3: what its critics are asked about."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from stable_baselines3 import TD3

from rlregress.frameworks.base import Inputs
from rlregress.frameworks.isolation import shifted
from rlregress.frameworks.layers import make_constant
from rlregress.frameworks.sb3.probes.helpers import constant_agents
from rlregress.frameworks.scripted import Scripted


def smoothed_actions(inputs: Inputs, **arguments: Any) -> np.ndarray:
    """Smoothed target actions in the environment's units, float64 [samples, dimensions]."""
    agent = constant_agents.make_off_policy(
        TD3, Scripted(inputs["low"], inputs["high"]), seed=shifted(int(inputs["seed"])), **arguments
    )
    # 1 - 1e-12 is 1 in float32, where the actor computes its tanh.
    inside = np.clip(inputs["squashed"], -1.0 + 1e-12, 1.0 - 1e-12)
    make_constant(agent.actor_target.mu, np.arctanh(inside))
    constant_agents.add_transitions(agent, 8)
    recorded: list[torch.Tensor] = []
    handle = agent.critic_target.register_forward_pre_hook(
        lambda _, arguments: recorded.append(arguments[1].detach().clone())
    )
    try:
        agent.train(gradient_steps=1, batch_size=int(inputs["samples"]))
    finally:
        handle.remove()
    (actions,) = recorded
    return agent.policy.unscale_action(actions.double().numpy())
