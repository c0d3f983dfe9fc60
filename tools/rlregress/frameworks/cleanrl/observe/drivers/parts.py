"""Names of networks and optimisers in the scripts of off-policy algorithms."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import nn

from rlregress.frameworks.cleanrl.script import Script

OPTIMIZERS = {
    "critic": ("q_optimizer", "values_optimizer"),
    "actor": ("actor_optimizer", "policy_optimizer"),
    "temperature": ("a_optimizer",),
}


def find_first_variable(variables: Mapping[str, Any], quantity: str, *candidates: str) -> Any:
    """Return the value of the first of ``candidates`` that is among the variables of a script.

    Args:
        variables: global variables of the script.
        quantity: name of the quantity in the error, if there is none of them.
    """
    for name in candidates:
        if name in variables:
            return variables[name]
    raise Script(Path(variables["__file__"])).make_anchor_lost_error(quantity, *candidates)


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
