"""Stored rollouts of RSL-RL's PPO, as its update gets them."""

from __future__ import annotations

from typing import Any

import numpy as np

from rlregress.frameworks.rsl_rl import compat
from rlregress.frameworks.rsl_rl.train.training import (
    make_runner_of_request,
    train_for_steps,
)
from rlregress.probing.interface import TrainingRequest, Transitions
from rlregress.probing.samples import copy_to_array


def collect_transitions(request: TrainingRequest, environments: int) -> Transitions:
    """Train on ``environments`` copies side by side; return the transitions of all rollouts."""
    runner = make_runner_of_request(request, environments)
    storage, update = runner.alg.storage, runner.alg.update
    rollouts: list[Any] = []

    def copy_storage_and_update() -> Any:
        fields = (
            compat.select_policy_observations(storage.observations),
            storage.rewards[..., 0],
            storage.dones[..., 0],
        )
        rollouts.append([copy_to_array(field) for field in fields])
        return update()

    runner.alg.update = copy_storage_and_update
    train_for_steps(runner, request.total_steps)
    observations, rewards, done = map(np.stack, zip(*rollouts, strict=False))
    return Transitions(observations, None, rewards, done.astype(bool), None)
