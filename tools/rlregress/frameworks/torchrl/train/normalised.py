"""The statistics of VecNorm: after a training, in an evaluation, and in a trainer's state."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import numpy as np

from rlregress.frameworks.torchrl.api import SerialEnv
from rlregress.frameworks.torchrl.train.collection import make_trainer_and_loss
from rlregress.frameworks.torchrl.train.training import make_policy_function
from rlregress.probing.interface import RunningStatistics, TrainingRequest, TrainingVariant
from rlregress.probing.isolation import isolate_random_generators

_RUNNING = TrainingVariant(running=True)


def collect_running_statistics(request: TrainingRequest, environments: int) -> RunningStatistics:
    """Return VecNorm's statistics: trained, after an evaluation, and loaded from a saved state."""
    # a collector that has handed out its last batch has closed its environments
    longer = replace(request, total_steps=2 * request.total_steps)
    trainer, loss = make_trainer_and_loss(longer, environments, _RUNNING)
    statistics: dict[str, Any] = {}

    def note_statistics() -> None:
        if trainer.collected_frames >= request.total_steps:
            statistics["trained"] = _read_statistics(trainer)
            request.on_checkpoint(trainer.collected_frames, make_policy_function(loss))
            statistics["state"] = copy.deepcopy(trainer.state_dict())
            statistics["evaluated"] = _read_statistics_after_evaluation(trainer)
            trainer.request_stop()

    trainer.register_op("post_steps", note_statistics)
    trainer.train()
    with isolate_random_generators():
        frozen, _ = make_trainer_and_loss(request, environments, _RUNNING)
        frozen.load_state_dict(statistics["state"])
    return RunningStatistics(
        statistics["trained"], statistics["evaluated"], _read_statistics(frozen)
    )


def _list_environments(trainer: Any) -> list[Any]:
    environment = trainer.collector.env
    return list(environment._envs) if isinstance(environment, SerialEnv) else [environment]


def _read_statistics(trainer: Any) -> np.ndarray:
    sets = []
    for environment in _list_environments(trainer):
        transform = environment.transform
        # alone, or behind the one that makes observations single precision
        normalising = transform if hasattr(transform, "loc") else transform[-1]
        sets.append([normalising.loc["observation"], normalising.scale["observation"] ** 2])
    return np.array([[part.numpy().copy() for part in values] for values in sets])


def _read_statistics_after_evaluation(trainer: Any) -> np.ndarray:
    for environment in _list_environments(trainer):
        environment.eval()
        environment.rollout(8)
    return _read_statistics(trainer)
