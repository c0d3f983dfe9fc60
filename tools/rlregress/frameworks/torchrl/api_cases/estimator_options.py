"""Estimators over groups of steps, over agents, in chunks, with gradients, and without a critic."""

from __future__ import annotations

from functools import partial
from typing import Any, Dict, List

import torch
from torch import nn

from rlregress.frameworks.torchrl.api_cases.estimators import (
    NAMES,
    averaging,
    ends,
    estimator_of,
    written,
)
from rlregress.frameworks.torchrl.network_factories import (
    OBSERVATIONS,
    answers,
    at,
    entries,
    steps,
    value,
)

_SHAPE = (2, 8)


def _batch(marked: bool = False) -> Any:
    """Two trajectories: one episode is cut and one ends; perhaps a step does not count."""
    batch = ends(_SHAPE, [2], [5])
    if marked:
        batch["shifted_valid"] = ~at(_SHAPE, 4).squeeze(-1)
    return batch


def _over_groups(make_env: Any, seed: int) -> Dict[str, Any]:
    """Averages over groups of steps instead of over all; steps that do not count."""

    def estimated(name: str, marked: bool, **more: Any) -> Any:
        batch = _batch(marked)
        batch["group"] = (torch.arange(16).reshape(2, 8, 1) % 3).float()
        batch["next", "reward"] = batch["next", "reward"] * (1.0 + batch["group"]) + batch["group"]
        return written(
            estimator_of(name, value(), group_key="group", **averaging(name), **more)(batch)
        )

    calls: Dict[str, Any] = {}
    for name in NAMES:
        for marked in (False, True):
            calls[f"{name}.{marked}"] = partial(estimated, name, marked)
        calls[f"{name}.shifted"] = partial(estimated, name, False, shifted=True)
    return answers(seed, **calls)


def _over_agents(make_env: Any, seed: int) -> Dict[str, Any]:
    """Values of three agents, rewards of each or of all together, averaged for each."""
    from tensordict.nn import TensorDictModule

    class Agents(nn.Module):
        """A value for each of three agents."""

        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(OBSERVATIONS, 3)

        def forward(self, observation: torch.Tensor) -> torch.Tensor:
            """Of shape [..., 3, 1]."""
            return self.layer(observation).unsqueeze(-1)

    def estimated(averaged: bool, grouped: bool = False, own: bool = False, **more: Any) -> Any:
        marked = more.pop("marked", False)
        batch = _batch(marked)
        if own:
            for name in ("reward", "done", "terminated"):
                entry = batch["next", name].unsqueeze(-2)
                batch["next", name] = entry.expand(*_SHAPE, 3, 1).clone()
        options = {"average_gae": averaged, **more}
        if grouped:
            batch["group"] = torch.arange(16).reshape(2, 8) % 2
            options["group_key"] = "group"
        critic = TensorDictModule(Agents(), ["observation"], ["state_value"])
        return written(estimator_of("MultiAgentGAE", critic, **options)(batch))

    return answers(
        seed,
        shared=lambda: estimated(False),
        own=lambda: estimated(False, own=True),
        averaged=lambda: estimated(True),
        marked=lambda: estimated(True, marked=True),
        grouped=lambda: estimated(True, grouped=True),
        grouped_marked=lambda: estimated(True, grouped=True, marked=True),
        other=lambda: estimated(True, agent_dim=2),
        loop=lambda: estimated(False, vectorized=False),
        reset=lambda: estimated(False, auto_reset_env=True),
    )


def _in_chunks(make_env: Any, seed: int) -> Dict[str, Any]:
    """Values computed in chunks, of either dimension, and a number of chunks; both at once."""

    class Noting(nn.Module):
        """A value that notes the shapes of what it is asked for."""

        def __init__(self) -> None:
            super().__init__()
            self.inputs: List[Any] = []

        def forward(self, observation: torch.Tensor) -> torch.Tensor:
            """Of shape [..., 1]."""
            self.inputs.append(list(observation.shape))
            return observation.sum(-1, keepdim=True)

    def estimated(name: str, **options: Any) -> Any:
        from tensordict.nn import TensorDictModule

        noting = Noting()
        critic = TensorDictModule(noting, ["observation"], ["state_value"])
        estimator_of(name, critic, **options)(_batch())
        return {"asked": str(noting.inputs),
                **written(estimator_of(name, value(), **options)(_batch()))}  # fmt: skip

    calls: Dict[str, Any] = {}
    for name in NAMES:
        for label, options in (
            ("size", {"value_chunk_size": 3}),
            ("other", {"value_chunk_size": 3, "value_chunk_dim": 1}),
            ("number", {"num_chunks": 2}),
            ("both", {"num_chunks": 2, "value_chunk_size": 3}),
            ("shifted", {"value_chunk_size": 1, "shifted": True}),
        ):
            calls[f"{name}.{label}"] = partial(estimated, name, **options)
    return answers(seed, **calls)


def _with_gradients(make_env: Any, seed: int) -> Dict[str, Any]:
    """Gradients through an estimate, with the critic's parameters and with those of a target."""
    from tensordict import TensorDict

    def estimated(name: str, differentiable: bool, apart: bool) -> Any:
        critic = value()
        estimator = estimator_of(name, critic, differentiable=differentiable)
        given: Dict[str, Any] = {}
        if apart:
            own = TensorDict.from_module(critic)
            given = {"params": own, "target_params": own.apply(lambda p: 0.5 * p.detach())}
        batch = estimator(_batch(), **given)
        target, advantage = batch["value_target"], batch["advantage"]
        for scalar in (advantage.sum(), (target**2).sum()):
            if scalar.requires_grad:
                scalar.backward(retain_graph=True)
        moved = {
            f"gradient.{key}": parameter.grad
            for key, parameter in critic.named_parameters()
            if parameter.grad is not None
        }
        return {**written(batch), **moved}

    calls: Dict[str, Any] = {}
    for name in NAMES:
        for differentiable in (False, True):
            for apart in (False, True):
                calls[f"{name}.{differentiable}.{apart}"] = partial(
                    estimated, name, differentiable, apart
                )
    return answers(seed, **calls)


def _by_themselves(make_env: Any, seed: int) -> Dict[str, Any]:
    """Targets alone, from values that are given; other keys; discounts in tensors; no critic."""

    def alone(name: str, **options: Any) -> Any:
        estimator = estimator_of(name, value(), **options)
        return estimator.value_estimate(_batch()).detach()

    def given(name: str) -> Any:
        estimator = estimator_of(name, value())
        return estimator.value_estimate(_batch(), next_value=torch.ones(*_SHAPE, 1)).detach()

    def renamed(name: str) -> Any:
        batch = _batch()
        batch["next", "gain"] = 2.0 * batch["next", "reward"]
        estimator = estimator_of(name, value())
        estimator.set_keys(reward="gain", advantage="better", value_target="goal")
        tensors = entries(estimator(batch))
        keys = {"in": str(estimator.in_keys), "out": str(estimator.out_keys)}
        return {**keys, **{k: tensors[k].detach() for k in ("better", "goal") if k in tensors}}

    def without(name: str) -> Any:
        batch = _batch()
        batch["state_value"] = torch.linspace(0.0, 1.0, 16).reshape(*_SHAPE, 1)
        batch["next", "state_value"] = torch.linspace(1.0, 0.0, 16).reshape(*_SHAPE, 1)
        return written(estimator_of(name, None)(batch))

    def empty(name: str) -> Any:
        return estimator_of(name, value())(steps(2))

    calls: Dict[str, Any] = {}
    for name in NAMES:
        calls[f"{name}.alone"] = partial(alone, name)
        calls[f"{name}.averaged"] = partial(alone, name, **averaging(name))
        calls[f"{name}.tensor"] = partial(alone, name, gamma=torch.tensor([0.9]))
        calls[f"{name}.given"] = partial(given, name)
        calls[f"{name}.renamed"] = partial(renamed, name)
        calls[f"{name}.without"] = partial(without, name)
        calls[f"{name}.flat"] = partial(empty, name)
    return answers(seed, **calls)


API_CASES = {
    "averages-of-groups": _over_groups,
    "values-of-agents": _over_agents,
    "values-in-chunks": _in_chunks,
    "gradients-of-estimates": _with_gradients,
    "estimates-by-themselves": _by_themselves,
}
