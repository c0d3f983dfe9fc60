"""Numbers of processes and backward passes of an update of PPO."""

from __future__ import annotations

import multiprocessing
from typing import Any
from unittest import mock

import numpy as np
import torch
from torch.optim.optimizer import register_optimizer_step_pre_hook

from rlregress.measurements.ppo_loop import Settings, Train
from rlregress.probing.interface import Inputs


def parallel_gradient(train: Train, inputs: Inputs) -> np.ndarray:
    """Return processes at a step of the optimiser, and backward passes for each step."""
    processes: list[int] = []
    backwards: list[int] = []
    backward = torch.Tensor.backward

    def count_backward(*arguments: Any, **keywords: Any) -> Any:
        backwards.append(1)
        return backward(*arguments, **keywords)

    def look(*_: Any) -> None:
        distributed = torch.distributed
        world = distributed.get_world_size() if distributed.is_initialized() else 1
        processes.append(max(world, 1 + len(multiprocessing.active_children())))

    count = int(inputs["environments"])
    handle = register_optimizer_step_pre_hook(look)
    try:
        with mock.patch.object(torch.Tensor, "backward", count_backward):
            training = train(Settings(4, 2 * count, 2, 4 * count, environments=count))
    finally:
        handle.remove()
    return np.array([max(processes), len(backwards) / len(training.rates)])
