"""Losses that an update differentiates, and the order of its optimizer steps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple
from unittest import mock

import torch

from rlregress.probing.layers import gradient_norm


class RecordedUpdate(NamedTuple):
    """The record of an update.

    Attributes:
        losses: per optimiser the loss of each of its steps: the sum of all losses differentiated
            since the last step of any of them. This trains, whatever is logged.
        gradient_norms: the norm of all its gradients at each of its steps.
        order: the optimisers in the order of their steps.
    """

    losses: dict[str, list[float]]
    gradient_norms: dict[str, list[float]]
    order: list[str]


@contextmanager
def differentiated() -> Iterator[list[float]]:
    """Record the losses that ``backward`` is called on meanwhile, in order."""
    losses: list[float] = []
    backward = torch.Tensor.backward

    def recording(tensor: torch.Tensor, *arguments: Any, **keywords: Any) -> Any:
        losses.append(float(tensor.detach()))
        return backward(tensor, *arguments, **keywords)

    with mock.patch.object(torch.Tensor, "backward", recording):
        yield losses


@contextmanager
def recorded_update(optimizers: Mapping[str, torch.optim.Optimizer]) -> Iterator[RecordedUpdate]:
    """Record losses and steps of these optimisers meanwhile."""
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
