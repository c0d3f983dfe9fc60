"""The layers of a network for stacked pictures, observed one by one.

A network is called through two functions only, of the policy and of the value; its layers are
observed while it runs.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
import torch

_LAYERS = (torch.nn.Conv2d, torch.nn.Linear)
#: outputs that the units of hidden layers are given before their activation, in turn.
BELOW, ABOVE = -2.0, 3.0
_NOTHING = -1.0


class Vision(NamedTuple):
    """A policy and a value function of stacks of pictures.

    Attributes:
        module: holds all parameters of both.
        logits: of the actions, up to a constant: [actions].
        value: a tensor of one number.
    """

    module: torch.nn.Module
    logits: Callable[[], torch.Tensor]
    value: Callable[[], torch.Tensor]


def skip_large_initialisation() -> contextlib.AbstractContextManager[Any]:
    """Skip the initialisation of large layers, because their initial values do not matter here."""

    def fill_with_constant(tensor: torch.Tensor, gain: float = 1.0, **_: Any) -> torch.Tensor:
        return torch.nn.init.constant_(tensor, 1e-3 * gain)

    return mock.patch.object(torch.nn.init, "orthogonal_", fill_with_constant)


class _UsedLayer(NamedTuple):
    layer: Any
    inputs: torch.Tensor


def _list_used_layers(
    module: torch.nn.Module, query: Callable[[], torch.Tensor]
) -> list[_UsedLayer]:
    """Return the layers with weights in the order in which they are used, and the input of each."""
    used: list[_UsedLayer] = []

    def note_used_layer(layer: Any, inputs: Any) -> None:
        used.append(_UsedLayer(layer, inputs[0].detach()))

    hooks = [
        layer.register_forward_pre_hook(note_used_layer)
        for layer in module.modules()
        if isinstance(layer, _LAYERS)
    ]
    try:
        query()
    finally:
        for hook in hooks:
            hook.remove()
    return used


def measure_inputs_at_corner(vision: Vision) -> np.ndarray:
    """Return [first input of the policy, of the value] in the corner of the newest picture."""
    ways = (
        _list_used_layers(vision.module, vision.logits),
        _list_used_layers(vision.module, vision.value),
    )
    # the newest picture is the last channel
    return np.array([float(way[0].inputs[0, -1, 0, 0]) for way in ways], dtype=np.float64)


def measure_activation_ranges(vision: Vision) -> np.ndarray:
    """Return the outputs of each layer for numbers below and above 0.

    [for each of four hidden layers of the policy the least and the most that enters the layer
    behind it, when half of its units output -2 and half 3; the difference of two logits whose layer
    outputs -2 and 3; the value whose layer outputs -2].
    """
    with _set_alternating_layer_outputs(vision):
        numbers: list[float] = []
        for _, inputs in _list_used_layers(vision.module, vision.logits)[1:5]:
            numbers += [float(inputs.min()), float(inputs.max())]
        numbers += [float("nan")] * (8 - len(numbers))
        logits = vision.logits().detach()
        numbers += [float(logits.max() - logits.min()), float(vision.value().detach())]
    return np.array(numbers, dtype=np.float64)


@contextlib.contextmanager
def _set_alternating_layer_outputs(vision: Vision) -> Iterator[None]:
    """Let the units of every layer output BELOW and ABOVE alternately, for any input."""
    all_layers = _list_used_layers(vision.module, vision.logits) + _list_used_layers(
        vision.module, vision.value
    )
    before = [
        (p, p.detach().clone()) for layer, _ in all_layers for p in (layer.weight, layer.bias)
    ]
    with torch.no_grad():
        for layer, _ in all_layers:
            layer.weight.zero_()
            layer.bias[0::2] = BELOW
            layer.bias[1::2] = ABOVE
    try:
        yield
    finally:
        with torch.no_grad():
            for parameter, was in before:
                parameter.copy_(was)


def _list_parameters_with_gradient(
    parameters: list[torch.Tensor], *answers: torch.Tensor
) -> set[int]:
    gradients = torch.autograd.grad([a.sum() for a in answers], parameters, allow_unused=True)
    return {number for number, gradient in enumerate(gradients) if gradient is not None}


def count_parameters_by_output(vision: Vision) -> np.ndarray:
    """Count the parameters that a gradient reaches: [from policy and value, policy, value only]."""
    parameters: list[torch.Tensor] = [p for p in vision.module.parameters() if p.requires_grad]
    policy = _list_parameters_with_gradient(parameters, vision.logits())
    value = _list_parameters_with_gradient(parameters, vision.value())
    sizes = [sum(parameters[n].numel() for n in names) for names in (
        policy & value, policy - value, value - policy)]  # fmt: skip
    return np.array(sizes, dtype=np.float64)


def list_layer_sizes(vision: Vision) -> np.ndarray:
    """Return [channels, kernel, stride of three convolutions, hidden units] of the policy."""
    hidden = [layer for layer, _ in _list_used_layers(vision.module, vision.logits)][:-1]
    dimensions: list[float] = []
    convolutions = [layer for layer in hidden if isinstance(layer, torch.nn.Conv2d)]
    for layer in convolutions[:3]:
        dimensions += [layer.out_channels, layer.kernel_size[0], layer.stride[0]]
    dimensions += [_NOTHING] * (9 - len(dimensions))
    units = [layer.out_features for layer in hidden if isinstance(layer, torch.nn.Linear)]
    return np.array([*dimensions, units[0] if units else _NOTHING], dtype=np.float64)
