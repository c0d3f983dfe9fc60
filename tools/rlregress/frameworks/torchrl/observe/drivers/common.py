"""Helpers of the drivers of value-based losses: a batch, and the trainer around a loss."""

from __future__ import annotations

from typing import Any

import torch

from rlregress.frameworks.torchrl.api import LazyTensorStorage, TensorDict, TensorDictReplayBuffer
from rlregress.frameworks.torchrl.compat import make_silent_trainer
from rlregress.measurements.driven_agents import Settings


def make_equal_transitions(settings: Settings, action: torch.Tensor) -> Any:
    """Return equal transitions, as a replay buffer gives them.

    Args:
        action: [batch size, width].
    """
    terminated, truncated = bool(settings.terminated), bool(settings.truncated)

    def fill_column(number: Any) -> torch.Tensor:
        return torch.full((settings.batch_size, 1), number)

    return TensorDict(
        {
            "observation": fill_column(0.5),
            "action": action,
            "next": {
                "observation": fill_column(0.5),
                "reward": fill_column(settings.reward),
                "terminated": fill_column(terminated),
                "truncated": fill_column(truncated),
                "done": fill_column(terminated or truncated),
            },
        },
        [settings.batch_size],
    )


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
