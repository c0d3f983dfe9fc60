"""Stored transitions of skrl: rollouts of PPO, rows of the memory of the others."""

from __future__ import annotations

from typing import Any

import numpy as np

from rlregress.frameworks.skrl import compat
from rlregress.frameworks.skrl.agents import Training
from rlregress.frameworks.skrl.train.training import make_training
from rlregress.probing.interface import TrainingRequest, Transitions


def _read_stored(training: Training, name: str) -> np.ndarray:
    """Return a tensor of the memory: [rows, environments, dimensions]."""
    return training.stored(name).numpy().copy()


def transitions(request: TrainingRequest, environments: int) -> Transitions:
    """Train on ``environments`` copies; several are in gymnasium's ``SyncVectorEnv``.

    A memory of PPO marks truncations from 1.4.0 on; one of the others marks none.
    """
    training = make_training(request, environments)
    steps = request.total_steps // environments
    if request.algorithm == "ppo":
        return _collect_rollouts(training, steps)
    training.run(steps)
    segment = request.hyperparameters["steps_per_collection"]

    def rows(name: str) -> np.ndarray:
        written = _read_stored(training, name)[:steps]
        return written.reshape(-1, segment, *written.shape[1:])

    return Transitions(
        observations=rows("observations"),
        next_observations=rows("next_observations"),
        rewards=rows("rewards")[..., 0],
        done=None,
        terminated=rows("terminated")[..., 0].astype(bool),
    )


def _collect_rollouts(training: Training, steps: int) -> Transitions:
    rollouts: list[Any] = []
    update = getattr(training.agent, compat.UPDATE)

    def updating(*arguments: Any, **keywords: Any) -> None:
        names = ("rewards", "terminated", "truncated")
        rewards, terminated, truncated = (_read_stored(training, name)[..., 0] for name in names)
        done = terminated.astype(bool) | truncated.astype(bool)
        rollouts.append(
            (_read_stored(training, "observations"), rewards, done, terminated.astype(bool))
        )
        update(*arguments, **keywords)

    setattr(training.agent, compat.UPDATE, updating)
    training.run(steps)
    observations, rewards, done, terminated = map(np.stack, zip(*rollouts, strict=False))
    return Transitions(observations, None, rewards, done, terminated)
