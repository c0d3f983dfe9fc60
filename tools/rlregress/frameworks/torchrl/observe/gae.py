"""Probes of generalised advantage estimation, and of its special cases."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any
from unittest import mock

import numpy as np
import torch

from rlregress.frameworks.torchrl.api import GAE, advantages
from rlregress.frameworks.torchrl.compat import call_with_newest_keywords
from rlregress.frameworks.torchrl.known_networks import (
    Constant,
    make_number_layer,
    make_segment_observing_values,
    make_v_network,
)
from rlregress.frameworks.torchrl.observe.drivers import ppo_trainings
from rlregress.frameworks.torchrl.scripted_environments import make_squashed_policy
from rlregress.probing.framework_errors import was_raised_in
from rlregress.probing.interface import Inputs, Probe
from rlregress.probing.scripted import Scripted, make_script_of_segment

AdvantagesAndTargets = tuple[np.ndarray, np.ndarray]


def _make_estimator(inputs: Inputs, decay: float, network: Any = None, **options: Any) -> Any:
    """Return TorchRL's estimator; V(s) = s, unless a value network is given."""
    return call_with_newest_keywords(
        GAE,
        gamma=inputs["discount"],
        lmbda=decay,
        value_network=make_v_network(make_number_layer() if network is None else network),
        **options,
    )


def _run_estimator(inputs: Inputs) -> AdvantagesAndTargets:
    batch = make_segment_observing_values(
        inputs["values"],
        inputs["next_values"],
        inputs["rewards"],
        inputs["terminated"],
        inputs["truncated"],
    )
    batch = _make_estimator(inputs, inputs["trace"])(batch)
    return batch["advantage"].numpy().reshape(-1), batch["value_target"].numpy().reshape(-1)


def _run_loop(scope: str, inputs: Inputs) -> AdvantagesAndTargets:
    actor = make_squashed_policy(Scripted(), [0.0], 1.0)
    critic = make_v_network(make_number_layer(dtype=torch.float32))
    # without the normalisation of advantages, which has its own detail
    return ppo_trainings.train(
        scope, partial(Scripted, **make_script_of_segment(inputs)), *[len(inputs["rewards"])] * 3,
        models=ppo_trainings.Models(actor, critic), is_standardised=False,
        gamma=inputs["discount"], lmbda=inputs["trace"],
    ).get_estimates()  # fmt: skip


def _measure_advantages_at_lambda_zero(inputs: Inputs) -> list[float]:
    batch = make_segment_observing_values(
        inputs["values"], inputs["next_values"], inputs["rewards"]
    )
    estimator = _make_estimator(inputs, 0.0, vectorized=True)
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
    return float(_make_estimator(inputs, 0.8, auto_reset_env=True)(batch)["advantage"])


def _measure_use_of_vectorised_kernel(inputs: Inputs) -> float:
    names = ("generalized_advantage_estimate", "vec_generalized_advantage_estimate")
    kernels = {name: mock.Mock(wraps=getattr(advantages, name)) for name in names}
    with mock.patch.multiple(advantages, **kernels):
        _make_estimator(inputs, inputs["trace"])(
            make_segment_observing_values([0.0, 1.0], [1.0, 2.0], [1.0, 1.0])
        )
    (name,) = [name for name in names if kernels[name].called]
    return float(name == names[1])


def _measure_advantage_after_value_change(inputs: Inputs) -> float:
    batch = make_segment_observing_values(
        inputs["value"], inputs["value"], inputs["reward"], terminated=True
    )
    stored = torch.full((1, 1, 1), inputs["value"], dtype=torch.float64)
    batch["state_value"] = stored
    batch["next", "state_value"] = stored.clone()
    estimator = _make_estimator(inputs, 0.8, Constant(inputs["next_value"]))
    return float(estimator(batch)["advantage"])


def _estimate_numbers(
    estimate: Callable[[Inputs], AdvantagesAndTargets], number: int, inputs: Inputs
) -> np.ndarray:
    """Return advantages (number 0) or value targets (1)."""
    return estimate(inputs)[number]


_ESTIMATES: dict[str, Callable[[Inputs], AdvantagesAndTargets]] = {
    "library": _run_estimator,
    **{scope: partial(_run_loop, scope) for scope in ("trainer", "script")},
}
PROBES: dict[tuple[str, str], Probe] = {
    **{
        (id, scope): partial(_estimate_numbers, estimate, number)
        for number, id in enumerate(("gae.truncation", "gae.value_target"))
        for scope, estimate in _ESTIMATES.items()
    },
    ("gae.lambda_zero", "library"): _measure_advantages_at_lambda_zero,
    ("gae.reset_env", "library"): _measure_advantage_at_auto_reset,
    ("gae.kernel", "library"): _measure_use_of_vectorised_kernel,
    ("gae.stored_values", "library"): _measure_advantage_after_value_change,
}
