"""What drivers share: where a script's networks and optimisers are."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import nn

from rlregress.frameworks.cleanrl.script import Script

OPTIMIZERS = {
    "critic": ("q_optimizer", "values_optimizer"),
    "actor": ("actor_optimizer", "policy_optimizer"),
    "temperature": ("a_optimizer",),
}
#: some scripts take it at every call of a network
_CPU = torch.device("cpu")


def find_first_variable(variables: Mapping[str, Any], quantity: str, *candidates: str) -> Any:
    """Return the value of the first of ``candidates`` that is among the variables of a script.

    Args:
        variables: global variables of the script.
        quantity: name of the quantity in the error, if there is none of them.
    """
    for name in candidates:
        if name in variables:
            return variables[name]
    raise Script(Path(variables["__file__"])).make_variable_lost_error(quantity, *candidates)


def find_policy(variables: Mapping[str, Any]) -> Any:
    """Return the policy network of a script of SAC or TD3."""
    return find_first_variable(variables, "policy network", "actor", "pg")


def find_layer_of_policy(variables: Mapping[str, Any], *words: str) -> nn.Linear:
    """Return the first linear layer of the policy whose name contains one of ``words``."""
    return next(
        layer
        for name, layer in find_policy(variables).named_modules()
        if isinstance(layer, nn.Linear) and any(word in name for word in words)
    )


def find_optimizer_by_role(variables: Mapping[str, Any], role: str) -> Any:
    """Return the optimiser of ``role``, such as "critic"; None if a temperature is not trained."""
    candidates = OPTIMIZERS[role]
    if role == "temperature" and not {*candidates, "log_alpha"} & variables.keys():
        return None
    return find_first_variable(variables, f"optimiser of the {role}", *candidates)


def list_q_networks(variables: Mapping[str, Any]) -> list[nn.Module]:
    """Return those networks of a script that its optimiser of the critics trains."""
    groups = find_optimizer_by_role(variables, "critic").param_groups
    optimized = {id(p) for group in groups for p in group["params"]}
    modules = [m for m in variables.values() if isinstance(m, nn.Module)]
    return [m for m in modules if any(id(p) in optimized for p in m.parameters())]


def call_network(module: Any, *inputs: torch.Tensor) -> Any:
    """Return the output of a network, whether or not it takes the device at every call."""
    takes_device = module.forward.__code__.co_argcount > 1 + len(inputs)
    return module(*inputs, _CPU) if takes_device else module(*inputs)


def sample_action(policy: Any, observations: torch.Tensor) -> Any:
    """Return (action, log-probability, mean) of a policy, with the device if it takes one."""
    takes_device = policy.get_action.__code__.co_argcount > 2
    return (
        policy.get_action(observations, _CPU) if takes_device else policy.get_action(observations)
    )
