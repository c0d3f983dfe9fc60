"""What an update differentiates, and in which order its optimisers step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple
from unittest import mock

import torch

from rlregress.probing.layers import gradient_norm


class RecordedUpdate(NamedTuple):
    """What an update did.

    Attributes:
        losses: per optimiser the loss that each of its steps follows: what was differentiated
            since the last step of any of them, summed. This trains, whatever is logged.
        gradient_norms: the norm of all its gradients at each of its steps.
        order: the optimisers in the order of their steps.
    """

    losses: dict[str, list[float]]
    gradient_norms: dict[str, list[float]]
    order: list[str]


@contextmanager
def differentiated() -> Iterator[list[float]]:
    """The losses that ``backward`` is called on meanwhile, in order."""
    losses: list[float] = []
    backward = torch.Tensor.backward

    def recording(tensor: torch.Tensor, *arguments: Any, **keywords: Any) -> Any:
        losses.append(float(tensor.detach()))
        return backward(tensor, *arguments, **keywords)

    with mock.patch.object(torch.Tensor, "backward", recording):
        yield losses


@contextmanager
def recorded_update(optimizers: Mapping[str, torch.optim.Optimizer]) -> Iterator[RecordedUpdate]:
    """What these optimisers do meanwhile."""
    recorded = RecordedUpdate({n: [] for n in optimizers}, {n: [] for n in optimizers}, [])
    with differentiated() as parts:

        def hook(name: str) -> Any:
            def look(optimizer: torch.optim.Optimizer, *_: Any) -> None:
                recorded.losses[name].append(sum(parts))
                parts.clear()
                recorded.gradient_norms[name].append(gradient_norm(optimizer))
                recorded.order.append(name)

            return look

        handles = [o.register_step_pre_hook(hook(name)) for name, o in optimizers.items()]
        try:
            yield recorded
        finally:
            for handle in handles:
                handle.remove()
