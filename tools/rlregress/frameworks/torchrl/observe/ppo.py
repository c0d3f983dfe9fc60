"""Probes of proximal policy optimisation: its loss."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import nn

from rlregress.frameworks.torchrl.api import (
    AddStateIndependentNormalScale,
    IndependentNormal,
    TensorDict,
)
from rlregress.frameworks.torchrl.compat import LOG_PROBS, get_loss_output, make_ppo_loss
from rlregress.frameworks.torchrl.known_networks import (
    Constant,
    FixedLocScale,
    make_action_box,
    make_stochastic_policy,
    make_v_network,
)
from rlregress.measurements import ppo
from rlregress.probing.driven import fill_parameters
from rlregress.probing.interface import Inputs, Probe


def _make_minibatch(
    actor: Any,
    count: int,
    advantages: Any = 0.0,
    ratios: Any = 1.0,
    returns: Any = 0.0,
    old_values: Any = 0.0,
) -> TensorDict:
    """Return a minibatch as a rollout leaves it, [count], float64; numbers are repeated."""

    def make_column(numbers: Any) -> torch.Tensor:
        array = np.broadcast_to(np.asarray(numbers, dtype=np.float64), (count,)).copy()
        return torch.from_numpy(array).reshape(count, 1)

    batch = TensorDict(
        {
            "observation": make_column(0.0),
            "action": make_column(0.5),
            "advantage": make_column(advantages),
            "value_target": make_column(returns),
            "state_value": make_column(old_values),
        },
        [count],
    )
    log_prob = actor.get_dist(batch).log_prob(batch["action"]).detach()
    for name in LOG_PROBS:
        batch[name] = log_prob - make_column(ratios).reshape(count).log()
    return batch


def _make_loss_of_constant_value(actor: Any, value: float, **options: Any) -> Any:
    """Return the loss of a policy and of a critic that outputs ``value`` in every state."""
    return make_ppo_loss(actor, make_v_network(Constant(value)), **options)


def _compute_outputs_of_loss(
    count: int,
    advantages: Any = 0.0,
    ratios: Any = 1.0,
    further: Mapping[str, torch.Tensor] = {},
    **options: Any,
) -> Any:
    """Return all outputs of the loss of a standard Gaussian for one minibatch, where V(s) is 0.

    Args:
        further: entries of the minibatch.
        options: of the loss.
    """
    actor = make_stochastic_policy(
        FixedLocScale([0.0], [1.0]), make_action_box(-10.0, 10.0), IndependentNormal
    )
    loss = _make_loss_of_constant_value(actor, 0.0, **options)
    return loss(_make_minibatch(actor, count, advantages, ratios).update(further))


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
    loss = _make_loss_of_constant_value(actor, settings.value, normalize_advantage=False, **options)
    outputs = loss(
        _make_minibatch(
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


def _compute_policy_loss(advantages: Any, ratio: Any = 1.0, **options: Any) -> float:
    outputs = _compute_outputs_of_loss(
        len(advantages), advantages, ratio, clip_epsilon=0.2, **options
    )
    return float(outputs["loss_objective"].detach())


def _measure_loss_with_normalised_advantages(inputs: Inputs) -> float:
    parts = np.reshape(inputs["advantages"], (-1, int(inputs["minibatch_size"])))
    return float(np.mean([_compute_policy_loss(part, inputs["ratio"]) for part in parts]))


def _measure_finiteness_and_loss_of_single_sample(inputs: Inputs) -> list[float]:
    loss = _compute_policy_loss([inputs["advantage"]], normalize_advantage=True)
    return [1.0, loss] if np.isfinite(loss) else [0.0, 0.0]


def _measure_kl_estimate(inputs: Inputs) -> float:
    outputs = _compute_outputs_of_loss(len(inputs["ratios"]), ratios=inputs["ratios"])
    return float(get_loss_output(outputs, "kl_approx").detach().mean())


def _measure_normalised_advantage_with_mask(inputs: Inputs) -> list[float]:
    count = len(inputs["advantages"])
    # only the last sample has a ratio other than 1
    ratios = [1.0] * (count - 1) + [inputs["ratio"]]
    normalised = []
    for mask in ({}, {"shifted_valid": torch.ones(count, 1, dtype=torch.bool)}):
        loss = _compute_policy_loss(
            inputs["advantages"], ratios, further=mask, normalize_advantage=True
        )
        normalised.append(-loss * count / (inputs["ratio"] - 1.0))
    return normalised


#: of the others the distance is what the class has by default
_SQUARED = (
    "ppo.value_loss.scale", "ppo.value_loss.coefficient", "ppo.value_clip",
    "ppo.value_clip.default", "ppo.value_clip.range", "ppo.value_clip.gradient",
)  # fmt: skip
PROBES: dict[tuple[str, str], Probe] = {
    **{
        (id, "library"): partial(
            measure, partial(_run_update, loss_critic_type="l2") if id in _SQUARED else _run_update
        )
        for id, measure in ppo.MEASUREMENTS.items()
        # neither the loss nor the library clips gradients
        if id != "ppo.gradient_clip"
    },
    ("ppo.advantage_normalisation", "library"): _measure_loss_with_normalised_advantages,
    ("ppo.advantage_normalisation.epsilon", "library"): lambda i: _compute_policy_loss(
        i["advantages"], i["ratio"], normalize_advantage=True
    ),
    (
        "ppo.advantage_normalisation.single",
        "library",
    ): _measure_finiteness_and_loss_of_single_sample,
    ("ppo.kl_estimator", "library"): _measure_kl_estimate,
    ("advantage.masked_normalisation", "library"): _measure_normalised_advantage_with_mask,
}
