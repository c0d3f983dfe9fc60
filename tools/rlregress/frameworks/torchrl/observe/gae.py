"""Probes of generalised advantage estimation."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from rlregress.frameworks.torchrl.api import GAE
from rlregress.frameworks.torchrl.known_networks import (
    make_identity_layer,
    make_segment_observing_values,
    make_v_network,
)
from rlregress.frameworks.torchrl.observe.helpers import ppo_trainings, tiny_trainers
from rlregress.frameworks.torchrl.quiet import Raw
from rlregress.probing.interface import Inputs
from rlregress.probing.scripted import Scripted

AdvantagesAndTargets = tuple[np.ndarray, np.ndarray]


def _make_script_of_segment(inputs: Inputs) -> dict[str, Any]:
    return {
        "observations": inputs["values"],
        "next_observations": inputs["next_values"],
        "rewards": inputs["rewards"],
        "terminated": inputs["terminated"],
        "truncated": inputs["truncated"],
    }


def _run_estimator(inputs: Inputs) -> AdvantagesAndTargets:
    batch = make_segment_observing_values(
        inputs["values"],
        inputs["next_values"],
        inputs["rewards"],
        inputs["terminated"],
        inputs["truncated"],
    )
    estimator = GAE(
        gamma=inputs["discount"],
        lmbda=inputs["trace"],
        value_network=make_v_network(make_identity_layer()),
    )
    batch = estimator(batch)
    return batch["advantage"].numpy().reshape(-1), batch["value_target"].numpy().reshape(-1)


def _make_models() -> ppo_trainings.Models:
    actor = tiny_trainers.make_squashed_policy(Scripted(), [0.0], 1.0)
    critic = make_v_network(make_identity_layer(tiny_trainers.SINGLE))
    return ppo_trainings.Models(actor, critic)


def _run_trainer(inputs: Inputs) -> AdvantagesAndTargets:
    # without the normalisation of advantages, which has its own detail
    return ppo_trainings.run_trainer(
        [Scripted(**_make_script_of_segment(inputs))], *[len(inputs["rewards"])] * 3,
        models=_make_models(),
        is_standardised=False, gamma=inputs["discount"], lmbda=inputs["trace"],
    ).get_estimates()  # fmt: skip


def _run_script(inputs: Inputs) -> AdvantagesAndTargets:
    return ppo_trainings.run_ppo_program(
        partial(Scripted, **_make_script_of_segment(inputs)), *[len(inputs["rewards"])] * 3,
        models=_make_models(), gamma=inputs["discount"], gae_lambda=inputs["trace"],
    ).get_estimates()  # fmt: skip


def _make_advantages_probe(estimate: Callable[[Inputs], AdvantagesAndTargets]) -> Raw:
    return lambda i: estimate(i)[0]


def _make_value_targets_probe(estimate: Callable[[Inputs], AdvantagesAndTargets]) -> Raw:
    return lambda i: estimate(i)[1]


PROBES: dict[tuple[str, str], Raw] = {
    ("gae.truncation", "library"): _make_advantages_probe(_run_estimator),
    ("gae.truncation", "trainer"): _make_advantages_probe(_run_trainer),
    ("gae.truncation", "script"): _make_advantages_probe(_run_script),
    ("gae.value_target", "library"): _make_value_targets_probe(_run_estimator),
    ("gae.value_target", "trainer"): _make_value_targets_probe(_run_trainer),
    ("gae.value_target", "script"): _make_value_targets_probe(_run_script),
}
