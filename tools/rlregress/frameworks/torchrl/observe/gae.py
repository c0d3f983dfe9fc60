"""Probes of generalised advantage estimation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rlregress.frameworks.torchrl import programs
from rlregress.frameworks.torchrl.api import GAE
from rlregress.frameworks.torchrl.compat import find_value_estimator
from rlregress.frameworks.torchrl.known_networks import (
    make_identity_layer,
    make_segment,
    make_v_network,
)
from rlregress.frameworks.torchrl.observe.helpers import tiny_trainers
from rlregress.frameworks.torchrl.quiet import Raw
from rlregress.probing.interface import Inputs
from rlregress.probing.scripted import Scripted

Found = tuple[np.ndarray, np.ndarray]


def _make_playback(inputs: Inputs) -> dict[str, Any]:
    return {
        "observations": inputs["values"],
        "next_observations": inputs["next_values"],
        "rewards": inputs["rewards"],
        "terminated": inputs["terminated"],
        "truncated": inputs["truncated"],
    }


def _run_estimator(inputs: Inputs) -> Found:
    batch = make_segment(
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


def _make_models() -> Any:
    actor = tiny_trainers.make_squashed_policy(Scripted(), [0.0], 1.0)
    return actor, make_v_network(make_identity_layer(tiny_trainers.SINGLE))


def _run_trainer(inputs: Inputs) -> Found:
    actor, critic = _make_models()
    steps = len(inputs["rewards"])
    batches = []

    def note_batch(batch: Any) -> Any:
        batches.append(batch)
        return batch

    def watch_trainer(trainer: Any, _: Any) -> None:
        # the trainer's own estimator, without the normalisation that has its own detail
        find_value_estimator(trainer).average_gae = False
        trainer.register_op("pre_epoch", note_batch)

    tiny_trainers.run_ppo_trainer_once(
        Scripted(**_make_playback(inputs)),
        actor,
        critic,
        steps,
        steps,
        watch_trainer,
        gamma=inputs["discount"],
        lmbda=inputs["trace"],
    )
    batch = batches[0].reshape(-1)
    return batch["advantage"].numpy().reshape(-1), batch["value_target"].numpy().reshape(-1)


def _run_script(inputs: Inputs) -> Found:
    steps = len(inputs["rewards"])
    run = programs.run_ppo_program(
        _make_playback(inputs),
        _make_models(),
        steps,
        steps,
        discount=inputs["discount"],
        gae_lambda=inputs["trace"],
    )
    return run.advantages, run.value_targets


def _make_advantages_probe(estimate: Callable[[Inputs], Found]) -> Raw:
    return lambda i: estimate(i)[0]


def _make_value_targets_probe(estimate: Callable[[Inputs], Found]) -> Raw:
    return lambda i: estimate(i)[1]


PROBES: dict[tuple[str, str], Raw] = {
    ("gae.truncation", "library"): _make_advantages_probe(_run_estimator),
    ("gae.truncation", "trainer"): _make_advantages_probe(_run_trainer),
    ("gae.truncation", "script"): _make_advantages_probe(_run_script),
    ("gae.value_target", "library"): _make_value_targets_probe(_run_estimator),
    ("gae.value_target", "trainer"): _make_value_targets_probe(_run_trainer),
    ("gae.value_target", "script"): _make_value_targets_probe(_run_script),
}
