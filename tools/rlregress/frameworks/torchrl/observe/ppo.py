"""Probes of proximal policy optimisation: losses and networks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import nn

from rlregress.frameworks.torchrl import programs
from rlregress.frameworks.torchrl.api import (
    AddStateIndependentNormalScale,
    ExplorationType,
    IndependentNormal,
    set_exploration_type,
)
from rlregress.frameworks.torchrl.known_networks import Constant, box, policy
from rlregress.frameworks.torchrl.observe.helpers import ppo_losses, tiny_trainers
from rlregress.frameworks.torchrl.quiet import Raw
from rlregress.probing.interface import Inputs
from rlregress.probing.scripted import Scripted


def _policy_loss(options: Mapping[str, Any], **batch: Any) -> float:
    return float(ppo_losses.losses(0.0, batch, **options)["loss_objective"].detach())


def _clip(i: Inputs) -> float:
    return _policy_loss(
        {"clip_epsilon": i["clip_range"], "normalize_advantage": False},
        count=len(i["ratios"]),
        advantages=i["advantages"],
        ratios=i["ratios"],
    )


def _normalisation(i: Inputs) -> float:
    size = int(i["minibatch_size"])
    parts = np.reshape(i["advantages"], (-1, size))
    losses = [
        _policy_loss({"clip_epsilon": 0.2}, count=size, advantages=part, ratios=i["ratio"])
        for part in parts
    ]
    return float(np.mean(losses))


def _normalisation_epsilon(i: Inputs) -> float:
    return _policy_loss(
        {"clip_epsilon": 0.2, "normalize_advantage": True},
        count=len(i["advantages"]),
        advantages=i["advantages"],
        ratios=i["ratio"],
    )


def _value_loss(value: float, batch: Mapping[str, Any], **options: Any) -> float:
    """The value loss before its coefficient, by which the class multiplies it; not clipped."""
    options = {"critic_coeff": 0.5, "clip_value": None, **options}
    return float(ppo_losses.losses(value, batch, **options)["loss_critic"].detach()) / 0.5


def _value_scale(i: Inputs) -> float:
    batch = {"count": int(i["batch_size"]), "returns": i["return"]}
    return _value_loss(i["value"], batch, loss_critic_type="l2")


def _value_coefficient(i: Inputs) -> float:
    batch = {"count": 2, "returns": 3.0}
    by_default = ppo_losses.losses(1.0, batch, loss_critic_type="l2", clip_value=None)[
        "loss_critic"
    ]
    return float(by_default.detach()) / _value_loss(1.0, batch, loss_critic_type="l2")


def _value_distance(i: Inputs) -> list[float]:
    losses = [
        _value_loss(i["return"] + e, {"count": int(i["batch_size"]), "returns": i["return"]})
        for e in i["errors"]
    ]
    return [loss / losses[0] for loss in losses[1:]]


def _value_clip(**options: Any) -> Raw:
    def probe(i: Inputs) -> list[float]:
        arguments = {"clip_value": i["clip_range"]} if options["on"] else {}
        losses = []
        for old, returns in zip(i["old_values"], i["returns"], strict=False):
            batch = {"count": len(old), "returns": returns, "old_values": old}
            output = ppo_losses.losses(i["value"], batch, loss_critic_type="l2", **arguments)
            losses.append(float(output["loss_critic"].detach()))
        return [losses[0] / losses[2], losses[1] / losses[2]]

    return probe


def _entropy_bonus(i: Inputs) -> float:
    scale = AddStateIndependentNormalScale(1).to(torch.float64)
    actor = policy(nn.Sequential(Constant(0.0), scale), box(-10.0, 10.0), IndependentNormal)
    loss = ppo_losses.make(actor, 0.0, entropy_coeff=i["coefficient"], normalize_advantage=False)
    losses = loss(ppo_losses.minibatch(actor, 8))
    sum(loss for name, loss in losses.items() if name.startswith("loss")).backward()
    gradients = [p.grad for name, p in loss.named_parameters() if "scale" in name]
    return float(gradients[0])


def _entropy_coefficient(i: Inputs) -> float:
    losses = ppo_losses.losses(0.0, {"count": 2})
    return abs(float(losses["loss_entropy"].detach()) / float(losses["entropy"]))


def _one_step(environment: Scripted, actor: Any) -> tuple[float, float]:
    """Return the action that the environment received and the stored one, of one step of a
    collector.
    """
    collector = tiny_trainers.collector(environment, actor, 1)
    try:
        batch = next(iter(collector))
    finally:
        collector.shutdown()
    return float(environment.received[-1][0]), float(batch["action"])


def _bounding(make_actor: Any) -> Raw:
    def probe(i: Inputs) -> list[float]:
        pairs = []
        for x in i["samples"]:
            environment = Scripted(i["low"], i["high"])
            with set_exploration_type(ExplorationType.RANDOM):
                pairs.append(_one_step(environment, make_actor(environment, i, x)))
        return [pair[0] for pair in pairs] + [pair[1] for pair in pairs]

    return probe


def _library_actor(environment: Scripted, i: Inputs, x: float) -> Any:
    return tiny_trainers.squashed_policy(environment, [x], 2e-6)


def _script_actor(environment: Scripted, i: Inputs, x: float) -> Any:
    actor, mean = programs.constant_actor(i["low"], i["high"], 2e-6)
    nn.init.constant_(mean, x)
    return actor


PROBES: dict[tuple[str, str], Raw] = {
    ("ppo.policy_loss.clip", "library"): _clip,
    ("ppo.advantage_normalisation", "library"): _normalisation,
    ("ppo.advantage_normalisation.epsilon", "library"): _normalisation_epsilon,
    ("ppo.value_loss.scale", "library"): _value_scale,
    ("ppo.value_loss.coefficient", "library"): _value_coefficient,
    ("ppo.value_loss.distance", "library"): _value_distance,
    ("ppo.value_clip", "library"): _value_clip(on=True),
    ("ppo.value_clip.default", "library"): _value_clip(on=False),
    ("ppo.action.bounding", "library"): _bounding(_library_actor),
    ("ppo.action.bounding", "script"): _bounding(_script_actor),
    ("ppo.entropy.bonus", "library"): _entropy_bonus,
    ("ppo.entropy.coefficient", "library"): _entropy_coefficient,
}
