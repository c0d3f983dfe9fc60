"""A journal of a training, recorded from its optimisers and environments."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch

from rlregress.measurements.loop_journal import Journal
from rlregress.probing.layers import compute_gradient_norm
from rlregress.probing.recorded_update import record_differentiated_losses

#: an optimiser -> the parts that it is about to step, with their parameters
Parts = Callable[[torch.optim.Optimizer], Mapping[str, Iterable[torch.Tensor]]]
#: () -> parameters
Parameters = Callable[[], Iterable[torch.Tensor]]


class StepJournal(Journal):
    """A journal that is filled by the optimizer steps of a running training."""

    @contextmanager
    def record_optimizer_steps(
        self,
        parts: Parts,
        policy: Parameters,
        targets: Parameters,
        on_step: Callable[[str], Any] = lambda part: None,
    ) -> Iterator[None]:
        """Record each optimizer step, and whether ``policy`` and ``targets`` changed before it.

        ``on_step`` is called with each part after its step is recorded and before it is taken.
        """
        states: list[list[torch.Tensor]] = []
        temperature: list[torch.Tensor] = []

        def note_changes() -> None:
            now = [
                torch.cat([p.detach().flatten() for p in parameters()])
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
                if part not in self.gradient_norms:
                    self.gradient_norms[part] = compute_gradient_norm(optimizer, own)
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
        parameters = [p for group in optimizer.param_groups for p in group["params"]]
        return {} if part is None else {part: parameters}

    return find_parts_of_optimizer
