"""Probes of the loop of soft actor-critic: the SAC program, SACTrainer, and class defaults."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from unittest import mock

import numpy as np
import torch

from rlregress.frameworks.base import Inputs
from rlregress.frameworks.journal import temperature_rate
from rlregress.frameworks.layers import make_constant
from rlregress.frameworks.torchrl.compat import sac_loss
from rlregress.frameworks.torchrl.probes.helpers import (
    off_policy_agents,
    off_policy_programs,
    off_policy_trainers,
    programs,
)
from rlregress.frameworks.torchrl.probes.helpers.known_networks import (
    Constant,
    q_network,
    reporting_policy,
)
from rlregress.frameworks.torchrl.probes.helpers.quiet import Raw


def _zeros(shape: Any, dtype: Any, device: Any) -> torch.Tensor:
    return torch.zeros(shape, dtype=dtype, device=device)


def _fixed_draws() -> Any:
    """Every Gaussian draw is the mean: with constant heads, one log-probability for all states."""
    return mock.patch("torch.distributions.normal._standard_normal", _zeros)


def _constant_policy(model: Any, _: Any) -> None:
    make_constant(model[0], [0.0, 0.0])


def _update_order(i: Inputs) -> list[float]:
    """From what the loss returned last before each part took its first step."""
    returned: list[Any] = []
    before: dict[str, Any] = {}

    def fill(loss: Any) -> None:
        for parameters, number in (
            (loss.qvalue_network_params, 0.0),
            (loss.target_qvalue_network_params, i["target_q"]),
        ):
            off_policy_agents.make_constant_q(parameters, number)
        forward = loss.forward

        def kept(batch: Any) -> Any:
            returned.append(forward(batch))
            return returned[-1]

        loss.forward = kept

    def look(optimizer: Any, parts: list[str]) -> None:
        for part in parts:
            before.setdefault(part, returned[-1])

    def q_seen(losses: Any) -> float:
        log_prob = -losses["entropy"]
        return float((losses["alpha"] * log_prob - losses["loss_actor"]).detach())

    with _fixed_draws():
        off_policy_programs.run(
            "sac", 3, _constant_policy, look, {"rewards": [i["reward"]]}, with_loss=fill,
            frames_per_batch=3, utd_ratio=1 / 3, batch_size=int(i["batch_size"]),
            gamma=i["discount"], lr=i["learning_rate"],
        )  # fmt: skip
    at_critic, at_actor, first = before["critic"], before["actor"], returned[0]
    changes = [
        q_seen(at_actor) - q_seen(first),
        float(at_critic["alpha"] - 1.0),
        float(at_actor["alpha"] - 1.0),
    ]
    return (np.abs(changes) > 1e-5).astype(float).tolist()


def _update_schedule(i: Inputs) -> np.ndarray:
    journal = off_policy_programs.cold_start("sac", *off_policy_programs.cold_start_inputs(i))
    return journal.schedule(i)


def _temperature_rate(i: Inputs) -> np.ndarray:
    recorded: list[float] = []
    made: list[Any] = []
    optimizers: dict[str, Any] = {}

    def look(optimizer: Any, parts: list[str]) -> None:
        optimizers.update(dict.fromkeys(parts, optimizer))
        if "temperature" in parts:
            recorded.append(float(made[0].log_alpha.detach()))

    with _fixed_draws():
        off_policy_programs.run(
            "sac", int(i["steps"]), _constant_policy, look, with_loss=made.append,
            frames_per_batch=int(i["collected_at_once"]), batch_size=int(i["batch_size"]),
            lr=i["policy_rate"],
        )  # fmt: skip
    rates = dict.fromkeys(("critic", "actor"), float(i["policy_rate"]))
    return temperature_rate([*recorded, float(made[0].log_alpha.detach())], optimizers, rates)


def _initial(i: Inputs, **options: Any) -> float:
    critics = [q_network(Constant(0.0)) for _ in range(2)]
    return float(sac_loss(reporting_policy(0.0), critics, **options).log_alpha.detach().exp())


def _temperature_initial(i: Inputs) -> list[float]:
    return [_initial(i), _initial(i, alpha_init=i["asked"])]


def _target_interval(i: Inputs) -> list[float]:
    updates = int(i["updates"])
    journal = off_policy_programs.run(
        "sac", updates, frames_per_batch=int(i["collected_at_once"]),
        batch_size=int(i["batch_size"]),
    )  # fmt: skip
    return [float(moved) for moved in journal.target_moves[:updates]]


def _reward_scaling(i: Inputs) -> list[float]:
    targets: list[torch.Tensor] = []

    def watch(loss: Any) -> None:
        # nothing to add to the reward, whether a step bootstraps or not
        off_policy_agents.make_constant_q(loss.target_qvalue_network_params, 0.0)
        estimate = loss.value_estimator.value_estimate

        def kept(*arguments: Any, **options: Any) -> Any:
            targets.append(estimate(*arguments, **options))
            return targets[-1]

        loss.value_estimator.value_estimate = kept

    size = int(i["batch_size"])
    journal = off_policy_programs.run(
        "sac", size, playback={"rewards": [i["reward"]], "terminated": [1.0]}, with_loss=watch,
        frames_per_batch=size, utd_ratio=1 / size, batch_size=size, alpha_init=1e-12,
    )  # fmt: skip
    return [float(journal.buffer[:]["next", "reward"][0]), float(targets[0].reshape(-1)[0])]


def _adam_epsilon(i: Inputs) -> list[float]:
    loss = off_policy_agents.loss("sac", [4])
    settings = off_policy_programs.settings("", adam_eps=i["documented"])
    optimizers = programs.load("sac", "utils").make_sac_optimizer(settings, loss)
    return off_policy_agents.log_epsilons(loss, *optimizers)


PROBES: Mapping[tuple[str, str], Raw] = {
    ("sac.learning_starts", "script"): off_policy_programs.learning_starts("sac"),
    ("sac.update_ratio", "script"): off_policy_programs.update_ratio("sac", ["critic", "actor"]),
    ("sac.vectorisation", "script"): off_policy_programs.vectorisation("sac"),
    ("sac.networks", "script"): off_policy_agents.networks("sac"),
    ("sac.gradient_clip", "script"): off_policy_agents.gradient_clip("sac"),
    ("sac.networks.initialisation", "script"): off_policy_agents.critic_initialisation,
    ("sac.learning_starts", "trainer"): off_policy_trainers.learning_starts("sac"),
    ("sac.gradient_clip", "trainer"): off_policy_trainers.gradient_clip("sac"),
    ("sac.update_order", "script"): _update_order,
    ("sac.update_schedule", "script"): _update_schedule,
    ("sac.temperature.learning_rate", "script"): _temperature_rate,
    ("sac.temperature.initial", "library"): _temperature_initial,
    ("sac.target_update.interval", "script"): _target_interval,
    ("sac.reward_scaling", "script"): _reward_scaling,
    ("sac.adam.epsilon", "script"): _adam_epsilon,
}
