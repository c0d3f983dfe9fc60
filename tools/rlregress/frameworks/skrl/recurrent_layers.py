"""The memory of models: recurrent layers that get states and ends as skrl documents it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import nn

#: a size in which no shape takes the place of another
_LAYERS, _SIZE = 2, 6
#: kind -> its layers, and how many states they have
_KINDS: Mapping[str, Any] = {"gru": (nn.GRU, 1), "lstm": (nn.LSTM, 2), "rnn": (nn.RNN, 1)}


class Recurrence(NamedTuple):
    """Options of a model's recurrent layers.

    Attributes:
        kind: "gru", "lstm" or "rnn".
        steps: of the sequences of an update.
        environments: that the model acts in at a time.
    """

    kind: str
    steps: int = 1
    environments: int = 1

    @property
    def size(self) -> int:
        """How many numbers the layers output for a step."""
        return _SIZE

    def make_specification(self) -> dict[str, Any]:
        sizes = [(_LAYERS, self.environments, _SIZE)] * _KINDS[self.kind][1]
        return {"rnn": {"sequence_length": self.steps, "sizes": sizes}}


class RecurrentLayers(nn.Module):
    """Recurrent layers over steps; their state is reset after the end of an episode."""

    def __init__(self, inputs: int, memory: Recurrence) -> None:
        super().__init__()
        self._steps = memory.steps
        self.layers = _KINDS[memory.kind][0](inputs, _SIZE, num_layers=_LAYERS, batch_first=True)

    def forward(
        self, numbers: torch.Tensor, inputs: Mapping[str, Any]
    ) -> tuple[torch.Tensor, list[torch.Tensor]]:
        """Return outputs [rows, size] and the states after them, [layers, environments, size] each.

        Args:
            numbers: [rows, n]; in training mode rows are sequences of ``steps``, one behind the
                other, else one step of each environment.
            inputs: of the model: the states "rnn" before each row, and "terminated", "truncated".
        """
        states = inputs["rnn"]
        if not self.training:
            outputs, states = self._run_step(numbers[:, None], states)
            return outputs[:, 0], states
        sequences = numbers.view(-1, self._steps, numbers.shape[-1])
        states = [state.reshape(_LAYERS, -1, self._steps, _SIZE)[:, :, 0] for state in states]
        ends = [inputs[name] for name in ("terminated", "truncated") if name in inputs]
        goes_on = ~torch.stack(ends).any(dim=0).view(-1, self._steps)
        outputs_in_order = []
        for step in range(self._steps):
            outputs, states = self._run_step(sequences[:, step : step + 1], states)
            outputs_in_order.append(outputs)
            states = [state * goes_on[None, :, step, None] for state in states]
        return torch.cat(outputs_in_order, dim=1).flatten(0, 1), states

    def _run_step(
        self, numbers: torch.Tensor, states: Sequence[torch.Tensor]
    ) -> tuple[torch.Tensor, list[torch.Tensor]]:
        contiguous = [state.contiguous() for state in states]
        outputs, new = self.layers(
            numbers, tuple(contiguous) if len(contiguous) > 1 else contiguous[0]
        )
        return outputs, list(new) if len(contiguous) > 1 else [new]
