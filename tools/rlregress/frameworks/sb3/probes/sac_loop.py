"""Probes of the loop of soft actor-critic: its own ``learn`` and ``train``."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import torch
from stable_baselines3 import SAC

from rlregress.frameworks import journal as journals
from rlregress.frameworks import layers, watched_updates
from rlregress.frameworks.base import Inputs, Probe
from rlregress.frameworks.sb3.probes.helpers import (
    constant_agents,
    off_policy_loops,
)
from rlregress.frameworks.scripted import Scripted


def _zero(network: Any) -> None:
    """Let a network be 0 everywhere, such that only its last bias can move."""
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.zero_()


def _first_update(
    algorithm: Any, inputs: Inputs, learning_rate: float, log_prob: float
) -> tuple[float, float]:
    """Target of the Q networks and loss of the policy, which reports ``log_prob``."""
    agent = constant_agents.make_off_policy(
        algorithm, Scripted(), learning_rate=learning_rate, gamma=float(inputs["discount"])
    )
    for network in agent.critic.q_networks:
        _zero(network)
    constant_agents.make_critics_constant(agent.critic_target, [inputs["target_q"]] * 2)
    constant_agents.fix_log_prob(agent.actor, log_prob)
    size = int(inputs["batch_size"])
    constant_agents.add_transitions(agent, size, reward=float(inputs["reward"]))
    losses: dict[str, list[float]] = {}

    def update() -> None:
        train = partial(agent.train, gradient_steps=1, batch_size=size)
        losses.update(watched_updates.losses_of_update(train, constant_agents.optimizers(agent)))

    target = watched_updates.regression_target(update)
    return target, watched_updates.only(losses["actor"])


def update_order(algorithm: Any, inputs: Inputs) -> np.ndarray:
    """What the policy's loss and the targets see of the same update."""
    return journals.update_order(inputs, partial(_first_update, algorithm, inputs))


def update_schedule(algorithm: Any, inputs: Inputs) -> np.ndarray:
    """Updates of each part in the last steps of a run."""
    journal, _ = off_policy_loops.run(
        algorithm,
        int(inputs["steps"]),
        learning_starts=int(inputs["starts"]),
        batch_size=int(inputs["batch_size"]),
    )
    return journal.schedule(inputs)


def temperature_rate(algorithm: Any, inputs: Inputs) -> np.ndarray:
    """First change of log alpha; its last change over its first; rates of critics and policy."""
    recorded: list[float] = []

    def prepare(agent: Any) -> None:
        constant_agents.fix_log_prob(agent.actor, float(inputs["log_prob"]))
        agent.ent_coef_optimizer.register_step_pre_hook(
            lambda *_: recorded.append(float(agent.log_ent_coef.detach()))
        )

    rate = float(inputs["policy_rate"])
    _, agent = off_policy_loops.run(
        algorithm,
        int(inputs["steps"]),
        prepare=prepare,
        learning_starts=0,
        learning_rate=rate,
        batch_size=int(inputs["batch_size"]),
    )
    return journals.temperature_rate(
        [*recorded, float(agent.log_ent_coef.detach())],
        constant_agents.optimizers(agent),
        {"critic": rate, "actor": rate},
    )


def temperature_initial(algorithm: Any, inputs: Inputs) -> np.ndarray:
    """The temperature by default, and where a number is asked for."""
    coefficient = f"auto_{float(inputs['asked'])}"
    made = [
        constant_agents.make_off_policy(algorithm, Scripted()),
        constant_agents.make_off_policy(algorithm, Scripted(), ent_coef=coefficient),
    ]
    return np.array([float(agent.log_ent_coef.detach().exp()) for agent in made])


def target_interval(algorithm: Any, inputs: Inputs) -> np.ndarray:
    """Whether the targets moved at each update."""
    updates = int(inputs["updates"])
    journal, _ = off_policy_loops.run(
        algorithm,
        updates,
        learning_starts=0,
        batch_size=int(inputs["batch_size"]),
        target_update_interval=int(inputs["interval"]),
    )
    return np.array(journal.target_moves[:updates], dtype=np.float64)


def reward_scaling(algorithm: Any, inputs: Inputs) -> np.ndarray:
    """The reward in the buffer, and in the target."""
    environment = Scripted(rewards=inputs["reward"], terminated=1.0)
    agent = constant_agents.make_off_policy(algorithm, environment, gradient_steps=0)
    # nothing to add to the reward, whether a step bootstraps or not
    constant_agents.make_critics_constant(constant_agents.target_critics(agent), [0.0, 0.0])
    constant_agents.fix_log_prob(agent.actor, 0.0)
    size = int(inputs["batch_size"])
    agent.learn(size, log_interval=None)
    train = partial(agent.train, gradient_steps=1, batch_size=size)
    target = watched_updates.regression_target(train)
    return np.array([float(agent.replay_buffer.rewards[0, 0]), target])


def initialisation(algorithm: Any, inputs: Inputs) -> np.ndarray:
    """Numbers of the first layer of a Q network."""
    environment = Scripted(observation_dimensions=int(inputs["observations"]))
    agent = constant_agents.make(algorithm, environment, buffer_size=8)
    first = agent.critic.q_networks[0][0]
    return layers.initialisation(first.weight, first.bias)


PROBES: Mapping[str, Probe] = {
    "sac.learning_starts": partial(off_policy_loops.learning_starts, SAC),
    "sac.update_ratio": partial(off_policy_loops.update_ratio, SAC, ["critic", "actor"]),
    "sac.vectorisation": partial(off_policy_loops.vectorisation, SAC),
    "sac.networks": partial(off_policy_loops.networks, SAC),
    "sac.gradient_clip": partial(off_policy_loops.gradient_clip, SAC),
    "sac.adam.epsilon": partial(off_policy_loops.adam_epsilon, SAC),
    "sac.update_order": partial(update_order, SAC),
    "sac.update_schedule": partial(update_schedule, SAC),
    "sac.temperature.learning_rate": partial(temperature_rate, SAC),
    "sac.temperature.initial": partial(temperature_initial, SAC),
    "sac.target_update.interval": partial(target_interval, SAC),
    "sac.reward_scaling": partial(reward_scaling, SAC),
    "sac.networks.initialisation": partial(initialisation, SAC),
}
