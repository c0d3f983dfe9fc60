"""Networks and actors of trainings, of TorchRL's own modules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import nn

from rlregress.frameworks.torchrl.api import (
    MLP,
    ConvNet,
    NormalParamExtractor,
    QValueActor,
    TanhModule,
    ValueOperator,
)
from rlregress.frameworks.torchrl.compat import (
    find_action_spec,
    find_in_library,
    rename_options_for_version,
)
from rlregress.frameworks.torchrl.known_networks import (
    make_actor,
    make_stochastic_policy,
    make_tanh_policy,
)


class Networks:
    """Networks for the bounds and kinds of an environment's observations and actions.

    Args:
        sizes: of the hidden layers.
        activation: class of the layers between them.
    """

    def __init__(self, environment: Any, sizes: Sequence[int], activation: Any = nn.ReLU) -> None:
        batch = len(environment.batch_size)
        self.shape = environment.observation_spec["observation"].shape[batch:]
        self.spec = find_action_spec(environment)
        self.actions = int(self.spec.shape[-1])
        self._sizes, self._activation = list(sizes), activation

    @property
    def bounds(self) -> dict[str, Any]:
        """The bounds of actions that are numbers, not choices."""
        return {"low": self.spec.space.low, "high": self.spec.space.high}

    def make_network(self, outputs: int, with_actions: bool = False) -> Any:
        """Return a multilayer perceptron."""
        inputs = int(self.shape[-1]) + (self.actions if with_actions else 0)
        return self._make_perceptron(inputs, outputs)

    def _make_perceptron(self, inputs: int, outputs: int) -> Any:
        return MLP(
            in_features=inputs,
            out_features=outputs,
            num_cells=self._sizes,
            activation_class=self._activation,
        )

    def make_value_network(self) -> Any:
        return ValueOperator(self.make_network(1), in_keys=["observation"])

    def make_action_value_network(self) -> Any:
        return ValueOperator(self.make_network(1, True), in_keys=["observation", "action"])

    def make_squashed_actor(self, **options: Any) -> Any:
        """Return an actor without chance; options go to the module that squashes its actions."""
        return make_tanh_policy(self.make_network(self.actions), **options)


class TracedNetworks(Networks):
    """Small networks of traced trainings, behind convolutions where there are images.

    Args:
        atoms: of a distribution of returns.
        dueling: advantages and values come from one body, behind convolutions.
    """

    def __init__(self, environment: Any, atoms: int = 1, dueling: bool = False) -> None:
        super().__init__(environment, [16, 16], nn.Tanh)
        self._atoms, self._dueling = atoms, dueling

    def make_network(self, outputs: int, with_actions: bool = False) -> Any:
        """Return a multilayer perceptron, behind convolutions where there are images."""
        if len(self.shape) == 3:
            return self._make_convolutions(outputs)
        return super().make_network(outputs, with_actions)

    def _make_convolutions(self, outputs: int) -> Any:
        channels = int(self.shape[0])
        cells, kernels, strides = [4, 4], [8, 4], [4, 2]
        if self._dueling:
            dueling = find_in_library("torchrl.modules", "DuelingCnnDQNet")
            convolutions = {
                "in_features": channels, "num_cells": cells, "kernel_sizes": kernels,
                "strides": strides, "depth": 2,
            }  # fmt: skip
            return dueling(
                outputs, 1, cnn_kwargs=convolutions, mlp_kwargs={"num_cells": [16], "depth": 1}
            )
        network = ConvNet(
            in_features=channels, num_cells=cells, kernel_sizes=kernels, strides=strides
        )
        width = network(torch.zeros(1, *self.shape)).shape[-1]
        return nn.Sequential(network, self._make_perceptron(width, outputs))

    def make_stochastic_actor(self, distribution: str) -> Any:
        if hasattr(self.spec.space, "n"):
            kind = find_in_library("torchrl.modules", "OneHotCategorical")
            return make_actor(self.make_network(self.actions), ["logits"], kind, spec=self.spec)
        kind = find_in_library("torchrl.modules", distribution)
        network = nn.Sequential(self.make_network(2 * self.actions), NormalParamExtractor())
        bounds = {} if distribution == "IndependentNormal" else self.bounds
        return make_stochastic_policy(network, self.spec, kind, **bounds)

    def make_deterministic_actor(self, distribution: str) -> Any:
        """Return an actor without chance, through a squashing module or a distribution of one
        point.
        """
        if not distribution:
            return self.make_squashed_actor(**rename_options_for_version(TanhModule, **self.bounds))
        kind = find_in_library("torchrl.modules", distribution)
        return make_actor(
            self.make_network(self.actions), ["param"], kind, reports_log_prob=False,
            spec=self.spec, distribution_kwargs=rename_options_for_version(kind, **self.bounds),
        )  # fmt: skip

    def make_q_value_actor(self) -> Any:
        """Return an actor that takes the discrete action with the largest value."""
        if self._atoms > 1:
            kind = find_in_library("torchrl.modules", "DistributionalQValueActor")
            network = nn.Sequential(
                self.make_network(self.actions * self._atoms),
                nn.Unflatten(-1, (self._atoms, self.actions)),
            )
            support = torch.linspace(-5.0, 5.0, self._atoms)
            return kind(network, support=support, in_keys=["observation"], spec=self.spec)
        return QValueActor(self.make_network(self.actions), in_keys=["observation"], spec=self.spec)
