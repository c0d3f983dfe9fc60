"""What drivers share: a script, and where its networks and optimisers are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import nn

from rlregress.frameworks.cleanrl.script import find_first_variable
from rlregress.frameworks.cleanrl.script_sources import Source
from rlregress.probing.layers import list_optimized_parameters

OPTIMIZERS = {
    "critic": ("q_optimizer", "values_optimizer"),
    "actor": ("actor_optimizer", "policy_optimizer"),
    "temperature": ("a_optimizer",),
}
#: some scripts take it at every call of a network
_CPU = torch.device("cpu")


class DrivenScript:
    """A script that runs again for each request of a measurement."""

    #: of the script
    name: str

    def __init__(self, source: Source, settings: Any) -> None:
        self._script, self._settings = source.parse_script(self.name), settings
        #: of the last run, from its first reset on
        self._variables: dict[str, Any] = {}

    def _find_variable(self, *candidates: str) -> Any:
        return find_first_variable(self._variables, *candidates)


def find_policy(variables: Mapping[str, Any]) -> Any:
    """Return the policy network of a script of SAC or TD3."""
    return find_first_variable(variables, "actor", "pg")


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
    return find_first_variable(variables, *candidates)


def list_q_networks(variables: Mapping[str, Any]) -> list[nn.Module]:
    """Return those networks of a script that its optimiser of the critics trains."""
    critics = find_optimizer_by_role(variables, "critic")
    optimized = {id(p) for p in list_optimized_parameters(critics)}
    modules = [m for m in variables.values() if isinstance(m, nn.Module)]
    own = [{id(p) for p in module.parameters()} for module in modules]
    return [module for module, ids in zip(modules, own, strict=True) if ids and ids <= optimized]


def _add_device_if_taken(method: Any, *inputs: torch.Tensor) -> tuple[Any, ...]:
    takes_device = method.__code__.co_argcount > 1 + len(inputs)
    return (*inputs, _CPU) if takes_device else inputs


def call_network(module: Any, *inputs: torch.Tensor) -> Any:
    """Return the output of a network, whether or not it takes the device at every call."""
    return module(*_add_device_if_taken(module.forward, *inputs))


def sample_action(policy: Any, observations: torch.Tensor) -> Any:
    """Return (action, log-probability, mean) of a policy, with the device if it takes one."""
    return policy.get_action(*_add_device_if_taken(policy.get_action, observations))
