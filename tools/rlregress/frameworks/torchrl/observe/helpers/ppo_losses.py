"""ClipPPOLoss of a Gaussian policy and a constant value, on a minibatch that a probe chooses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from rlregress.frameworks.torchrl.api import IndependentNormal, TensorDict
from rlregress.frameworks.torchrl.compat import LOG_PROBS, make_ppo_loss
from rlregress.frameworks.torchrl.known_networks import (
    Constant,
    FixedLocScale,
    make_action_box,
    make_stochastic_policy,
    make_v_network,
)


def make_minibatch(
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


def make_loss_of_constant_value(actor: Any, value: float, **options: Any) -> Any:
    """Return the loss of a policy and of a critic that outputs ``value`` in every state."""
    return make_ppo_loss(actor, make_v_network(Constant(value)), **options)


def compute_outputs_of_loss(
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
    loss = make_loss_of_constant_value(actor, 0.0, **options)
    return loss(make_minibatch(actor, count, advantages, ratios).update(further))
