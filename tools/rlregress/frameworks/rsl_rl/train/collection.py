"""Stored rollouts of RSL-RL's PPO, as its update gets them."""

from __future__ import annotations

from typing import Any

import numpy as np

from rlregress.frameworks.rsl_rl import compat
from rlregress.frameworks.rsl_rl.train.training import before_updates, learn, new
from rlregress.probing.interface import TrainingRequest, Transitions
from rlregress.probing.samples import array


def transitions(request: TrainingRequest, environments: int) -> Transitions:
    """Train with ``learn`` on ``environments`` copies side by side."""
    runner = new(request, environments)
    rollouts: list[Any] = []

    def copy(storage: Any) -> None:
        fields = compat.group(storage.observations), storage.rewards[..., 0], storage.dones[..., 0]
        rollouts.append([array(field) for field in fields])

    before_updates(runner.alg, copy)
    learn(runner, request.total_steps)
    observations, rewards, done = map(np.stack, zip(*rollouts, strict=False))
    return Transitions(observations, None, rewards, done.astype(bool), None)
