"""Small networks for classes of TorchRL: plain layers, the same on every version."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import nn

from rlregress.frameworks.torchrl.api import (
    Bounded,
    NormalParamExtractor,
    QValueActor,
    TensorDictModule,
    ValueOperator,
)
from rlregress.frameworks.torchrl.compat import find_in_library
from rlregress.frameworks.torchrl.known_networks import make_actor

OBSERVATIONS, ACTIONS = 3, 2
#: actions of an environment with choices.
CHOICES = 4


def make_composite_spec(specs: dict[str, Any], shape: Sequence[int] = ()) -> Any:
    """Return a composite specification of these entries."""
    return find_in_library("torchrl.data", "Composite", "CompositeSpec")(specs, shape=shape)


# -- networks -----------------------------------------------------------------------------------


class ConcatSequential(nn.Sequential):
    """Layers whose input is the concatenation of several tensors."""

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
        """Concatenate the inputs and pass them through the layers."""
        return super().forward(torch.cat(inputs, -1))


def make_value_network(*further_layers: nn.Module) -> Any:
    """Return a state-value network: one linear layer, and further layers."""
    linear = nn.Linear(OBSERVATIONS, 1)
    return ValueOperator(nn.Sequential(linear, *further_layers), ["observation"])


def make_action_value_network(*layers: nn.Module) -> Any:
    """Return an action-value network of continuous actions."""
    network = ConcatSequential(nn.Linear(OBSERVATIONS + ACTIONS, 1), *layers)
    return ValueOperator(network, in_keys=["observation", "action"])


def make_q_value_actor(*layers: nn.Module, **options: Any) -> Any:
    """Return an actor that takes the discrete action with the largest value."""
    network = nn.Sequential(nn.Linear(OBSERVATIONS, CHOICES), *layers)
    arguments = {"action_space": "one_hot", **options}
    return QValueActor(network, in_keys=["observation"], **arguments)


def make_discrete_action_value_network() -> Any:
    """Return a network of the values of all discrete actions."""
    return TensorDictModule(nn.Linear(OBSERVATIONS, CHOICES), ["observation"], ["action_value"])


def make_stochastic_actor(distribution: Any, gain: float = 1.0) -> Any:
    """Return an actor with a location and a scale per action; a large gain drives it to bounds."""
    layer = nn.Linear(OBSERVATIONS, 2 * ACTIONS)
    with torch.no_grad():
        layer.weight.mul_(gain)
    return make_actor(nn.Sequential(layer, NormalParamExtractor()), ["loc", "scale"], distribution)


def make_choosing_actor(distribution: Any, masked: bool = False) -> Any:
    """Return an actor with discrete actions, drawn by logits and, if masked, an action mask."""
    in_keys = ["logits", "mask"] if masked else ["logits"]
    layer = nn.Linear(OBSERVATIONS, CHOICES)
    return make_actor(layer, ["logits"], distribution, in_keys=in_keys)


def make_deterministic_actor() -> Any:
    """Return a deterministic actor, squashed by tanh."""
    network = nn.Sequential(nn.Linear(OBSERVATIONS, ACTIONS), nn.Tanh())
    return TensorDictModule(network, ["observation"], ["action"])


def bounds(low: float = -1.0, high: float = 1.0) -> Any:
    """Return the bounded specification of the actions; titles of traces hold its name."""
    return Bounded(low, high, shape=(ACTIONS,))


# -- several heads, exploration and estimators -----------------------------------------------------


class _TwoHeadedLayer(nn.Module):
    """A layer that outputs location and scale of a move, and logits of a choice."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(OBSERVATIONS, 7)

    def forward(self, observation: torch.Tensor) -> Any:
        heads = self.layer(observation)
        return heads[..., :2], nn.functional.softplus(heads[..., 2:4]), heads[..., 4:]


def make_two_headed_actor(move_distribution: Any, nested: bool) -> Any:
    """Return an actor with a continuous action "move" and a discrete action "choice"."""
    outputs = [
        ("params", "move", "loc"),
        ("params", "move", "scale"),
        ("params", "choice", "logits"),
    ]
    kinds = {"move": move_distribution, "choice": torch.distributions.Categorical}
    names = {"move": ("agent", "move"), "choice": ("agent", "choice")}
    options = {"distribution_map": kinds, **({"name_map": names} if nested else {})}
    composite = find_in_library("tensordict.nn", "CompositeDistribution")
    return make_actor(
        _TwoHeadedLayer(), outputs, composite, in_keys=["params"], distribution_kwargs=options
    )
