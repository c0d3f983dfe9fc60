"""Losses that an update differentiates, and the norms of its gradients."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple
from unittest import mock

import torch
from torch.optim.optimizer import register_optimizer_step_pre_hook

from rlregress.probing.layers import compute_gradient_norm


class RecordedUpdate(NamedTuple):
    """The losses and gradient norms of the optimiser steps of an update.

    Attributes:
        losses: per optimiser the loss of each of its steps: the sum of all losses differentiated
            since the last step of any of them. These losses train, whatever is logged.
        gradient_norms: the norm of all its gradients at each of its steps.
    """

    losses: dict[str, list[float]]
    gradient_norms: dict[str, list[float]]


@contextmanager
def record_differentiated_losses(
    on_step: Callable[[torch.optim.Optimizer], Any] = lambda optimizer: None,
) -> Iterator[list[float]]:
    """Yield a list that gets the loss of each ``backward``; call ``on_step`` before each step."""
    losses: list[float] = []
    backward = torch.Tensor.backward

    def note_and_differentiate(tensor: torch.Tensor, *arguments: Any, **keywords: Any) -> Any:
        losses.append(float(tensor.detach()))
        return backward(tensor, *arguments, **keywords)

    handle = register_optimizer_step_pre_hook(lambda optimizer, *_: on_step(optimizer))
    try:
        with mock.patch.object(torch.Tensor, "backward", note_and_differentiate):
            yield losses
    finally:
        handle.remove()


@contextmanager
def record_losses_and_steps(
    optimizers: Mapping[str, torch.optim.Optimizer],
) -> Iterator[RecordedUpdate]:
    """Record losses and steps of these optimisers within the block."""
    recorded = RecordedUpdate({n: [] for n in optimizers}, {n: [] for n in optimizers})

    def note_step(optimizer: torch.optim.Optimizer) -> None:
        for name in [name for name in optimizers if optimizers[name] is optimizer]:
            recorded.losses[name].append(sum(losses))
            losses.clear()
            recorded.gradient_norms[name].append(compute_gradient_norm(optimizer))

    with record_differentiated_losses(note_step) as losses:
        yield recorded
