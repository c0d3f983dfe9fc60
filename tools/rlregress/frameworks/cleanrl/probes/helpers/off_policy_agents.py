"""The agents that the scripts of SAC and TD3 make: networks, gradients, optimisers."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping

import numpy as np
import torch
from torch import nn

from rlregress.frameworks.base import Inputs
from rlregress.frameworks.cleanrl.probes.helpers.off_policy_runs import (
    make_constant,
    optimizer,
    parts,
    policy,
    q_networks,
    run,
)
from rlregress.frameworks.cleanrl.script_sources import Source


def _linear(network: nn.Module) -> List[nn.Linear]:
    return [layer for layer in network.modules() if isinstance(layer, nn.Linear)]


def networks(source: Source, inputs: Inputs, script: str) -> np.ndarray:
    """Widths of the networks, activation, sharing."""
    names = run(source, script, 1, batch_size=4).run.globals
    actor, critics = policy(names), q_networks(names)
    architecture: List[float] = []
    for network in (actor, critics[0]):
        widths = [layer.out_features for layer in _linear(network) if layer.out_features > 1]
        architecture += [len(widths), widths[0], widths[-1]]
    architecture += [len(critics), *_activation(actor)]
    own = {id(p) for p in actor.parameters()}
    architecture.append(float(any(id(p) in own for c in critics for p in c.parameters())))
    return np.array(architecture, dtype=np.float64)


def _activation(actor: Any) -> List[float]:
    """What the second layer receives where the first one outputs -0.5, and 0.5."""
    first, second = _linear(actor)[:2]
    recorded: List[float] = []
    handle = second.register_forward_pre_hook(
        lambda _, given: recorded.append(given[0][0, 0].item())
    )
    # one version is told the device at every call
    device = [torch.device("cpu")] if actor.forward.__code__.co_argcount > 2 else []
    with torch.no_grad():
        for number in (-0.5, 0.5):
            make_constant(first, number)
            actor(torch.zeros(1, first.in_features), *device)
    handle.remove()
    return recorded


def gradient_clip(source: Source, inputs: Inputs, script: str) -> np.ndarray:
    """One over the norms of the gradients that the optimisers find; 0.0 beyond 1e3."""
    inverse_norms: Dict[str, float] = {}

    def enlarge(names: Mapping[str, Any]) -> None:
        with torch.no_grad():
            for network in q_networks(names):
                _linear(network)[-1].weight.fill_(float(inputs["factor"]))

    def look(role: str, stepping: Any) -> None:
        gradients = [p.grad for group in stepping.param_groups for p in group["params"]]
        norm = float(torch.cat([g.double().reshape(-1) for g in gradients]).norm())
        inverse_norms.setdefault(role, 0.0 if norm > 1e3 else 1.0 / norm)

    size = int(inputs["batch_size"])
    run(source, script, size + 3, enlarge, look, batch_size=size)
    return np.array([inverse_norms["critic"], inverse_norms["actor"]])


def adam_epsilon(source: Source, inputs: Inputs, script: str) -> np.ndarray:
    """Logarithm of the epsilon of each optimiser, in the order critic, actor, temperature."""
    names = run(source, script, 1, batch_size=4).run.globals
    made = [optimizer(names, role) for role in parts()]
    return np.log10([group["eps"] for o in made if o is not None for group in o.param_groups])
