"""Stored rollouts of RSL-RL's PPO, as its update gets them."""

from __future__ import annotations

from typing import Any

import numpy as np

from rlregress.frameworks.rsl_rl import compat
from rlregress.frameworks.rsl_rl.train.training import (
    call_before_updates,
    make_runner_of_request,
    train_for_steps,
)
from rlregress.probing.interface import TrainingRequest, Transitions
from rlregress.probing.samples import copy_to_array


def collect_transitions(request: TrainingRequest, environments: int) -> Transitions:
    """Train on ``environments`` copies side by side; return the transitions of all rollouts."""
    runner = make_runner_of_request(request, environments)
    rollouts: list[Any] = []

    def copy_storage(storage: Any) -> None:
        fields = (
            compat.select_policy_observations(storage.observations),
            storage.rewards[..., 0],
            storage.dones[..., 0],
        )
        rollouts.append([copy_to_array(field) for field in fields])

    call_before_updates(runner.alg, copy_storage)
    train_for_steps(runner, request.total_steps)
    observations, rewards, done = map(np.stack, zip(*rollouts, strict=False))
    return Transitions(observations, None, rewards, done.astype(bool), None)
