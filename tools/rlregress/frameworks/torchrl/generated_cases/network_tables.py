"""Networks and policies by themselves."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any

import torch
from torch import nn

from rlregress.frameworks.torchrl.generated_cases.input_corpus import batch, numbers
from rlregress.frameworks.torchrl.network_factories import (
    ACTIONS,
    CHOICES,
    OBSERVATIONS,
    bounds,
    composite,
    dictionary,
    exploring,
)
from rlregress.probing.option_variants import Kit, Subject, recorded, refused, with_gradients

_IMAGES = {"num_cells": [3], "kernel_sizes": [3], "strides": [2], "depth": 1}
#: class -> its arguments and the shape of what it takes.
_NETWORKS: dict[str, Any] = {
    "torchrl.modules:MLP": (
        {"in_features": OBSERVATIONS, "out_features": 4, "num_cells": [4, 4]}, OBSERVATIONS),
    "torchrl.modules:ConvNet": (
        {"in_features": 2, "num_cells": [3, 3], "kernel_sizes": 3}, 2, 9, 9),
    "torchrl.modules.models:DuelingMlpDQNet": (
        {"out_features": CHOICES, "mlp_kwargs_feature": {"num_cells": [6], "out_features": 5},
         "mlp_kwargs_output": {"num_cells": 4, "depth": 1}}, OBSERVATIONS),
    "torchrl.modules.models:DuelingCnnDQNet": (
        {"out_features": CHOICES, "cnn_kwargs": _IMAGES,
         "mlp_kwargs": {"num_cells": 4, "depth": 1}}, 2, 8, 8),
    "torchrl.modules:DdpgMlpActor": (
        {"action_dim": ACTIONS, "mlp_net_kwargs": {"num_cells": [4], "depth": 1}}, OBSERVATIONS),
}  # fmt: skip
_OPTIONS: dict[str, Sequence[Any]] = {
    "dropout": [0.5], "strides": [2], "paddings": [1], "aggregator_class": [None],
}  # fmt: skip
_TOGETHER: Sequence[dict[str, Any]] = (
    {"norm_class": nn.LayerNorm, "norm_kwargs": {"normalized_shape": 4}},
    {"norm_class": nn.BatchNorm2d, "norm_kwargs": {"num_features": 3}},
    {"activation_class": nn.LeakyReLU, "activation_kwargs": {"negative_slope": 0.3}},
)


def _network(name: str, given: dict[str, Any], *shape: int) -> Subject:
    kit = Kit(lambda: dict(given), lambda label: numbers(5, *shape, of=name))
    return Subject(name, {"": kit}, ("",), options=_OPTIONS, together=_TOGETHER,
                   calls={"": _passed}, skip=("device", "depth"))  # fmt: skip


def _passed(network: Any, given: torch.Tensor) -> Any:
    """The first time its layers may find out their sizes."""
    network(given)
    return with_gradients(network, given)


def _acted(actor: Any, given: Any) -> Any:
    """By chance, surely, and an action of the specification."""
    acts = [partial(exploring, kind, lambda: actor(given.clone())) for kind in ("random", "mean")]
    return [*map(refused, acts), refused(lambda: actor.random(given.clone()))]


def _specified(policy: Any, given: Any) -> Any:
    """An action, and one after an environment has told its specification."""
    own = SimpleNamespace(full_action_spec=composite({"action": bounds(-0.2, 0.2)}))
    first = refused(lambda: policy(dictionary({}, ())))
    return [first, refused(lambda: policy.set_action_spec_from_env(own)),
            recorded(policy(dictionary({}, ())))]  # fmt: skip


def subjects() -> dict[str, list[Subject]]:
    """Networks, and policies that act by a specification."""
    specs: dict[str, Any] = {
        "": partial(bounds, -0.3, 0.3), "none": lambda: None,
        "composite": lambda: composite({"action": bounds(-0.3, 0.3)}),
    }  # fmt: skip

    def kits(name: str, **more: Any) -> dict[str, Kit]:
        def kit(spec: Any) -> Kit:
            return Kit(lambda: {name: spec(), **more}, partial(batch, "continuous"))

        return {label: kit(spec) for label, spec in specs.items()}

    normal = torch.distributions.Normal
    actors = kits("spec", in_keys=["loc", "scale"], out_keys=["action"], distribution_class=normal)
    return {
        "networks": [
            *(_network(name, *given) for name, given in _NETWORKS.items()),
            Subject("torchrl.modules:SafeProbabilisticModule", actors, ("rows", "time"),
                    calls={"": _acted}),
            Subject("torchrl.modules.tensordict_module.exploration:RandomPolicy",
                    kits("action_spec"), ("rows",), options={"action_key": ["move"]},
                    calls={"": _specified}),
        ],
    }  # fmt: skip
