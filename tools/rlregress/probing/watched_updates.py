"""Records of an update, from functions of PyTorch that it calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

import torch

from rlregress.measurements.loss_minimum import require_one_number as require_one_number
from rlregress.probing.recorded_update import record_losses_and_steps

#: functions that compare predictions with targets: module, name of the function.
Distances = Sequence[tuple[Any, str]]
TORCH_DISTANCES: Distances = [
    (torch.nn.functional, name) for name in ("mse_loss", "smooth_l1_loss", "huber_loss", "l1_loss")
]


@contextmanager
def call_before_steps(
    optimizer: torch.optim.Optimizer, callback: Callable[[], None]
) -> Iterator[None]:
    """Call ``callback`` before every step of an optimiser, when its gradients are computed."""
    handle = optimizer.register_step_pre_hook(lambda *_: callback())
    try:
        yield
    finally:
        handle.remove()


def run_and_record_losses(
    update: Callable[[], Any], optimizers: Mapping[str, torch.optim.Optimizer]
) -> dict[str, list[float]]:
    """Run an update; return optimiser -> the loss before each of its steps, in order."""
    with record_losses_and_steps(optimizers) as recorded:
        update()
    return recorded.losses


def run_and_find_target(update: Callable[[], Any], distances: Distances = TORCH_DISTANCES) -> float:
    """Run an update; return the target that a loss function compares predictions with.

    Raises:
        RuntimeError: no distance function was called, or with targets that are not all equal, but
            for rounding.
    """
    recorded: list[torch.Tensor] = []

    def wrap_distance(distance: Callable[..., Any]) -> Callable[..., Any]:
        def record_and_measure(
            input: torch.Tensor, target: torch.Tensor, *arguments: Any, **keywords: Any
        ) -> Any:
            exchanged = target.requires_grad and not input.requires_grad
            recorded.append((input if exchanged else target).detach().flatten())
            return distance(input, target, *arguments, **keywords)

        return record_and_measure

    with ExitStack() as patches:
        for module, name in distances:
            distance = wrap_distance(getattr(module, name))
            patches.enter_context(mock.patch.object(module, name, distance))
        update()
    numbers = torch.cat(recorded).tolist() if recorded else []
    if not numbers:
        raise RuntimeError("the update called none of the distance functions")
    if max(numbers) - min(numbers) > 1e-6 * max(map(abs, numbers)):
        raise RuntimeError(f"equal transitions have different targets: {sorted(set(numbers))[:3]}")
    return numbers[0]
