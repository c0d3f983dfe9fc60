"""The loop of the off-policy algorithms, watched: ``learn`` on a small environment."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import partial
from typing import Any

import numpy as np
import torch

from rlregress.frameworks import journal as journals
from rlregress.frameworks import watched_updates
from rlregress.frameworks.base import Inputs
from rlregress.frameworks.journal import Journal
from rlregress.frameworks.layers import (
    activation,
    architecture,
    last_linear,
    linear_layers,
    log_epsilon,
    make_constant,
)
from rlregress.frameworks.sb3 import gyms
from rlregress.frameworks.sb3.probes.helpers import constant_agents
from rlregress.frameworks.scripted import Scripted

#: pre-tanh output of a policy that is at the upper bound, but for less than 0.001
_SATURATED = 5.0
_SMALL = {"net_arch": [4]}


def run(
    algorithm: Any,
    steps: int,
    environments: int = 1,
    prepare: Callable[[Any], Any] = lambda agent: None,
    environment: Mapping[str, Any] | None = None,
    frequency: Mapping[str, Any] | None = None,
    **arguments: Any,
) -> tuple[Journal, Any]:
    """``learn(steps)`` of an agent with its own defaults but for small networks and memory.

    ``prepare(agent)`` is called before it; ``environment`` holds arguments of ``Scripted``,
    ``frequency`` those about the number of updates (default: one a step).
    """
    made = [Scripted(**(environment or {})) for _ in range(environments)]
    journal = Journal()
    journal.actions += [one.received for one in made]
    vectorised = gyms.side_by_side(*made) if environments > 1 else made[0]
    arguments.setdefault("policy_kwargs", dict(_SMALL))
    # In older versions the default of TD3 waits for the end of an episode, which may not come.
    arguments.update({"train_freq": 1, "gradient_steps": 1} if frequency is None else frequency)
    agent = constant_agents.make(algorithm, vectorised, buffer_size=256, **arguments)
    prepare(agent)

    targets = constant_agents.target_critics(agent).parameters
    with ExitStack() as stack:
        for role, optimizer in constant_agents.optimizers(agent).items():
            note = partial(journal.note, role, optimizer, targets)
            stack.enter_context(watched_updates.before_steps(optimizer, note))
        agent.learn(steps)
    journal.look_at(targets())
    return journal, agent


def saturate(agent: Any) -> None:
    """Let the policy be at the upper bound of the actions."""
    make_constant(agent.actor.mu, _SATURATED)
    if hasattr(agent.actor, "log_std"):
        make_constant(agent.actor.log_std, -5.0)


def learning_starts(algorithm: Any, inputs: Inputs) -> np.ndarray:
    """Steps with random actions; steps at the first update."""
    journal, _ = run(
        algorithm,
        int(inputs["steps"]),
        prepare=saturate,
        learning_starts=int(inputs["starts"]),
        batch_size=int(inputs["batch_size"]),
        learning_rate=constant_agents.FROZEN,
    )
    return journal.learning_starts()


def update_ratio(algorithm: Any, roles: list[str], inputs: Inputs) -> np.ndarray:
    """Updates per step: by default, for half of them, for twice as many."""
    variants: list[dict[str, Any]] = [
        {},
        {"train_freq": 2, "gradient_steps": 1},
        {"train_freq": 1, "gradient_steps": 2},
    ]
    runs = []
    for settings in variants:
        # In older versions the default is a round of updates an episode: episodes have to end.
        ends = {"truncated": np.eye(int(inputs["collected_at_once"]))[-1]}
        journal, _ = run(
            algorithm,
            int(inputs["steps"]),
            environment=ends,
            learning_starts=0,
            batch_size=int(inputs["batch_size"]),
            frequency=settings,
        )
        runs.append(journal)
    return journals.update_ratio(inputs, roles, runs)


def vectorisation(algorithm: Any, inputs: Inputs) -> np.ndarray:
    """Transitions per step asked for; updates per transition; environments."""
    journal, _ = run(
        algorithm,
        int(inputs["steps"]),
        environments=int(inputs["environments"]),
        learning_starts=0,
        batch_size=int(inputs["batch_size"]),
    )
    return journal.vectorisation(inputs)


def gradient_clip(algorithm: Any, inputs: Inputs) -> np.ndarray:
    """One over the norms of the gradients that the optimisers find."""

    def prepare(agent: Any) -> None:
        for network in agent.critic.q_networks:
            with torch.no_grad():
                last_linear(network).weight.fill_(float(inputs["factor"]))

    journal, _ = run(
        algorithm, 4, prepare=prepare, learning_starts=0, batch_size=int(inputs["batch_size"]),
        # of 4 rectified units all may be 0, and with them the gradient
        policy_kwargs={"net_arch": [64]},
    )  # fmt: skip
    return journal.gradient_clip()


def networks(algorithm: Any, inputs: Inputs) -> np.ndarray:
    """Widths of the default networks, activation, sharing."""
    bound = np.ones(int(inputs["dimensions"]))
    agent = constant_agents.make(algorithm, Scripted(-bound, bound), buffer_size=8)
    # The trunk of SAC's actor has no output layer in it: its heads stand beside it.
    policy_widths = [layer.out_features for layer in linear_layers(agent.actor)]
    value_widths = [layer.out_features for layer in linear_layers(agent.critic.q_networks[0])]
    hidden = [[width for width in policy_widths if width > 1], value_widths[:-1]]
    policy = {id(p) for p in agent.actor.parameters()}
    shared = any(id(p) in policy for p in agent.critic.parameters())
    critics = len(agent.critic.q_networks)
    return architecture(hidden, critics, activation(agent.actor, agent.actor), shared)


def adam_epsilon(algorithm: Any, inputs: Inputs) -> np.ndarray:
    """Logarithm of the epsilon of each optimiser, in the order critic, actor, temperature."""
    agent = constant_agents.make(algorithm, Scripted(), buffer_size=8)
    held = {"critic": agent.critic.parameters(), "actor": agent.actor.parameters()}
    if hasattr(agent, "log_ent_coef"):
        held["temperature"] = [agent.log_ent_coef]
    optimizers = constant_agents.optimizers(agent)
    return np.array([log_epsilon(o, held[role]) for role, o in optimizers.items()])
