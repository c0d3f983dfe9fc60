"""Targets of an update, from the functions of PyTorch that it compares predictions with."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

import torch

#: functions that compare predictions with targets: module, name of the function.
Distances = Sequence[tuple[Any, str]]
TORCH_DISTANCES: Distances = [
    (torch.nn.functional, name) for name in ("mse_loss", "smooth_l1_loss", "huber_loss", "l1_loss")
]


@contextmanager
def watch_comparisons(
    on_comparison: Callable[[torch.Tensor, torch.Tensor], Any], distances: Distances
) -> Iterator[None]:
    """Call ``on_comparison`` with the first two arguments of each call of a loss function."""

    def wrap_distance(distance: Callable[..., Any]) -> Callable[..., Any]:
        def look_and_compare(
            input: torch.Tensor, target: torch.Tensor, *arguments: Any, **keywords: Any
        ) -> Any:
            on_comparison(input, target)
            return distance(input, target, *arguments, **keywords)

        return look_and_compare

    with ExitStack() as patches:
        for module, name in distances:
            distance = wrap_distance(getattr(module, name))
            patches.enter_context(mock.patch.object(module, name, distance))
        yield


def run_and_find_target(update: Callable[[], Any], distances: Distances = TORCH_DISTANCES) -> float:
    """Run an update; return the target that a loss function compares predictions with.

    Raises:
        RuntimeError: no distance function was called, or with targets that are not all equal, but
            for rounding.
    """
    recorded: list[torch.Tensor] = []

    def note_target(input: torch.Tensor, target: torch.Tensor) -> None:
        exchanged = target.requires_grad and not input.requires_grad
        recorded.append((input if exchanged else target).detach().flatten())

    with watch_comparisons(note_target, distances):
        update()
    numbers = torch.cat(recorded).tolist() if recorded else []
    if not numbers:
        raise RuntimeError("the update called none of the distance functions")
    if max(numbers) - min(numbers) > 1e-6 * max(map(abs, numbers)):
        raise RuntimeError(f"equal transitions have different targets: {sorted(set(numbers))[:3]}")
    return numbers[0]
