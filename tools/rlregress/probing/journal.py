"""A journal of a training, or of one update, recorded from its optimisers and environments."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from unittest import mock

import torch
from torch.optim.optimizer import register_optimizer_step_pre_hook

from rlregress.measurements.loop_journal import Journal
from rlregress.probing.layers import compute_gradient_norm, list_optimized_parameters

#: an optimiser -> the parts that it is about to step, with their parameters
Parts = Callable[[torch.optim.Optimizer], Mapping[str, Iterable[torch.Tensor]]]
#: () -> parameters
Parameters = Callable[[], Iterable[torch.Tensor]]


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


class StepJournal(Journal):
    """A journal that is filled by the optimizer steps of a running training."""

    @contextmanager
    def record_optimizer_steps(
        self,
        parts: Parts,
        policy: Parameters = tuple,
        targets: Parameters = tuple,
        on_step: Callable[[str], Any] = lambda part: None,
    ) -> Iterator[None]:
        """Record each optimizer step, and whether ``policy`` and ``targets`` changed before it.

        ``on_step`` is called with each part after its step is recorded and before it is taken.
        """
        states: list[list[torch.Tensor]] = []
        temperature: list[torch.Tensor] = []

        def note_changes() -> None:
            now = [
                torch.cat([torch.empty(0), *(p.detach().flatten() for p in parameters())])
                for parameters in (policy, targets)
            ]
            if states:
                pairs = zip(now, states.pop(), strict=False)
                changed = [not torch.equal(*pair) for pair in pairs]
                self.moves.append((changed[0], changed[1]))
            states.append(now)

        def note_step(optimizer: torch.optim.Optimizer) -> None:
            for part, parameters in parts(optimizer).items():
                own = list(parameters)
                if part == "critic":
                    note_changes()
                if part == "temperature":
                    temperature[:] = own
                    self.temperatures.append(float(own[0].detach()))
                self.gradient_norms[part].append(compute_gradient_norm(own))
                self.rates[part] = optimizer.param_groups[0]["lr"]
                self.losses[part].append(sum(losses))
                losses.clear()
                self.updates.append((part, self.steps))
                on_step(part)

        with record_differentiated_losses(note_step) as losses:
            yield
        note_changes()
        self.temperatures += [float(parameter.detach()) for parameter in temperature]


def make_parts_finder(optimizers: Mapping[str, Any]) -> Parts:
    """Return a function: optimiser -> {its name: its parameters}; {} for any that is not listed."""
    by_id = {id(optimizer): part for part, optimizer in optimizers.items()}

    def find_parts_of_optimizer(optimizer: torch.optim.Optimizer) -> dict[str, list[torch.Tensor]]:
        part = by_id.get(id(optimizer))
        return {} if part is None else {part: list_optimized_parameters(optimizer)}

    return find_parts_of_optimizer


def find_critic(optimizer: torch.optim.Optimizer) -> dict[str, list[torch.Tensor]]:
    """Return the parameters of an optimiser as those of the critic, which is all there is."""
    return {"critic": list_optimized_parameters(optimizer)}


def run_and_record_steps(
    update: Callable[[], Any],
    optimizers: Mapping[str, torch.optim.Optimizer],
    on_step: Callable[[str], Any] = lambda part: None,
) -> StepJournal:
    """Run an update or a training; return the journal of the steps of these optimisers.

    Args:
        on_step: called with an optimiser's name before each of its steps, when its gradients are
            computed.
    """
    journal = StepJournal()
    with journal.record_optimizer_steps(make_parts_finder(optimizers), on_step=on_step):
        update()
    return journal
