"""Probes that SAC and TD3 share: critic loss, regression target, target networks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from rlregress.frameworks import watched_updates
from rlregress.frameworks.base import Inputs
from rlregress.frameworks.driven import moved
from rlregress.frameworks.sb3.probes.helpers import constant_agents
from rlregress.frameworks.scripted import Scripted

#: (agent, inputs) -> None: what the algorithm needs so that its policy does not disturb
Prepare = Callable[[Any, Inputs], None]

_CASES = 3


def _update(agent: Any, inputs: Inputs) -> Callable[[], None]:
    return partial(agent.train, gradient_steps=1, batch_size=int(inputs["batch_size"]))


def critic_loss(
    algorithm: Any, inputs: Inputs, q_values: Sequence[float], **arguments: Any
) -> float:
    """The critic loss of a batch of terminations."""
    agent = constant_agents.make_off_policy(
        algorithm,
        Scripted(),
        gamma=float(inputs["discount"]),
        learning_rate=constant_agents.FROZEN,
        policy_kwargs={"n_critics": len(q_values)},
        **arguments,
    )
    constant_agents.pin_critics(agent, agent.critic, q_values)
    size = int(inputs["batch_size"])
    constant_agents.add_transitions(agent, size, reward=float(inputs["reward"]), done=True)
    losses = watched_updates.losses_of_update(
        _update(agent, inputs), constant_agents.optimizers(agent)
    )
    return watched_updates.only(losses["critic"])


def target(
    algorithm: Any,
    inputs: Inputs,
    target_q: Sequence[float],
    prepare: Prepare,
    **arguments: Any,
) -> float:
    """The regression target of steps inside an episode."""
    agent = constant_agents.make_off_policy(
        algorithm,
        Scripted(),
        gamma=float(inputs["discount"]),
        policy_kwargs={"n_critics": len(target_q)},
        **arguments,
    )
    prepare(agent, inputs)
    critic, following = constant_agents.target_critics(agent), constant_agents.acting(agent, True)
    constant_agents.pin_critics(agent, critic, target_q, following)
    constant_agents.add_transitions(
        agent, int(inputs["batch_size"]), reward=float(inputs["reward"])
    )
    return watched_updates.regression_target(_update(agent, inputs))


def bootstrap(algorithm: Any, inputs: Inputs, prepare: Prepare, **arguments: Any) -> np.ndarray:
    """The regression target of collected steps with the flags of each case."""
    targets = []
    for case in range(_CASES):
        # Every step of the episode is the case, so that collection stores nothing else.
        environment = Scripted(
            rewards=inputs["reward"],
            terminated=inputs["terminated"][case],
            truncated=inputs["truncated"][case],
        )
        agent = constant_agents.make_off_policy(
            algorithm,
            environment,
            gamma=float(inputs["discount"]),
            gradient_steps=0,
            **arguments,
        )
        agent.learn(int(inputs["batch_size"]))
        says = [inputs["target_q"]] * 2
        constant_agents.make_critics_constant(constant_agents.target_critics(agent), says)
        prepare(agent, inputs)
        targets.append(watched_updates.regression_target(_update(agent, inputs)))
    return np.array(targets)


def polyak(algorithm: Any, inputs: Inputs, **arguments: Any) -> np.ndarray:
    """A parameter of each target network after one update with the default tau."""
    agent = constant_agents.make_off_policy(
        algorithm, Scripted(), learning_rate=constant_agents.FROZEN, **arguments
    )
    constant_agents.add_transitions(agent, 8)
    pairs = list(zip(agent.critic.q_networks, agent.critic_target.q_networks, strict=False))
    if hasattr(agent, "actor_target"):
        pairs.append((agent.actor, agent.actor_target))
    return moved(inputs, pairs, partial(agent.train, gradient_steps=1, batch_size=8))


def actor_loss(algorithm: Any, inputs: Inputs, prepare: Prepare, **arguments: Any) -> np.ndarray:
    """The actor loss per case of constant Q networks."""
    actor_losses = []
    for q_values in inputs["q_values"]:
        agent = constant_agents.make_off_policy(
            algorithm, Scripted(), learning_rate=constant_agents.FROZEN, **arguments
        )
        prepare(agent, inputs)
        constant_agents.pin_critics(agent, agent.critic, q_values, constant_agents.acting(agent))
        constant_agents.add_transitions(agent, int(inputs["batch_size"]))
        losses = watched_updates.losses_of_update(
            _update(agent, inputs), constant_agents.optimizers(agent)
        )
        actor_losses.append(watched_updates.only(losses["actor"]))
    return np.array(actor_losses)


def executed_and_stored(agent: Any, environment: Scripted) -> np.ndarray:
    """One collected step past the warm-up: action received, action in the replay buffer, [2]."""
    agent.learn(1)
    return np.array([environment.received[-1].item(), agent.replay_buffer.actions[0].item()])
