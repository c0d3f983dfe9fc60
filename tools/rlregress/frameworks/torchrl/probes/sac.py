"""Probes of soft actor-critic."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any
from unittest import mock

import numpy as np
import torch
from torch import nn

from rlregress.frameworks.base import Inputs
from rlregress.frameworks.scripted import Scripted
from rlregress.frameworks.torchrl.api import NormalParamExtractor, TanhNormal
from rlregress.frameworks.torchrl.compat import sac_loss
from rlregress.frameworks.torchrl.probes.helpers import (
    critics,
    off_policy_losses,
    tiny_trainers,
)
from rlregress.frameworks.torchrl.probes.helpers.known_networks import (
    Constant,
    Numbers,
    box,
    fill,
    policy,
    q_network,
    transitions,
)
from rlregress.frameworks.torchrl.probes.helpers.quiet import Raw
from rlregress.measurements import critic_loss


def _target_entropy_inside(i: Inputs) -> float:
    loss = off_policy_losses.sac(i, [0.0, 0.0], loss_function="l2")
    fill(loss.target_qvalue_network_params, [i["target_q"]] * 2)
    return critics.regression_target(loss, transitions(int(i["batch_size"]), i["reward"]))


def _temperature(i: Inputs) -> list[float]:
    loss = off_policy_losses.sac(i, [0.0, 0.0], target_entropy=i["target_entropy"])
    value = loss(transitions(8, 0.0))["loss_alpha"]
    value.backward()
    return [float(value.detach()), float(loss.log_alpha.grad)]


def _default_target_entropy(i: Inputs) -> list[float]:
    entropies = []
    for dimensions in i["dimensions"]:
        d = int(dimensions)
        actor = policy(Numbers([0.0] * d, [1.0] * d), box([-1.0] * d, [1.0] * d), TanhNormal)
        loss = sac_loss(actor, [q_network(Constant(0.0)) for _ in range(2)])
        entropies.append(float(loss.target_entropy))
    return entropies


def _log_std(i: Inputs) -> list[float]:
    layer = nn.Linear(1, 2, dtype=torch.float64)
    nn.init.zeros_(layer.weight)
    actor = policy(nn.Sequential(layer, NormalParamExtractor()), box(-1.0, 1.0), TanhNormal)
    log_stds = []
    for head in i["head_outputs"]:
        layer.bias.data = torch.tensor([0.0, head], dtype=torch.float64)
        log_stds.append(float(actor.get_dist(transitions(1, 0.0)).scale.detach().log()))
    return log_stds


def _reported_log_prob(pre_tanh: Sequence[float], low: Any, high: Any) -> float:
    """The log-probability that the loss works with, of the sample with these Gaussian draws."""
    d = len(pre_tanh)
    actor = policy(
        Numbers([0.0] * d, [1.0] * d), box(low, high), TanhNormal,
        low=torch.as_tensor(low, dtype=torch.float64),
        high=torch.as_tensor(high, dtype=torch.float64),
    )  # fmt: skip
    loss = sac_loss(actor, [q_network(Constant(0.0)) for _ in range(2)])

    def draw(shape: Any, dtype: Any, device: Any) -> torch.Tensor:
        return torch.tensor(list(pre_tanh), dtype=dtype).expand(shape)

    with mock.patch("torch.distributions.normal._standard_normal", draw):
        return -float(loss(transitions(1, 0.0, action_dimensions=d))["entropy"])


def _tanh_correction(i: Inputs) -> list[float]:
    return [
        -(x**2) / 2 - np.log(2 * np.pi) / 2 - _reported_log_prob([x], [-1.0], [1.0])
        for x in i["pre_tanh"]
    ]


def _action_scale(i: Inputs) -> float:
    d = len(i["pre_tanh"])
    bounded = _reported_log_prob(i["pre_tanh"], i["low"], i["high"])
    return bounded - _reported_log_prob(i["pre_tanh"], [-1.0] * d, [1.0] * d)


def _replay_action(i: Inputs) -> list[float]:
    environment = Scripted(i["low"], i["high"])
    loss, _ = tiny_trainers.off_policy_loss("sac", environment)
    # the smallest scale that the distribution accepts is 1e-6
    actor = tiny_trainers.squashed_policy(environment, [i["pre_tanh"]], 1.01e-6)
    trainer = tiny_trainers.sac(environment, loss, actor)
    return [float(environment.received[0][0]), float(trainer.replay_buffer[:]["action"])]


def _trained_bootstrap(i: Inputs) -> list[float]:
    return off_policy_losses.collected_bootstrap("sac", i)


_LOSS = off_policy_losses.sac

_CRITIC_LOSS = partial(critics.of_terminations, _LOSS)
_SQUARED_LOSS = partial(_CRITIC_LOSS, loss_function="l2")
PROBES: dict[tuple[str, str], Raw] = {
    ("sac.critic_loss.scale", "library"): partial(critic_loss.scale, _SQUARED_LOSS),
    ("sac.critic_loss.reduction", "library"): partial(critic_loss.reduction, _SQUARED_LOSS),
    ("sac.critic_loss.distance", "library"): partial(critic_loss.distance, _CRITIC_LOSS),
    ("sac.target.minimum", "library"): partial(critics.minimum, _LOSS),
    ("sac.target.bootstrap", "library"): partial(critics.bootstrap, _LOSS),
    ("sac.actor_loss", "library"): partial(critics.actor_loss, _LOSS),
    ("sac.target_update.polyak", "library"): partial(critics.polyak, _LOSS),
    ("sac.target.bootstrap", "trainer"): _trained_bootstrap,
    ("sac.target.entropy", "library"): _target_entropy_inside,
    ("sac.temperature.loss", "library"): _temperature,
    ("sac.temperature.target_entropy", "library"): _default_target_entropy,
    ("sac.log_std.bounds", "library"): _log_std,
    ("sac.log_prob.tanh_correction", "library"): _tanh_correction,
    ("sac.log_prob.action_scale", "library"): _action_scale,
    ("sac.replay.action", "trainer"): _replay_action,
    ("sac.target_update.polyak", "script"): off_policy_losses.sac_program_polyak,
}
