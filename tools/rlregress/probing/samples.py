"""Minibatches that an update reads, as arrays, for ``Train.collect_minibatches``."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

import numpy as np
from torch.nn import functional

from rlregress.probing.interface import Minibatch
from rlregress.probing.watched_updates import Distances, watch_comparisons


def copy_to_array(tensor: Any) -> np.ndarray:
    """Return a copy of a tensor as an array."""
    return tensor.detach().numpy().copy()


def copy_to_flat_array(tensor: Any) -> np.ndarray:
    """Return a copy of a tensor with one number in each row, as an array [n]."""
    return copy_to_array(tensor).reshape(-1)


def note_sampled_minibatches(buffer: Any, minibatches: list[Minibatch]) -> None:
    """Make ``buffer.sample`` append a copy of each minibatch to ``minibatches``.

    Args:
        buffer: its samples have ``observations``, ``actions``, ``next_observations``,
            ``rewards`` and ``dones``, the latter without truncations.
    """
    sample = buffer.sample

    def sample_and_note(*arguments: Any, **options: Any) -> Any:
        data = sample(*arguments, **options)
        discounts = getattr(data, "discounts", None)
        minibatches.append(
            Minibatch(
                observations=copy_to_array(data.observations),
                actions=copy_to_array(data.actions),
                next_observations=copy_to_array(data.next_observations),
                rewards=copy_to_flat_array(data.rewards),
                terminated=copy_to_flat_array(data.dones).astype(bool),
                discounts=None if discounts is None else copy_to_flat_array(discounts),
            )
        )
        return data

    buffer.sample = sample_and_note


#: losses that compare values with targets
_LOSSES: Distances = ((functional, "mse_loss"), (functional, "smooth_l1_loss"))


def _select_targets_of_first_network(targets: np.ndarray, rows: int) -> np.ndarray:
    return targets.reshape(-1, rows)[0]


def note_compared_targets(
    minibatches: list[Minibatch],
    losses: Distances = _LOSSES,
    select: Callable[[np.ndarray, int], np.ndarray] = _select_targets_of_first_network,
) -> AbstractContextManager[None]:
    """Record the targets of the newest minibatch: the loss argument that has no gradient.

    Of several networks the targets of the first are recorded.

    Args:
        minibatches: the minibatches so far.
        losses: the loss functions that are watched.
        select: (targets of a loss, number of rows) -> one target for each row, [rows].
    """

    def note_targets(*compared: Any) -> None:
        constant = [tensor for tensor in compared if not tensor.requires_grad]
        if minibatches and minibatches[-1].targets is None and len(constant) == 1:
            targets = select(copy_to_array(constant[0]), len(minibatches[-1].observations))
            minibatches[-1] = replace(minibatches[-1], targets=targets)

    return watch_comparisons(note_targets, losses)
