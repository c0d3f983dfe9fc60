"""What an update does, seen from the places where it has to pass through PyTorch."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any, Callable, Dict, Iterator, List, Mapping
from unittest import mock

import torch

_DISTANCES = ("mse_loss", "smooth_l1_loss", "huber_loss", "l1_loss")


@contextmanager
def before_steps(optimizer: torch.optim.Optimizer, look: Callable[[], None]) -> Iterator[None]:
    """Call ``look`` before every step of an optimiser, gradients in place."""
    handle = optimizer.register_step_pre_hook(lambda *_: look())
    try:
        yield
    finally:
        handle.remove()


def losses_of_update(
    update: Callable[[], Any], optimizers: Mapping[str, torch.optim.Optimizer]
) -> Dict[str, List[float]]:
    """Run an update; per optimiser the loss that each of its steps follows, in order.

    The loss is what was differentiated since the last step of any of these optimisers, summed if
    it came in parts: what trains, not what is logged.
    """
    parts: List[float] = []
    losses: Dict[str, List[float]] = {name: [] for name in optimizers}
    backward = torch.Tensor.backward

    def recording(tensor: torch.Tensor, *arguments: Any, **keywords: Any) -> Any:
        parts.append(float(tensor.detach()))
        return backward(tensor, *arguments, **keywords)

    def take(name: str) -> Callable[..., None]:
        def hook(*_: Any) -> None:
            losses[name].append(sum(parts))
            parts.clear()

        return hook

    handles = [o.register_step_pre_hook(take(name)) for name, o in optimizers.items()]
    try:
        with mock.patch.object(torch.Tensor, "backward", recording):
            update()
    finally:
        for handle in handles:
            handle.remove()
    return losses


def regression_target(update: Callable[[], Any]) -> float:
    """Run an update; the number that predictions are compared with by a distance function.

    Raises:
        RuntimeError: no distance function was called, or with targets that are not all equal.
    """
    recorded: List[torch.Tensor] = []

    def watch(distance: Callable[..., Any]) -> Callable[..., Any]:
        def recording(
            input: torch.Tensor, target: torch.Tensor, *rest: Any, **keywords: Any
        ) -> Any:
            recorded.append((input if target.requires_grad else target).detach().flatten())
            return distance(input, target, *rest, **keywords)

        return recording

    functional = torch.nn.functional
    originals = {name: getattr(functional, name) for name in _DISTANCES}
    try:
        for name, distance in originals.items():
            setattr(functional, name, watch(distance))
        update()
    finally:
        for name, distance in originals.items():
            setattr(functional, name, distance)
    numbers = torch.cat(recorded).tolist() if recorded else []
    if not numbers:
        raise RuntimeError("the update called none of PyTorch's distance functions")
    if len(set(numbers)) > 1:
        raise RuntimeError(f"equal transitions have different targets: {sorted(set(numbers))[:3]}")
    return numbers[0]


def only(numbers: List[float]) -> float:
    """The one number of a list; RuntimeError if there are more or none."""
    if len(numbers) != 1:
        raise RuntimeError(f"expected one step of the optimiser, saw {len(numbers)}")
    return numbers[0]
