"""The agents that the scripts of SAC and TD3 make: networks, gradients, optimisers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from rlregress.frameworks.base import Inputs
from rlregress.frameworks.cleanrl.probes.helpers.off_policy_runs import (
    optimizer,
    part,
    policy,
    q_networks,
    run,
)
from rlregress.frameworks.cleanrl.script_sources import Source
from rlregress.frameworks.layers import (
    activation,
    architecture,
    last_linear,
    linear_layers,
    log_epsilon,
)


def _ended(source: Source, script: str) -> Mapping[str, Any]:
    """The names of a script that ended after one step."""
    _, ended = run(source, script, 1, batch_size=4)
    return ended.globals


def networks(source: Source, inputs: Inputs, script: str) -> np.ndarray:
    """Widths of the networks, activation, sharing."""
    names = _ended(source, script)
    actor, critics = policy(names), q_networks(names)
    hidden = [
        [layer.out_features for layer in linear_layers(network) if layer.out_features > 1]
        for network in (actor, critics[0])
    ]
    own = {id(p) for p in actor.parameters()}
    shared = any(id(p) in own for critic in critics for p in critic.parameters())
    # one version is told the device at every call
    device = [torch.device("cpu")] if actor.forward.__code__.co_argcount > 2 else []
    received = activation(actor, lambda observations: actor(observations, *device))
    return architecture(hidden, len(critics), received, shared)


def gradient_clip(source: Source, inputs: Inputs, script: str) -> np.ndarray:
    """One over the norms of the gradients that the optimisers find; 0.0 beyond 1e3."""

    def enlarge(names: Mapping[str, Any]) -> None:
        with torch.no_grad():
            for network in q_networks(names):
                last_linear(network).weight.fill_(float(inputs["factor"]))

    size = int(inputs["batch_size"])
    journal, _ = run(source, script, size + 3, enlarge, batch_size=size)
    return journal.gradient_clip()


def adam_epsilon(source: Source, inputs: Inputs, script: str) -> np.ndarray:
    """Logarithm of the epsilon of each optimiser, in the order critic, actor, temperature."""
    names = _ended(source, script)
    critics = [p for name in ("qf1", "qf2") for p in part(names, "Q network", name).parameters()]
    held = {"critic": critics, "actor": policy(names).parameters()}
    if "log_alpha" in names:
        held["temperature"] = [names["log_alpha"]]
    return np.array([log_epsilon(optimizer(names, role), own) for role, own in held.items()])
