"""Probes of SAC: its own ``update`` and its loop, with a policy of skrl's Gaussian mixin."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any
from unittest import mock

import numpy as np
import torch

from rlregress.frameworks import journal as journals
from rlregress.frameworks import layers, watched_updates
from rlregress.frameworks.base import Inputs, Probe
from rlregress.frameworks.driven import fill
from rlregress.frameworks.layers import make_constant
from rlregress.frameworks.scripted import Scripted
from rlregress.frameworks.skrl import compat
from rlregress.frameworks.skrl.agents import Training, report
from rlregress.frameworks.skrl.probes.helpers import critics, instantiated
from rlregress.measurements import critic_loss


def _fixed(inputs: Inputs) -> dict[str, Any]:
    temperature = float(inputs.get("temperature", 0.1))
    return {"learn_entropy": False, "initial_entropy_value": temperature}


def _target(inputs: Inputs) -> np.ndarray:
    cases = np.atleast_2d(inputs["target_q"]) * np.ones((1, 2))
    return np.array([critics.target("sac", inputs, case, **_fixed(inputs)) for case in cases])


def _temperature_loss(inputs: Inputs) -> np.ndarray:
    training = critics.fed(
        "sac",
        8,
        log_prob=inputs["log_prob"],
        initial_entropy_value=float(inputs["temperature"]),
        target_entropy=float(inputs["target_entropy"]),
    )
    losses = watched_updates.losses_of_update(training.update, training.optimizers)
    gradient = float(training.agent.log_entropy_coefficient.grad)
    return np.array([watched_updates.only(losses["temperature"]), gradient])


def _target_entropy(inputs: Inputs) -> np.ndarray:
    spaces = [Scripted(-np.ones(int(d)), np.ones(int(d))) for d in inputs["dimensions"]]
    return np.array([float(Training("sac", space).agent._target_entropy) for space in spaces])


def _policy() -> Any:
    """A policy in float64 of mean 0 and deviation 1."""
    policy = Training("sac").models["policy"].double()
    make_constant(policy, 0.0)
    return policy


def _sampled(policy: Any, draw: float) -> Any:
    """What ``act`` returns where the normal distribution draws a number."""
    drawn = torch.full((1, 1), float(draw), dtype=torch.float64)
    called = instantiated.called(policy)
    sample = mock.patch.object(torch.distributions.Normal, "rsample", lambda of: of.loc + drawn)
    with torch.no_grad(), sample:
        return called(torch.zeros(1, 1, dtype=torch.float64))


def _tanh_correction(inputs: Inputs) -> np.ndarray:
    policy = _policy()
    found = [float(compat.log_prob(_sampled(policy, x))) for x in inputs["pre_tanh"]]
    return -0.5 * inputs["pre_tanh"] ** 2 - 0.5 * np.log(2.0 * np.pi) - np.array(found)


def _log_std(inputs: Inputs) -> np.ndarray:
    policy = _policy()
    found = []
    for output in inputs["head_outputs"]:
        fill([policy.log_std], output)
        _sampled(policy, 0.0)
        found.append(float(policy.distribution(role="policy").stddev.log()))
    return np.array(found)


def _replay_action(inputs: Inputs) -> np.ndarray:
    training = Training("sac", Scripted(inputs["low"], inputs["high"]), learning_starts=10)
    make_constant(training.models["policy"], inputs["pre_tanh"])
    fill([training.models["policy"].log_std], -20.0)
    return critics.executed_and_stored(training)


def _first_update(inputs: Inputs, rate: float, log_prob: float) -> tuple[float, float]:
    training = critics.fed(
        "sac",
        int(inputs["batch_size"]),
        targets=[inputs["target_q"]] * 2,
        log_prob=log_prob,
        environment=Scripted(rewards=float(inputs["reward"])),
        learning_rate=rate,
        discount_factor=float(inputs["discount"]),
        initial_entropy_value=1.0,
    )
    for name in critics.CRITICS[:2]:
        fill(training.models[name].parameters(), 0.0)
    losses: dict[str, list[float]] = {}

    def update() -> None:
        losses.update(watched_updates.losses_of_update(training.update, training.optimizers))

    target = watched_updates.regression_target(update)
    return target, watched_updates.only(losses["actor"])


def _update_schedule(inputs: Inputs) -> np.ndarray:
    starts = int(inputs["starts"])
    journal, _ = critics.loop("sac", int(inputs["steps"]), learning_starts=starts, batch_size=3)
    return journal.schedule(inputs)


def _temperature_rate(inputs: Inputs) -> np.ndarray:
    recorded: list[float] = []

    def look(training: Training) -> None:
        recorded.append(float(training.agent.log_entropy_coefficient.detach()))

    def prepare(training: Training) -> None:
        report(training.models["policy"], float(inputs["log_prob"]))
        hook = training.optimizers["temperature"].register_step_pre_hook
        hook(lambda *_: look(training))

    rates = {"critic": float(inputs["critic_rate"]), "actor": float(inputs["policy_rate"])}
    own = (rates["actor"], rates["critic"], rates["actor"])
    _, training = critics.loop(
        "sac", int(inputs["steps"]), prepare=prepare, learning_rate=own, batch_size=2
    )
    look(training)
    return journals.temperature_rate(recorded, training.optimizers, rates)


def _temperature_initial(inputs: Inputs) -> np.ndarray:
    made = [Training("sac"), Training("sac", initial_entropy_value=float(inputs["asked"]))]
    return np.array([float(t.agent.log_entropy_coefficient.detach().exp()) for t in made])


def _target_interval(inputs: Inputs) -> np.ndarray:
    journal, _ = critics.loop("sac", int(inputs["updates"]), batch_size=3)
    return np.array(journal.target_moves[: int(inputs["updates"])], dtype=np.float64)


def _reward_scaling(inputs: Inputs) -> np.ndarray:
    ends = Scripted(rewards=float(inputs["reward"]), terminated=1.0)
    training = critics.fed("sac", int(inputs["batch_size"]), environment=ends)
    return np.array(
        [float(training.stored("rewards")[0]), watched_updates.regression_target(training.update)]
    )


def _initialisation(inputs: Inputs) -> np.ndarray:
    made = instantiated.Settings([256, 256], "relu", int(inputs["observations"]), 1).values()
    first = layers.linear_layers(made)[0]
    return layers.initialisation(first.weight, first.bias)


_critic_loss = partial(critics.critic_loss, "sac")
PROBES: Mapping[str, Probe] = {
    "sac.critic_loss.scale": partial(critic_loss.scale, _critic_loss),
    "sac.critic_loss.reduction": partial(critic_loss.reduction, _critic_loss),
    "sac.critic_loss.distance": partial(critic_loss.distance, _critic_loss),
    "sac.target.entropy": _target,
    "sac.target.minimum": _target,
    "sac.target.bootstrap": lambda i: critics.bootstrap("sac", i, **_fixed(i)),
    "sac.actor_loss": lambda i: critics.actor_loss("sac", i, **_fixed(i)),
    "sac.temperature.loss": _temperature_loss,
    "sac.temperature.target_entropy": _target_entropy,
    "sac.temperature.learning_rate": _temperature_rate,
    "sac.temperature.initial": _temperature_initial,
    "sac.log_std.bounds": _log_std,
    "sac.log_prob.tanh_correction": _tanh_correction,
    "sac.replay.action": _replay_action,
    "sac.target_update.polyak": partial(critics.polyak, "sac"),
    "sac.target_update.parameter": partial(critics.polyak, "sac"),
    "sac.target_update.interval": _target_interval,
    "sac.learning_starts": partial(critics.learning_starts, "sac"),
    "sac.update_ratio": partial(critics.update_ratio, "sac", ["critic", "actor"]),
    "sac.update_order": lambda i: journals.update_order(i, partial(_first_update, i)),
    "sac.update_schedule": _update_schedule,
    "sac.vectorisation": partial(critics.vectorisation, "sac"),
    "sac.networks": partial(critics.networks, "sac"),
    "sac.networks.initialisation": _initialisation,
    "sac.gradient_clip": partial(critics.gradient_clip, "sac"),
    "sac.adam.epsilon": partial(critics.adam_epsilon, "sac"),
    "sac.reward_scaling": _reward_scaling,
}
ABSENT: Mapping[str, str] = {
    "sac.log_prob.action_scale": "draws actions in the environment's units, and scales none",
}
