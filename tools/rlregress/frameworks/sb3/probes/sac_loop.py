"""Probes of the loop of soft actor-critic: its own ``learn`` and ``train``."""

from __future__ import annotations

from functools import partial
from typing import Any, Dict, List, Mapping, Tuple

import numpy as np
import torch
from stable_baselines3 import SAC

from rlregress.frameworks.base import Inputs, Probe
from rlregress.frameworks.journal import temperature_rate, update_order
from rlregress.frameworks.layers import initialisation
from rlregress.frameworks.sb3.probes.helpers import (
    constant_agents,
    off_policy_loops,
    watched_updates,
)
from rlregress.frameworks.scripted import Scripted


def _zero(network: Any) -> None:
    """Let a network be 0 everywhere, such that only its last bias can move."""
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.zero_()


def _first_update(inputs: Inputs, learning_rate: float, log_prob: float) -> Tuple[float, float]:
    """Target of the Q networks and loss of the policy, which reports ``log_prob``."""
    agent = constant_agents.make_off_policy(
        SAC, Scripted(), learning_rate=learning_rate, gamma=float(inputs["discount"])
    )
    for network in agent.critic.q_networks:
        _zero(network)
    constant_agents.make_critics_constant(agent.critic_target, [inputs["target_q"]] * 2)
    constant_agents.fix_log_prob(agent.actor, log_prob)
    size = int(inputs["batch_size"])
    constant_agents.add_transitions(agent, size, reward=float(inputs["reward"]))
    losses: Dict[str, List[float]] = {}

    def update() -> None:
        train = partial(agent.train, gradient_steps=1, batch_size=size)
        losses.update(watched_updates.losses_of_update(train, constant_agents.optimizers(agent)))

    target = watched_updates.regression_target(update)
    return target, watched_updates.only(losses["actor"])


def _update_order(inputs: Inputs) -> np.ndarray:
    return update_order(inputs, partial(_first_update, inputs))


def _update_schedule(inputs: Inputs) -> np.ndarray:
    journal, _ = off_policy_loops.run(
        SAC,
        int(inputs["steps"]),
        learning_starts=int(inputs["starts"]),
        batch_size=int(inputs["batch_size"]),
    )
    return journal.schedule(inputs)


def _temperature_rate(inputs: Inputs) -> np.ndarray:
    recorded: List[float] = []

    def prepare(agent: Any) -> None:
        constant_agents.fix_log_prob(agent.actor, float(inputs["log_prob"]))
        agent.ent_coef_optimizer.register_step_pre_hook(
            lambda *_: recorded.append(float(agent.log_ent_coef.detach()))
        )

    _, agent = off_policy_loops.run(
        SAC,
        int(inputs["steps"]),
        prepare=prepare,
        learning_starts=0,
        learning_rate=float(inputs["policy_rate"]),
        batch_size=int(inputs["batch_size"]),
    )
    return temperature_rate([*recorded, float(agent.log_ent_coef.detach())])


def _temperature_initial(inputs: Inputs) -> np.ndarray:
    coefficient = f"auto_{float(inputs['asked'])}"
    made = [
        constant_agents.make_off_policy(SAC, Scripted()),
        constant_agents.make_off_policy(SAC, Scripted(), ent_coef=coefficient),
    ]
    return np.array([float(agent.log_ent_coef.detach().exp()) for agent in made])


def _target_interval(inputs: Inputs) -> np.ndarray:
    updates = int(inputs["updates"])
    journal, _ = off_policy_loops.run(
        SAC,
        updates,
        learning_starts=0,
        batch_size=int(inputs["batch_size"]),
        target_update_interval=int(inputs["interval"]),
    )
    return np.array(journal.target_moves[:updates], dtype=np.float64)


def _reward_scaling(inputs: Inputs) -> np.ndarray:
    environment = Scripted(rewards=inputs["reward"], terminated=1.0)
    agent = constant_agents.make_off_policy(SAC, environment, gradient_steps=0)
    # nothing to add to the reward, whether a step bootstraps or not
    constant_agents.make_critics_constant(agent.critic_target, [0.0, 0.0])
    constant_agents.fix_log_prob(agent.actor, 0.0)
    size = int(inputs["batch_size"])
    agent.learn(size, log_interval=None)
    train = partial(agent.train, gradient_steps=1, batch_size=size)
    target = watched_updates.regression_target(train)
    return np.array([float(agent.replay_buffer.rewards[0, 0]), target])


def _initialisation(inputs: Inputs) -> np.ndarray:
    environment = Scripted(observation_dimensions=int(inputs["observations"]))
    agent = constant_agents.make(SAC, environment, buffer_size=8)
    first = agent.critic.q_networks[0][0]
    return initialisation(first.weight, first.bias)


PROBES: Mapping[str, Probe] = {
    "sac.learning_starts": partial(off_policy_loops.learning_starts, SAC),
    "sac.update_ratio": partial(off_policy_loops.update_ratio, SAC, ["critic", "actor"]),
    "sac.vectorisation": partial(off_policy_loops.vectorisation, SAC),
    "sac.networks": partial(off_policy_loops.networks, SAC),
    "sac.gradient_clip": partial(off_policy_loops.gradient_clip, SAC),
    "sac.adam.epsilon": partial(off_policy_loops.adam_epsilon, SAC),
    "sac.update_order": _update_order,
    "sac.update_schedule": _update_schedule,
    "sac.temperature.learning_rate": _temperature_rate,
    "sac.temperature.initial": _temperature_initial,
    "sac.target_update.interval": _target_interval,
    "sac.reward_scaling": _reward_scaling,
    "sac.networks.initialisation": _initialisation,
}
