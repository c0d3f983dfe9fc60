"""What was recorded of a whole small training with PPO, and what is measured with that."""

from __future__ import annotations

import multiprocessing
from dataclasses import dataclass, field
from typing import Any, Callable, List, Sequence
from unittest import mock

import numpy as np
import torch
from torch.optim.optimizer import register_optimizer_step_pre_hook

#: ratios of new to old probability, and advantages, that differ by less are the same
_NEGLIGIBLE = 1e-4


@dataclass
class RecordedTraining:
    """What was recorded; an adapter adds what only it can record.

    Attributes:
        evaluated: observations of each minibatch that the policy was evaluated for, [b] each.
        advantages: of minibatches as the loss gets them, [b] each.
        rates: learning rate at each step of the optimiser.
        log_std_gradients: derivative of the total loss with respect to the log standard deviation.
        rollout_of_step: number of the rollout that each step of the optimiser uses, from 0.
        rollout_of_evaluated: the same for each minibatch evaluated.
    """

    evaluated: List[np.ndarray] = field(default_factory=list)
    advantages: List[np.ndarray] = field(default_factory=list)
    rates: List[float] = field(default_factory=list)
    log_std_gradients: List[float] = field(default_factory=list)
    rollout_of_step: List[int] = field(default_factory=list)
    rollout_of_evaluated: List[int] = field(default_factory=list)

    def minibatches(self, steps: int) -> np.ndarray:
        """Sizes of the first four minibatches of an epoch, and how often samples are used."""
        sizes = [len(minibatch) for minibatch in self.evaluated]
        used = np.bincount(np.concatenate(self.evaluated).astype(int), minlength=steps)
        return np.array([*(sizes + [0] * 4)[:4], min(used.max(), 2), used.min()])

    def order(self, steps: int) -> np.ndarray:
        """Whether two epochs come in the order of collection, and in the same order."""
        first, second = np.concatenate(self.evaluated).reshape(2, steps)
        return np.array([np.array_equal(first, np.sort(first)), np.array_equal(second, first)])

    def counts(self, rollouts: int) -> np.ndarray:
        """Steps of the optimiser, and minibatches evaluated, of each rollout."""
        counts = [
            np.bincount(numbers, minlength=rollouts)
            for numbers in (self.rollout_of_step, self.rollout_of_evaluated)
        ]
        return np.stack(counts, axis=1).ravel()

    def _by_sample(self, steps: int) -> np.ndarray:
        """Advantages in the order of collection, [epochs, steps]."""
        order = np.argsort(np.concatenate(self.evaluated).reshape(-1, steps), axis=1)
        advantages = np.concatenate(self.advantages).reshape(-1, steps)
        return np.take_along_axis(advantages, order, axis=1)

    def recomputed(self, steps: int) -> np.ndarray:
        """Whether the advantages of later epochs are others than those of the first."""
        first, *later = self._by_sample(steps)
        return np.array([np.abs(own - first).max() > _NEGLIGIBLE for own in later])

    def granularity(self, steps: int, distances: Sequence[Any]) -> np.ndarray:
        """Advantages without scale and offset, and whether the policy has left the old one.

        Args:
            distances: from the old policy, numbers of each minibatch that are 0 for the same one.
        """
        (a,) = self._by_sample(steps)
        moved = [np.abs(distance).max() > _NEGLIGIBLE for distance in distances]
        return np.array([*(a - a[-1]) / (a[0] - a[-1]), *moved])


def diverging(divergence: float) -> np.ndarray:
    """Two ratios of new to old probability, around 1, whose mean negative logarithm this is."""
    distance = np.sqrt(1.0 - np.exp(-2.0 * divergence))
    return np.array([1.0 - distance, 1.0 + distance])


def growth(runs: Sequence[RecordedTraining]) -> np.ndarray:
    """How much larger the minibatches, and how many more, are in the second run."""
    first, second = (run.evaluated for run in runs)
    return np.array([len(second[0]) / len(first[0]), len(second) / len(first)])


def parallel_gradient(train: Callable[[], RecordedTraining]) -> np.ndarray:
    """Processes at a step of the optimiser, and backward passes for each step, of a training."""
    processes: List[int] = []
    backwards: List[int] = []
    backward = torch.Tensor.backward

    def counted(*arguments: Any, **keywords: Any) -> Any:
        backwards.append(1)
        return backward(*arguments, **keywords)

    def look(*_: Any) -> None:
        distributed = torch.distributed
        world = distributed.get_world_size() if distributed.is_initialized() else 1
        processes.append(max(world, 1 + len(multiprocessing.active_children())))

    handle = register_optimizer_step_pre_hook(look)
    try:
        with mock.patch.object(torch.Tensor, "backward", counted):
            training = train()
    finally:
        handle.remove()
    return np.array([max(processes), len(backwards) / len(training.rates)])
