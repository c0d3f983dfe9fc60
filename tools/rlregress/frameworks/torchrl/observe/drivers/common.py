"""Helpers of drivers: a deterministic policy, a batch, and the trainer around a loss."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from rlregress.frameworks.torchrl.api import (
    LazyTensorStorage,
    TanhModule,
    TensorDictModule,
    TensorDictReplayBuffer,
    TensorDictSequential,
)
from rlregress.frameworks.torchrl.compat import make_silent_trainer
from rlregress.frameworks.torchrl.known_networks import make_equal_transitions
from rlregress.measurements.driven_agents import Settings


def make_tanh_policy(layer: nn.Module, spec: Any) -> Any:
    """Return a policy whose actions a tanh brings from a layer's outputs between the bounds."""
    return TensorDictSequential(
        TensorDictModule(layer, in_keys=["observation"], out_keys=["param"]),
        TanhModule(in_keys=["param"], out_keys=["action"], spec=spec),
    )


def fix_exploration_noise(noise: Any, number: float | None) -> None:
    """Fix the exploration noise to ``number``; None leaves it random."""
    if number is not None:
        # not in place: where the mean is given as an integer, the buffer is one
        noise.mean, noise.std = torch.tensor(float(number)), torch.tensor(0.0)


def make_batch(settings: Settings, action: Any) -> Any:
    """Return equal transitions, as a replay buffer gives them.

    Args:
        action: of each row.
    """
    return make_equal_transitions(
        settings.batch_size, settings.reward, bool(settings.terminated), bool(settings.truncated),
        action, (0.5, 0.5), torch.float32,
    )  # fmt: skip


def make_trainer_without_learning(
    kind: Any, settings: Settings, collector: Any, loss: Any, **options: Any
) -> Any:
    """Return a trainer that makes one update after each collection and moves no parameter by it.

    Args:
        kind: its class.
        options: what it takes beside.
    """
    return make_silent_trainer(
        kind,
        collector,
        loss,
        settings.steps,
        optim_steps_per_batch=1,
        optimizer=torch.optim.SGD(loss.parameters(), lr=0.0),
        replay_buffer=TensorDictReplayBuffer(
            storage=LazyTensorStorage(256), batch_size=settings.batch_size
        ),
        **options,
    )
