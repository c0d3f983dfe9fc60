"""What an update reads, as arrays: parts of the answers to ``Adapter.minibatches``."""

from __future__ import annotations

from typing import Any, List

import numpy as np

from rlregress.frameworks.base import Minibatch


def array(tensor: Any) -> np.ndarray:
    """A copy of what a tensor holds now."""
    return tensor.detach().numpy().copy()


def flat(tensor: Any) -> np.ndarray:
    """A copy of a tensor with one number a row, [n]."""
    return array(tensor).reshape(-1)


def note_samples(buffer: Any, read: List[Minibatch]) -> None:
    """Append every minibatch that ``buffer.sample`` returns from now on.

    Args:
        buffer: what it samples has ``observations``, ``actions``, ``next_observations``,
            ``rewards`` and ``dones``, the latter without truncations.
    """
    sample = buffer.sample

    def noted_sample(*arguments: Any, **more: Any) -> Any:
        data = sample(*arguments, **more)
        discounts = getattr(data, "discounts", None)
        read.append(
            Minibatch(
                observations=array(data.observations),
                actions=array(data.actions),
                next_observations=array(data.next_observations),
                rewards=flat(data.rewards),
                terminated=flat(data.dones).astype(bool),
                discounts=None if discounts is None else flat(discounts),
            )
        )
        return data

    buffer.sample = noted_sample
