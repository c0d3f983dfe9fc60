"""Numbers of processes and backward passes of an update of PPO."""

from __future__ import annotations

import multiprocessing

import numpy as np
import torch

from rlregress.measurements.ppo_loop import Settings, Train
from rlregress.probing.interface import Inputs
from rlregress.probing.journal import record_differentiated_losses


def count_processes_and_backward_passes_per_step(train: Train, inputs: Inputs) -> np.ndarray:
    """Return the most processes at an optimizer step, and backward passes per optimizer step."""
    processes: list[int] = []

    def note_process_count(_: torch.optim.Optimizer) -> None:
        distributed = torch.distributed
        world = distributed.get_world_size() if distributed.is_initialized() else 1
        processes.append(max(world, 1 + len(multiprocessing.active_children())))

    count = inputs["environments"]
    with record_differentiated_losses(note_process_count) as losses:
        training = train(Settings(4, 2 * count, 2, 4 * count, environments=count))
    return np.array([max(processes), len(losses) / len(training.rates)])
