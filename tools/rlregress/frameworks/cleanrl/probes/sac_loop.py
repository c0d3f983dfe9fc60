"""Probes of the loop of ``sac_continuous_action.py``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import torch

from rlregress.frameworks.base import Inputs
from rlregress.frameworks.cleanrl.probes.helpers import off_policy_agents, off_policy_runs
from rlregress.frameworks.cleanrl.script_sources import Source
from rlregress.frameworks.journal import temperature_rate, update_order
from rlregress.frameworks.layers import initialisation, make_constant
from rlregress.frameworks.recorded_update import differentiated

_SCRIPT = "sac_continuous_action"


def _report(names: Mapping[str, Any], log_prob: float) -> None:
    """Let the policy report ``log_prob`` for every action that it samples."""
    actor = off_policy_runs.policy(names)
    sample = actor.get_action

    def get_action(*arguments: Any) -> Any:
        action, sampled_log_prob, mean = sample(*arguments)
        return action, 0.0 * sampled_log_prob + log_prob, mean

    actor.get_action = get_action


def _first_update(
    source: Source, inputs: Inputs, learning_rate: float, log_prob: float
) -> tuple[float, float]:
    """The first update of the policy: target of the Q networks before it, and its loss.

    The policy reports ``log_prob``; the Q networks were 0.
    """
    targets: list[float] = []
    actor_losses: list[float] = []

    def prepare(names: Mapping[str, Any]) -> None:
        _report(names, log_prob)
        constant: list[tuple[Any, float]] = [(n, 0.0) for n in off_policy_runs.q_networks(names)]
        for name in off_policy_runs.TARGETS:
            constant.append(
                (off_policy_runs.part(names, "target network", name), float(inputs["target_q"]))
            )
        for network, number in constant:
            with torch.no_grad():
                for parameter in network.parameters():
                    parameter.zero_()
                network.fc3.bias.fill_(number)

    def look(role: str, stepping: Any) -> None:
        if role == "actor":
            actor_losses.append(losses[-1])

    size = int(inputs["batch_size"])
    # One version updates from the step on at which the buffer holds more than a batch, the other
    # past the start of learning: there the policy has its turn at even steps, and the step before
    # the first of them must not update.
    start = size if size % 2 else size - 1
    with differentiated() as losses:
        off_policy_runs.run(
            source, _SCRIPT, start + 2, prepare, look, {"rewards": inputs["reward"]},
            [off_policy_runs.regression_targets(torch.nn.functional, targets)],
            learning_starts=start, batch_size=size, gamma=float(inputs["discount"]),
            policy_lr=learning_rate, q_lr=learning_rate,
        )  # fmt: skip
    return targets[0], actor_losses[0]


def _update_order(source: Source, inputs: Inputs) -> np.ndarray:
    return update_order(inputs, partial(_first_update, source, inputs))


def _update_schedule(source: Source, inputs: Inputs) -> np.ndarray:
    return off_policy_runs.cold_start(source, _SCRIPT, inputs).schedule(inputs)


def _temperature_rate(source: Source, inputs: Inputs) -> np.ndarray:
    recorded: list[float] = []

    def look(role: str, stepping: Any) -> None:
        if role == "temperature":
            recorded.append(float(stepping.param_groups[0]["params"][0].detach()))

    rates = {"critic": float(inputs["critic_rate"]), "actor": float(inputs["policy_rate"])}
    _, ended = off_policy_runs.run(
        source, _SCRIPT, int(inputs["steps"]),
        lambda names: _report(names, float(inputs["log_prob"])), look,
        batch_size=int(inputs["batch_size"]), policy_lr=rates["actor"], q_lr=rates["critic"],
    )  # fmt: skip
    optimizers = {role: off_policy_runs.optimizer(ended.globals, role) for role in rates}
    logs = [*recorded, float(ended["log_alpha"].detach())]
    return temperature_rate(logs, optimizers, rates)


def _temperature_initial(source: Source, inputs: Inputs) -> np.ndarray:
    script_arguments: dict[str, Any] = {"alpha": float(inputs["asked"])}
    runs = [
        off_policy_runs.run(source, _SCRIPT, 1, batch_size=4, **settings)
        for settings in ({}, script_arguments)
    ]
    return np.array([float(ended["alpha"]) for _, ended in runs])


def _target_interval(source: Source, inputs: Inputs) -> np.ndarray:
    updates, size = int(inputs["updates"]), int(inputs["batch_size"])
    journal, _ = off_policy_runs.run(
        source, _SCRIPT, updates + size + 1, batch_size=size, learning_starts=0,
        target_network_frequency=int(inputs["interval"]),
    )  # fmt: skip
    return np.array(journal.target_moves[:updates], dtype=np.float64)


def _reward_scaling(source: Source, inputs: Inputs) -> np.ndarray:
    targets: list[float] = []
    size = int(inputs["batch_size"])

    def nothing_to_add(names: Mapping[str, Any]) -> None:
        # to the reward, whether a step bootstraps or not
        _report(names, 0.0)
        for name in off_policy_runs.TARGETS:
            make_constant(off_policy_runs.part(names, "target network", name).fc3, 0.0)

    _, ended = off_policy_runs.run(
        source, _SCRIPT, size + 1, nothing_to_add,
        environment={"rewards": inputs["reward"], "terminated": 1.0},
        patches=[off_policy_runs.regression_targets(torch.nn.functional, targets)], batch_size=size,
    )  # fmt: skip
    buffer = ended["rb"]
    rewards = getattr(buffer, "rewards", None)
    stored = buffer.buffer[0][2] if rewards is None else rewards[0, 0]
    return np.array([float(stored), targets[0]])


def _initialisation(source: Source, inputs: Inputs) -> np.ndarray:
    environment = {"observation_dimensions": int(inputs["observations"])}
    _, ended = off_policy_runs.run(source, _SCRIPT, 1, environment=environment, batch_size=4)
    first = ended["qf1"].fc1
    return initialisation(first.weight, first.bias)


PROBES: dict[str, Callable[[Source, Inputs], np.ndarray]] = {
    "sac.networks": partial(off_policy_agents.networks, script=_SCRIPT),
    "sac.gradient_clip": partial(off_policy_agents.gradient_clip, script=_SCRIPT),
    "sac.adam.epsilon": partial(off_policy_agents.adam_epsilon, script=_SCRIPT),
    "sac.learning_starts": partial(off_policy_runs.learning_starts, script=_SCRIPT),
    "sac.update_ratio": partial(
        off_policy_runs.update_ratio, script=_SCRIPT, roles=("critic", "actor")
    ),
    "sac.vectorisation": partial(off_policy_runs.vectorisation, script=_SCRIPT),
    "sac.update_order": _update_order,
    "sac.update_schedule": _update_schedule,
    "sac.temperature.learning_rate": _temperature_rate,
    "sac.temperature.initial": _temperature_initial,
    "sac.target_update.interval": _target_interval,
    "sac.reward_scaling": _reward_scaling,
    "sac.networks.initialisation": _initialisation,
}
