"""TD3 with n-step returns on a scripted stream: what its critics regress towards, step by step."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from functools import partial
from typing import Any
from unittest import mock

import numpy as np
import torch
from stable_baselines3 import TD3

from rlregress.frameworks.sb3.observe.drivers import probe_agents
from rlregress.probing import watched_updates
from rlregress.probing.interface import Inputs
from rlregress.probing.layers import find_last_linear_layer
from rlregress.probing.scripted import Scripted

_ROWS = 8


def make_agent_with_stored_stream(environment: Scripted, inputs: Inputs, **arguments: Any) -> Any:
    """Return TD3 with n-step returns that has stored the environment's steps and not updated yet.

    Versions without ``n_steps`` are made without, and probed all the same. Critics are linear in
    observation and action, for ``compute_target_of_slot``.
    """
    if "n_steps" in inspect.signature(TD3.__init__).parameters:
        arguments["n_steps"] = inputs["n"]
    agent = probe_agents.make_small_off_policy_agent(
        TD3,
        environment,
        gamma=inputs["discount"],
        gradient_steps=0,
        policy_kwargs={"net_arch": []},
        **arguments,
    )
    agent.learn(len(inputs["rewards"]))
    return agent


def compute_target_of_slot(agent: Any, slot: int, slope: float, constant: float) -> float:
    """Return the target of the step in a slot of the replay buffer, from the agent's own update.

    The target critics output slope * s + constant for an observation s, whatever the action.
    """
    for network in agent.critic_target.q_networks:
        layer = find_last_linear_layer(network)
        with torch.no_grad():
            layer.weight.zero_()
            layer.weight[0, 0] = slope
            layer.bias.fill_(constant)
    buffer = agent.replay_buffer

    def return_slot(size: int, env: Any = None) -> Any:
        return buffer._get_samples(np.full(size, slot), env=env)

    with mock.patch.object(buffer, "sample", return_slot):
        return watched_updates.run_and_find_target(
            partial(agent.train, gradient_steps=1, batch_size=_ROWS)
        )


def measure_targets_of_slots(inputs: Inputs, slots: Sequence[int], **arguments: Any) -> np.ndarray:
    """Return the n-step targets of steps in these slots of the buffer, where V(s) = s, [slots]."""
    environment = Scripted(
        next_observations=inputs["next_values"],
        rewards=inputs["rewards"],
        terminated=inputs["terminated"],
        truncated=inputs["truncated"],
    )
    agent = make_agent_with_stored_stream(environment, inputs, **arguments)
    return np.array([compute_target_of_slot(agent, slot, 1.0, 0.0) for slot in slots])


def measure_first_target(inputs: Inputs, slope: float, constant: float, **arguments: Any) -> float:
    """Return the target of step 0 where step t leads to observation t + 1 and no episode ends."""
    steps = np.arange(len(inputs["rewards"]), dtype=np.float64)
    environment = Scripted(
        observations=steps, next_observations=steps + 1.0, rewards=inputs["rewards"]
    )
    agent = make_agent_with_stored_stream(environment, inputs, **arguments)
    return compute_target_of_slot(agent, 0, slope, constant)
