"""The layers of an agent's networks: how they are found, fixed and measured."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import torch
from torch import nn


def list_linear_layers(network: nn.Module) -> list[nn.Linear]:
    """Return the linear layers of a network, in their order."""
    return [layer for layer in network.modules() if isinstance(layer, nn.Linear)]


def find_last_linear_layer(network: nn.Module) -> nn.Linear:
    """Return the last linear layer of a network."""
    return list_linear_layers(network)[-1]


def make_output_constant(network: nn.Module, numbers: Any) -> None:
    """Make the last linear layer output these numbers for every input; it stays trainable."""
    layer = find_last_linear_layer(network)
    with torch.no_grad():
        layer.weight.zero_()
        fixed = torch.as_tensor(np.asarray(numbers, dtype=np.float64), dtype=layer.bias.dtype)
        layer.bias.copy_(fixed.expand_as(layer.bias))


def make_output_constant_for_input(
    network: nn.Module, call: Callable[[], torch.Tensor], numbers: Any
) -> None:
    """Make a network output these numbers, or one number, for one input.

    It outputs other numbers for other inputs, which reveals an update that uses a wrong input.

    Args:
        call: evaluates it on the input, [1, outputs].
    """
    layer = find_last_linear_layer(network)
    with torch.no_grad():
        output = call()[0]
        fixed = torch.as_tensor(np.asarray(numbers, dtype=np.float64), dtype=layer.bias.dtype)
        layer.bias.add_(fixed.expand_as(layer.bias) - output)


def describe_networks_as_numbers(
    hidden: Iterable[Sequence[int]], critics: int, activation: Sequence[float], shared: bool
) -> np.ndarray:
    """Return an array that describes the networks of an off-policy agent.

    Args:
        hidden: widths of the hidden layers of the policy, then of a Q network.
        critics: how many Q networks there are.
        activation: see ``measure_activation``.
        shared: whether policy and Q networks share parameters.
    """
    widths = [(len(own), *((own[0], own[-1]) if own else (0, 0))) for own in hidden]
    return np.array([*np.ravel(widths), critics, *activation, shared], dtype=np.float64)


def measure_activation(network: nn.Module, call: Callable[[torch.Tensor], Any]) -> list[float]:
    """Return the activation function's results for -0.5 and 0.5, after the first layer.

    Args:
        call: evaluates the network for observations [1, dimensions].
    """
    first, second = list_linear_layers(network)[:2]
    recorded: list[float] = []
    handle = second.register_forward_pre_hook(
        lambda _, inputs: recorded.append(float(inputs[0][0, 0]))
    )
    with torch.no_grad():
        for number in (-0.5, 0.5):
            make_output_constant(first, number)
            call(torch.zeros(1, first.in_features))
    handle.remove()
    return recorded


def describe_ppo_networks_as_numbers(
    parts: Sequence[nn.Module], heads: int, sequences: Iterable[Any], inputs: torch.Tensor
) -> np.ndarray:
    """Return an array that describes PPO's policy and value network.

    Three widths of the hidden layers of each (0: there is no such layer), whether they share a
    layer, and the outputs of their activation function for ``inputs``.

    Args:
        parts: policy and value network.
        heads: number of output layers, the last linear layers of each.
        sequences: the ``Sequential`` modules that contain the activation functions.
    """
    layers = [list_linear_layers(part) for part in parts]
    widths = [[layer.out_features for layer in own[: len(own) - heads]] for own in layers]
    shared = set(map(id, layers[0])) & set(map(id, layers[1]))
    functions = [m for sequence in sequences for m in sequence if not isinstance(m, nn.Linear)]
    outputs = np.stack([function(inputs).numpy() for function in functions])
    if np.ptp(outputs, axis=0).any():
        raise RuntimeError("the networks have several activation functions, expected one")
    padded = np.ravel([(own + [0] * 3)[:3] for own in widths])
    return np.array([*padded, bool(shared), *outputs[0]])


def measure_initialisation(weight: torch.Tensor, bias: torch.Tensor) -> np.ndarray:
    """Return RMS weight and largest bias of a layer, times sqrt(inputs); inverse condition number.

    Args:
        weight: [outputs, inputs].
        bias: [outputs].
    """
    numbers = weight.detach().double().numpy()
    values = np.linalg.svd(numbers, compute_uv=False)
    root = np.sqrt(numbers.shape[1])
    largest = float(bias.detach().double().abs().max())
    spread = np.sqrt(np.mean(numbers**2))
    return np.array([spread * root, largest * root, values.min() / values.max()])


def measure_ppo_initialisation(layers: Sequence[nn.Linear]) -> list[float]:
    """Return the singular values and the largest bias of the layers of PPO's networks.

    Smallest and largest singular value of each; minus its largest weight, by its inputs, where a
    layer is not orthogonal; the largest bias, or -1 where those of a layer differ.
    """
    weights = [layer.weight.detach() for layer in layers]
    values = [torch.linalg.svdvals(weight) for weight in weights]
    gains = [float(x) for v in values for x in (v.min(), v.max())]
    if any(float(v.max()) > 1.01 * float(v.min()) for v in values):
        bounds = [-round(float(w.abs().max()) * w.shape[1] ** 0.5, 1) for w in weights]
        gains = [bound for bound in bounds for _ in range(2)]
    biases = [layer.bias.detach() for layer in layers]
    if any(bool((bias != bias[0]).any()) for bias in biases):
        return [*gains, -1.0]
    return [*gains, max(float(bias.abs().max()) for bias in biases)]


def list_optimized_parameters(optimizer: torch.optim.Optimizer) -> list[torch.Tensor]:
    """Return the parameters that an optimiser steps."""
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]


def read_log10_adam_eps(
    optimizer: torch.optim.Optimizer, parameters: Iterable[torch.Tensor]
) -> float:
    """Return the logarithm to base 10 of Adam's epsilon; 0.0 unless it holds just these parameters.

    Raises:
        RuntimeError: it is no Adam.
    """
    if not isinstance(optimizer, torch.optim.Adam):
        raise RuntimeError(f"the optimiser is no Adam but {type(optimizer).__name__}")
    if {*map(id, list_optimized_parameters(optimizer))} != {*map(id, parameters)}:
        return 0.0
    (epsilon,) = {group["eps"] for group in optimizer.param_groups}
    return float(np.log10(epsilon))


def compute_gradient_norm(parameters: Iterable[torch.Tensor]) -> float:
    """Return the norm of the gradients of all these parameters together."""
    gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
    return float(np.sqrt(sum(float(gradient.double().pow(2).sum()) for gradient in gradients)))
