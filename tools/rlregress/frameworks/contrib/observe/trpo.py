"""Probes of TRPO: its own ``train`` on a rollout of known actions, and its rollouts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
import torch
from sb3_contrib import TRPO

from rlregress.frameworks.sb3.observe.drivers import probe_agents
from rlregress.measurements import trpo
from rlregress.probing.interface import Inputs, Probe
from rlregress.probing.journal import run_and_record_steps
from rlregress.probing.layers import make_output_constant
from rlregress.probing.scripted import Scripted


def _run_update_and_read_policy(
    actions: Sequence[float],
    advantages: Sequence[float],
    bound: float | None = None,
    damping: float | None = None,
) -> tuple[float, float]:
    """Update a policy of mean 0 and deviation 1; return its new mean and log deviation."""
    count, settings = len(actions), {"target_kl": bound, "cg_damping": damping}
    agent = probe_agents.make_agent(
        TRPO,
        # observations of 0: of the layer of the mean the bias alone counts
        Scripted(observations=0.0, next_observations=0.0),
        n_steps=count,
        batch_size=count,
        n_critic_updates=1,
        normalize_advantage=False,
        policy_kwargs={"net_arch": []},
        **{name: value for name, value in settings.items() if value is not None},
    )
    policy, buffer = agent.policy, agent.rollout_buffer
    make_output_constant(policy.action_net, 0.0)
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


def _measure_critic_updates(inputs: Inputs) -> float:
    size = inputs["batch_size"]
    agent = probe_agents.make_agent(TRPO, Scripted(), n_steps=2 * size, batch_size=size)
    optimizers = {"critic": agent.policy.optimizer}
    journal = run_and_record_steps(partial(agent.learn, 2 * size), optimizers)
    return len(journal.losses["critic"]) / 2


PROBES: Mapping[str, Probe] = {
    **{
        id: partial(measure, _run_update_and_read_policy)
        for id, measure in trpo.MEASUREMENTS.items()
    },
    "trpo.critic_updates": _measure_critic_updates,
}
