"""Probes of proximal policy optimisation: losses and networks."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
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
from rlregress.frameworks.torchrl.known_networks import (
    Constant,
    make_action_box,
    make_stochastic_policy,
)
from rlregress.frameworks.torchrl.observe.helpers import ppo_losses, tiny_trainers
from rlregress.frameworks.torchrl.quiet import Raw
from rlregress.measurements import ppo
from rlregress.probing.driven import fill_parameters
from rlregress.probing.interface import Inputs
from rlregress.probing.scripted import Scripted


def _run_update(settings: ppo.Settings, **options: Any) -> ppo.Effects:
    """Compute PPO's summed losses with these settings; return their sum and derivatives."""
    options.update(
        settings.map_to_framework_names(
            clip_range="clip_epsilon",
            value_coefficient="critic_coeff",
            entropy_coefficient="entropy_coeff",
        )
    )
    if settings.value_clip is not None:
        options["clip_value"] = settings.value_clip or None
    scale = AddStateIndependentNormalScale(1).to(torch.float64)
    fill_parameters(scale.parameters(), settings.log_deviation)
    actor = make_stochastic_policy(
        nn.Sequential(Constant(0.0), scale), make_action_box(-10.0, 10.0), IndependentNormal
    )
    loss = ppo_losses.make_loss_of_constant_value(
        actor, settings.value, normalize_advantage=False, **options
    )
    outputs = loss(
        ppo_losses.make_minibatch(
            actor,
            settings.count,
            settings.advantages,
            settings.ratios,
            settings.returns,
            settings.old_values,
        )
    )
    total = sum(output for name, output in outputs.items() if name.startswith("loss"))
    total.backward()
    # there is none of a value that is clipped
    gradients = {
        name: 0.0 if parameter.grad is None else float(parameter.grad)
        for name, parameter in loss.named_parameters()
    }
    by_part = (
        next(g for name, g in gradients.items() if part in name) for part in ("critic", "scale")
    )
    return ppo.Effects(float(total.detach()), float("nan"), *by_part)


def _measure_policy_loss(options: Mapping[str, Any], **batch: Any) -> float:
    return float(
        ppo_losses.compute_outputs_of_loss(0.0, batch, **options)["loss_objective"].detach()
    )


def _measure_loss_with_normalised_advantages(inputs: Inputs) -> float:
    size = int(inputs["minibatch_size"])
    parts = np.reshape(inputs["advantages"], (-1, size))
    losses = [
        _measure_policy_loss(
            {"clip_epsilon": 0.2}, count=size, advantages=part, ratios=inputs["ratio"]
        )
        for part in parts
    ]
    return float(np.mean(losses))


def _measure_loss_of_similar_advantages(inputs: Inputs) -> float:
    return _measure_policy_loss(
        {"clip_epsilon": 0.2, "normalize_advantage": True},
        count=len(inputs["advantages"]),
        advantages=inputs["advantages"],
        ratios=inputs["ratio"],
    )


def _list_executed_and_stored_action(environment: Scripted, actor: Any) -> tuple[float, float]:
    """Return a step's action as the environment received it and as the collector stored it."""
    collector = tiny_trainers.make_collector(environment, actor, 1)
    try:
        batch = next(iter(collector))
    finally:
        collector.shutdown()
    return float(environment.received[-1][0]), float(batch["action"])


def _make_probe_of_action_bounding(make_actor: Any) -> Raw:
    def measure_action_bounding(inputs: Inputs) -> list[float]:
        pairs = []
        for x in inputs["samples"]:
            environment = Scripted(inputs["low"], inputs["high"])
            with set_exploration_type(ExplorationType.RANDOM):
                pairs.append(
                    _list_executed_and_stored_action(
                        environment, make_actor(environment, inputs, x)
                    )
                )
        return [pair[0] for pair in pairs] + [pair[1] for pair in pairs]

    return measure_action_bounding


def _make_library_actor(environment: Scripted, inputs: Inputs, x: float) -> Any:
    return tiny_trainers.make_squashed_policy(environment, [x], 2e-6)


def _make_script_actor(environment: Scripted, inputs: Inputs, x: float) -> Any:
    actor, mean = programs.make_constant_actor_and_mean(inputs["low"], inputs["high"], 2e-6)
    nn.init.constant_(mean, x)
    return actor


#: of the others the distance is what the class has by default
_SQUARED = (
    "ppo.value_loss.scale", "ppo.value_loss.coefficient", "ppo.value_clip",
    "ppo.value_clip.default", "ppo.value_clip.range", "ppo.value_clip.gradient",
)  # fmt: skip
PROBES: dict[tuple[str, str], Raw] = {
    **{
        (id, "library"): partial(
            measure, partial(_run_update, loss_critic_type="l2") if id in _SQUARED else _run_update
        )
        for id, measure in ppo.MEASUREMENTS.items()
        # neither the loss nor the library clips gradients
        if id != "ppo.gradient_clip"
    },
    ("ppo.advantage_normalisation", "library"): _measure_loss_with_normalised_advantages,
    ("ppo.advantage_normalisation.epsilon", "library"): _measure_loss_of_similar_advantages,
    ("ppo.action.bounding", "library"): _make_probe_of_action_bounding(_make_library_actor),
    ("ppo.action.bounding", "script"): _make_probe_of_action_bounding(_make_script_actor),
}
