"""Stored transitions of skrl: rollouts of PPO, rows of the memory of the others."""

from __future__ import annotations

from typing import Any

import numpy as np

from rlregress.frameworks.skrl import compat
from rlregress.frameworks.skrl.agents import AgentSetup
from rlregress.frameworks.skrl.train.training import make_training_of_request
from rlregress.probing.interface import TrainingRequest, Transitions


def _read_stored_rows(training: AgentSetup, name: str) -> np.ndarray:
    """Return a tensor of the memory: [rows, environments, dimensions]."""
    return training.read_stored_tensor(name).numpy().copy()


def collect_transitions(request: TrainingRequest, environments: int) -> Transitions:
    """Train on ``environments`` copies; return the transitions that the agent stores.

    A memory of PPO marks truncations from 1.4.0 on; one of the others marks none.
    """
    training = make_training_of_request(request, environments)
    steps = request.total_steps // environments
    if request.algorithm == "ppo":
        return _collect_rollouts(training, steps)
    training.run_steps(steps)
    segment = request.hyperparameters["steps_per_collection"]

    def read_rows(name: str) -> np.ndarray:
        written = _read_stored_rows(training, name)[:steps]
        return written.reshape(-1, segment, *written.shape[1:])

    return Transitions(
        observations=read_rows("observations"),
        next_observations=read_rows("next_observations"),
        rewards=read_rows("rewards")[..., 0],
        done=None,
        terminated=read_rows("terminated")[..., 0].astype(bool),
    )


def _collect_rollouts(training: AgentSetup, steps: int) -> Transitions:
    rollouts: list[Any] = []
    update = getattr(training.agent, compat.UPDATE)

    def copy_and_update(*arguments: Any, **keywords: Any) -> None:
        names = ("rewards", "terminated", "truncated")
        rewards, terminated, truncated = (
            _read_stored_rows(training, name)[..., 0] for name in names
        )
        done = terminated.astype(bool) | truncated.astype(bool)
        rollouts.append(
            (_read_stored_rows(training, "observations"), rewards, done, terminated.astype(bool))
        )
        update(*arguments, **keywords)

    setattr(training.agent, compat.UPDATE, copy_and_update)
    training.run_steps(steps)
    observations, rewards, done, terminated = map(np.stack, zip(*rollouts, strict=False))
    return Transitions(observations, None, rewards, done, terminated)
