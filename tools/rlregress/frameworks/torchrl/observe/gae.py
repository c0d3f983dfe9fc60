"""Probes of generalised advantage estimation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rlregress.frameworks.torchrl import programs
from rlregress.frameworks.torchrl.api import GAE
from rlregress.frameworks.torchrl.compat import find_value_estimator
from rlregress.frameworks.torchrl.known_networks import identity, segment, v_network
from rlregress.frameworks.torchrl.observe.helpers import tiny_trainers
from rlregress.frameworks.torchrl.quiet import Raw
from rlregress.probing.interface import Inputs
from rlregress.probing.scripted import Scripted

Found = tuple[np.ndarray, np.ndarray]


def _playback(i: Inputs) -> dict[str, Any]:
    return {
        "observations": i["values"],
        "next_observations": i["next_values"],
        "rewards": i["rewards"],
        "terminated": i["terminated"],
        "truncated": i["truncated"],
    }


def _library(i: Inputs) -> Found:
    batch = segment(i["values"], i["next_values"], i["rewards"], i["terminated"], i["truncated"])
    estimator = GAE(gamma=i["discount"], lmbda=i["trace"], value_network=v_network(identity()))
    batch = estimator(batch)
    return batch["advantage"].numpy().reshape(-1), batch["value_target"].numpy().reshape(-1)


def _models() -> Any:
    actor = tiny_trainers.squashed_policy(Scripted(), [0.0], 1.0)
    return actor, v_network(identity(tiny_trainers.SINGLE))


def _trainer(i: Inputs) -> Found:
    actor, critic = _models()
    steps = len(i["rewards"])
    batches = []

    def note(batch: Any) -> Any:
        batches.append(batch)
        return batch

    def before_training(trainer: Any, _: Any) -> None:
        # the trainer's own estimator, without the normalisation that has its own detail
        find_value_estimator(trainer).average_gae = False
        trainer.register_op("pre_epoch", note)

    tiny_trainers.run_ppo_trainer(
        Scripted(**_playback(i)),
        actor,
        critic,
        steps,
        steps,
        before_training,
        gamma=i["discount"],
        lmbda=i["trace"],
    )
    batch = batches[0].reshape(-1)
    return batch["advantage"].numpy().reshape(-1), batch["value_target"].numpy().reshape(-1)


def _script(i: Inputs) -> Found:
    steps = len(i["rewards"])
    run = programs.run_ppo(
        _playback(i), _models(), steps, steps, discount=i["discount"], trace=i["trace"]
    )
    return run.advantages, run.value_targets


def _advantages(estimate: Callable[[Inputs], Found]) -> Raw:
    return lambda i: estimate(i)[0]


def _value_targets(estimate: Callable[[Inputs], Found]) -> Raw:
    return lambda i: estimate(i)[1]


PROBES: dict[tuple[str, str], Raw] = {
    ("gae.truncation", "library"): _advantages(_library),
    ("gae.truncation", "trainer"): _advantages(_trainer),
    ("gae.truncation", "script"): _advantages(_script),
    ("gae.value_target", "library"): _value_targets(_library),
    ("gae.value_target", "trainer"): _value_targets(_trainer),
    ("gae.value_target", "script"): _value_targets(_script),
}
