"""Probes of special cases of TorchRL's advantage estimation and of advantage normalisation."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from rlregress.frameworks.torchrl.api import GAE, IndependentNormal, TensorDict, advantages
from rlregress.frameworks.torchrl.compat import (
    LOG_PROBS,
    call_with_newest_keywords,
    make_ppo_loss,
)
from rlregress.frameworks.torchrl.known_networks import (
    Constant,
    FixedLocScale,
    make_action_box,
    make_identity_layer,
    make_segment_observing_values,
    make_stochastic_policy,
    make_v_network,
)
from rlregress.frameworks.torchrl.quiet import Raw
from rlregress.probing.framework_errors import was_raised_in
from rlregress.probing.interface import Inputs


def _measure_advantages_at_lambda_zero(inputs: Inputs) -> list[float]:
    batch = make_segment_observing_values(
        inputs["values"], inputs["next_values"], inputs["rewards"]
    )
    estimator = GAE(
        gamma=inputs["discount"],
        lmbda=0.0,
        value_network=make_v_network(make_identity_layer()),
        vectorized=True,
    )
    try:
        estimated = estimator(batch)["advantage"].reshape(-1).tolist()
    except (IndexError, ValueError, ZeroDivisionError) as error:
        if not was_raised_in(error, "torchrl.objectives.value"):
            raise
        return [1.0] + [0.0] * len(inputs["rewards"])
    return [0.0, *estimated]


def _measure_advantage_at_auto_reset(inputs: Inputs) -> float:
    batch = make_segment_observing_values(
        inputs["value"], inputs["next_value"], inputs["reward"], truncated=True
    )
    estimator = call_with_newest_keywords(
        GAE,
        gamma=inputs["discount"],
        lmbda=0.8,
        value_network=make_v_network(make_identity_layer()),
        auto_reset_env=True,
    )
    return float(estimator(batch)["advantage"])


def _measure_use_of_vectorised_kernel(inputs: Inputs) -> float:
    called: list[str] = []

    def wrap_to_note_calls(name: str) -> Any:
        original = getattr(advantages, name)

        def note_call(*arguments: Any, **keywords: Any) -> Any:
            called.append(name)
            return original(*arguments, **keywords)

        return note_call

    names = ("generalized_advantage_estimate", "vec_generalized_advantage_estimate")
    originals = {name: getattr(advantages, name) for name in names}
    try:
        for name in names:
            setattr(advantages, name, wrap_to_note_calls(name))
        estimator = GAE(
            gamma=inputs["discount"],
            lmbda=inputs["trace"],
            value_network=make_v_network(make_identity_layer()),
        )
        estimator(make_segment_observing_values([0.0, 1.0], [1.0, 2.0], [1.0, 1.0]))
    finally:
        for name, original in originals.items():
            setattr(advantages, name, original)
    (name,) = set(called)
    return float(name == names[1])


def _measure_advantage_after_value_change(inputs: Inputs) -> float:
    batch = make_segment_observing_values(
        inputs["value"], inputs["value"], inputs["reward"], terminated=True
    )
    stored = torch.full((1, 1, 1), inputs["value"], dtype=torch.float64)
    batch["state_value"] = stored
    batch["next", "state_value"] = stored.clone()
    estimator = GAE(
        gamma=inputs["discount"],
        lmbda=0.8,
        value_network=make_v_network(Constant(inputs["next_value"])),
    )
    return float(estimator(batch)["advantage"])


def _measure_normalised_advantage_with_mask(inputs: Inputs) -> list[float]:
    count = len(inputs["advantages"])
    actor = make_stochastic_policy(
        FixedLocScale([0.0], [1.0]), make_action_box(-10.0, 10.0), IndependentNormal
    )
    loss = make_ppo_loss(actor, make_v_network(Constant(0.0)), normalize_advantage=True)
    zeros = torch.zeros(count, 1, dtype=torch.float64)
    batch = TensorDict({"observation": zeros, "action": zeros}, [count])
    # only the last sample has a ratio other than 1
    log_prob = actor.get_dist(batch).log_prob(zeros).detach()
    log_prob[-1] -= np.log(inputs["ratio"])
    for name in LOG_PROBS:
        batch[name] = log_prob
    batch["advantage"] = torch.as_tensor(inputs["advantages"]).reshape(-1, 1)
    batch["value_target"] = zeros
    normalised = []
    for mask in (None, torch.ones(count, 1, dtype=torch.bool)):
        if mask is not None:
            batch["shifted_valid"] = mask
        objective = float(loss(batch)["loss_objective"].detach())
        normalised.append(-objective * count / (inputs["ratio"] - 1.0))
    return normalised


PROBES: dict[tuple[str, str], Raw] = {
    ("gae.lambda_zero", "library"): _measure_advantages_at_lambda_zero,
    ("gae.reset_env", "library"): _measure_advantage_at_auto_reset,
    ("gae.kernel", "library"): _measure_use_of_vectorised_kernel,
    ("gae.stored_values", "library"): _measure_advantage_after_value_change,
    ("advantage.masked_normalisation", "library"): _measure_normalised_advantage_with_mask,
}
