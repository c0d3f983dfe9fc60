"""Estimators on batches of every shape, with few steps that count, and what they refuse."""

from __future__ import annotations

from functools import partial
from typing import Any, Callable, Dict, Sequence

import torch
from torch import nn

from rlregress.frameworks.torchrl.compat import library, made
from rlregress.frameworks.torchrl.network_factories import (
    OBSERVATIONS,
    answers,
    averaging,
    estimator_of,
    scored,
    steps,
    stochastic,
    value,
    written,
)

NAMES = ("GAE", "TD0Estimator", "TD1Estimator", "TDLambdaEstimator", "VTrace")


def _estimator(name: str, critic: Any = None, averaged: bool = False, **options: Any) -> Any:
    """An estimator; one that corrects for another policy has an actor."""
    if averaged:
        options.update({"average_adv": True} if name == "VTrace" else averaging(name))
    if name == "VTrace":
        normal = library("torchrl.modules", "IndependentNormal")
        options["actor_network"] = stochastic(normal)
    return estimator_of(name, value() if critic is None else critic, **options)


def _batch(*shape: int, time: int = -1, **more: Any) -> Any:
    """Steps of which one is cut and one is the last of its episode, along a dimension."""
    batch = scored(*shape, **more).exclude("state_value", "advantage", "value_target")
    cut, end = (batch["next", name].clone() for name in ("done", "terminated"))
    time = time % len(shape)
    for place, flags in ((2, (cut,)), (4, (cut, end))):
        for flag in flags:
            flag.select(time, place).fill_(True)
    batch["next", "done"], batch["next", "terminated"] = cut, end
    return batch


def _shapes(make_env: Any, seed: int) -> Dict[str, Any]:
    """One trajectory, rows and blocks of them, time elsewhere; with one call for both values."""

    def estimated(name: str, shape: Sequence[int], shifted: bool, time: Any = None) -> Any:
        batch = _batch(*shape, time=-1 if time is None else time)
        if time is not None:
            batch.names = ["time" if k == time else None for k in range(len(shape))]
        return written(_estimator(name, shifted=shifted)(batch))

    def outputs(name: str, time: int) -> Any:
        # the dimension of time is said where the estimator is called, or where it is made
        return written(_estimator(name)(_batch(6, 7, time=time), time_dim=time))

    def kept(name: str, time: int) -> Any:
        return written(_estimator(name, time_dim=time)(_batch(6, 7, time=time)))

    calls: Dict[str, Any] = {}
    for name in NAMES:
        for shifted in (False, True):
            for label, shape, time in (
                ("one", (6,), None), ("rows", (3, 6), None), ("blocks", (2, 3, 6), None),
                ("deep", (2, 2, 3, 6), None), ("first", (6, 3), 0), ("middle", (2, 6, 3), 1),
            ):  # fmt: skip
                calls[f"{name}.{label}.{shifted}"] = partial(estimated, name, shape, shifted, time)
        for time in (0, 1, -1, -2):
            if name in ("GAE", "VTrace"):
                calls[f"{name}.told_{time}"] = partial(outputs, name, time)
            if name != "TD0Estimator":
                calls[f"{name}.kept_{time}"] = partial(kept, name, time)
    return answers(seed, **calls)


def _budgets(make_env: Any, seed: int) -> Dict[str, Any]:
    """How many cut episodes one call for both values makes room for; what is not in the next."""

    def estimated(name: str, budget: int, cuts: Sequence[int], **more: Any) -> Any:
        batch = _batch(2, 8, **more)
        done, terminated = torch.zeros(2, 8, 1, dtype=torch.bool), batch["next", "terminated"]
        done[:, list(cuts)] = True
        batch["next", "done"] = done | terminated
        return written(_estimator(name, shifted=True, shifted_budget=budget)(batch))

    def filled(name: str, nested: bool) -> Any:
        from tensordict.nn import TensorDictModule

        class Recalling(nn.Module):
            """A value of what is seen and of what is kept, of which the next steps have none."""

            def __init__(self) -> None:
                super().__init__()
                self.layer = nn.Linear(OBSERVATIONS, 1)

            def forward(self, observation: Any, first: Any, second: Any) -> Any:
                """Of shape [..., 1]."""
                return self.layer(observation) + first - second

        keys = [("kept", "first"), ("kept", "second")] if nested else ["first", "second"]
        critic = TensorDictModule(Recalling(), ["observation", *keys], ["state_value"])
        batch = _batch(2, 6)
        for number, key in enumerate(keys):
            batch[key] = torch.arange(12.0).reshape(2, 6, 1) * (1.0 + number)
        estimated = _estimator(name, critic, shifted=True)(batch)
        return {**written(estimated), "left": str(sorted(map(str, estimated["next"].keys(True))))}

    calls: Dict[str, Any] = {}
    for name in NAMES:
        for budget in (1, 2, 4):
            for label, cuts in (("none", ()), ("one", (3,)), ("three", (1, 3, 6)), ("last", (7,))):
                calls[f"{name}.{budget}.{label}"] = partial(estimated, name, budget, cuts)
        for nested in (False, True):
            calls[f"{name}.filled.{nested}"] = partial(filled, name, nested)
    calls["GAE.no_room"] = lambda: _estimator("GAE", shifted=True, shifted_budget=0)
    return answers(seed, **calls)


def _groups(make_env: Any, seed: int) -> Dict[str, Any]:
    """Ids of groups of every shape: without the last dimension, with it, of rows, too deep."""
    every = torch.arange(16).reshape(2, 8) % 3
    ids: Dict[str, Callable[[], torch.Tensor]] = {
        "flat": lambda: every,
        "column": lambda: every.unsqueeze(-1),
        "deep": lambda: every.reshape(2, 8, 1, 1),
        "of_rows": lambda: torch.arange(2).unsqueeze(-1).expand(2, 8),
        "alone": lambda: torch.arange(16).reshape(2, 8),
        "one": lambda: torch.zeros(2, 8, dtype=torch.long),
    }

    def estimated(name: str, group: Any, **options: Any) -> Any:
        batch = _batch(2, 8)
        if group is not None:
            batch["group"] = group()
        estimator = _estimator(name, averaged=True, group_key="group", **options)
        return {"keys": str(sorted(map(str, estimator.in_keys))), **written(estimator(batch))}

    calls: Dict[str, Any] = {}
    for name in NAMES:
        for label, group in {**ids, "missing": None}.items():
            calls[f"{name}.{label}"] = partial(estimated, name, group)
        calls[f"{name}.shifted"] = partial(estimated, name, ids["flat"], shifted=True)
    return answers(seed, **calls)


def _trifles(make_env: Any, seed: int) -> Dict[str, Any]:
    """Standardised advantages and rewards that are all but equal, all equal, or not finite."""

    def flat() -> Any:
        critic = value()
        for parameter in critic.parameters():
            parameter.data.zero_()
        return critic

    def estimated(name: str, size: float, grouped: bool, **options: Any) -> Any:
        batch = _batch(2, 8)
        batch["next", "reward"] = 1.0 + size * batch["next", "reward"]
        if name in ("GAE", "VTrace"):
            batch["next", "reward"] = batch["next", "reward"] - 1.0
        if grouped:
            batch["group"] = torch.arange(16).reshape(2, 8, 1) % 4
            options["group_key"] = "group"
        return written(_estimator(name, flat(), averaged=True, **options)(batch))

    calls: Dict[str, Any] = {}
    for name in NAMES:
        for label, size in (
            ("equal", 0.0), ("trifling", 1e-6), ("small", 3e-5), ("less", 3e-4), ("endless", 1e38),
        ):  # fmt: skip
            for grouped in (False, True):
                calls[f"{name}.{label}.{grouped}"] = partial(estimated, name, size, grouped)
    return answers(seed, **calls)


class Agents(nn.Module):
    """A value for each of three agents."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(OBSERVATIONS, 3)

    def forward(self, observation: torch.Tensor) -> torch.Tensor:
        """Of shape [..., 3, 1]."""
        return self.layer(observation).unsqueeze(-1)


def _few(make_env: Any, seed: int) -> Dict[str, Any]:
    """Averages where all steps count, some, two, one, and none; the same for several agents."""
    from tensordict.nn import TensorDictModule

    def valid(count: int) -> torch.Tensor:
        return (torch.arange(16).reshape(2, 8) * 5 % 16) < count

    def estimated(name: str, count: int, grouped: bool = False, **options: Any) -> Any:
        batch = _batch(2, 8)
        batch["shifted_valid"] = valid(count)
        if grouped:
            batch["group"] = torch.arange(16).reshape(2, 8) % 2
            options["group_key"] = "group"
        if name != "MultiAgentGAE":
            return written(_estimator(name, averaged=True, **options)(batch))
        critic = TensorDictModule(Agents(), ["observation"], ["state_value"])
        return written(estimator_of(name, critic, average_gae=True, **options)(batch))

    def alone(**options: Any) -> Any:
        # targets by themselves, of rewards for all agents and of one too many dimensions
        critic = TensorDictModule(Agents(), ["observation"], ["state_value"])
        batch = _batch(2, 8)
        for name in ("reward", "done", "terminated"):
            entry = batch["next", name]
            batch["next", name] = entry if options.get("shared") else entry.squeeze(-1)
        return estimator_of("MultiAgentGAE", critic).value_estimate(batch).detach()

    calls: Dict[str, Any] = {}
    for name in (*NAMES, "MultiAgentGAE"):
        for count in (16, 9, 2, 1, 0):
            for grouped in (False, True):
                calls[f"{name}.{count}.{grouped}"] = partial(estimated, name, count, grouped)
    calls["agents.shared"] = lambda: alone(shared=True)
    calls["agents.flat"] = alone
    return answers(seed, **calls)


def _modes(make_env: Any, seed: int) -> Dict[str, Any]:
    """Values by one call and by several, of given parameters in chunks, with steps in between."""
    from tensordict import TensorDict

    def given(name: str, method: str, **options: Any) -> Any:
        critic = value()
        estimator = _estimator(name, critic, **options)
        own = TensorDict.from_module(critic)
        target = own.apply(lambda tensor: 0.5 * tensor.detach())
        batch = _batch(3, 6)
        batch["steps_to_next_obs"] = 1 + torch.arange(18).reshape(3, 6, 1) % 3
        call = estimator if method == "forward" else estimator.value_estimate
        answer = call(batch, params=own, target_params=target)
        return written(answer) if method == "forward" else answer.detach()

    def by_itself(name: str, **options: Any) -> Any:
        batch = _batch(3, 6)
        if options.pop("several", False):
            batch["steps_to_next_obs"] = 1 + torch.arange(18).reshape(3, 6, 1) % 3
        critic = options.pop("critic", None)
        if critic is not None:
            batch["state_value"] = torch.linspace(0.0, 1.0, 18).reshape(3, 6, 1)
            batch["next", "state_value"] = torch.linspace(1.0, 0.0, 18).reshape(3, 6, 1)
            return estimator_of(name, None, **options).value_estimate(batch).detach()
        return _estimator(name, **options).value_estimate(batch).detach()

    def put_back(name: str) -> Any:
        estimator = _estimator(name)
        before = bool(estimator.vectorized)
        estimator.vectorized = not before
        return {"flags": str([before, estimator.vectorized]), **written(estimator(_batch(3, 6)))}

    calls: Dict[str, Any] = {}
    for name in NAMES:
        for label, options in (
            ("size", {"value_chunk_size": 2}), ("number", {"num_chunks": 2}),
            ("one", {"num_chunks": 1}), ("whole", {"value_chunk_size": 9}),
            ("other", {"num_chunks": 4, "value_chunk_dim": -1}),
            ("in_turn", {} if name == "VTrace" else {"deactivate_vmap": True}),
        ):  # fmt: skip
            calls[f"{name}.{label}"] = partial(given, name, "forward", **options)
            calls[f"{name}.{label}.alone"] = partial(given, name, "value_estimate", **options)
        calls[f"{name}.several"] = partial(by_itself, name, several=True)
        if name != "VTrace":
            calls[f"{name}.without"] = partial(by_itself, name, critic=False)
        calls[f"{name}.shifted"] = partial(by_itself, name, shifted=True)
        if name in ("GAE", "TDLambdaEstimator"):
            calls[f"{name}.put_back"] = partial(put_back, name)
    return answers(seed, **calls)


def _wrong(make_env: Any, seed: int) -> Dict[str, Any]:
    """What estimators refuse: options, keys, batches; and the keys that they have."""

    def outputs(name: str, **keys: Any) -> Any:
        estimator = _estimator(name)
        estimator.set_keys(**keys)
        read = (
            "advantage_key", "value_key", "value_target_key", "reward_key", "done_key",
            "terminated_key", "steps_to_next_obs_key", "sample_log_prob_key",
        )  # fmt: skip
        return str(
            [str(getattr(estimator, number)) for number in read if hasattr(estimator, number)]
        )

    def summed(name: str, total: bool) -> Any:
        with library("tensordict.nn", "set_composite_lp_aggregate")(total):
            return str(_estimator(name).tensor_keys)

    def started(name: str) -> Any:
        estimator = _estimator(name)
        estimator.set_vmap_randomness("same")
        flags = [estimator.is_functional, estimator.is_stateless]
        return str([estimator.vmap_randomness, *flags])

    def lacking(name: str, *keys: Any) -> Any:
        return written(_estimator(name)(_batch(2, 6).exclude(*keys)))

    options: Dict[str, Dict[str, Any]] = {
        "shifted": {"shifted": "yes"}, "fraction": {"value_chunk_size": 1.5},
        "yes": {"num_chunks": True}, "none": {"num_chunks": 0},
        "both": {"num_chunks": 2, "value_chunk_size": 2},
        "agree": {"num_chunks": 2, "num_chunk": 2}, "differ": {"num_chunks": 2, "num_chunk": 3},
        "short": {"num_chunk": 2}, "where": {"value_chunk_dim": 0.5},
        "advantage": {"advantage_key": "better"}, "target": {"value_target_key": "goal"},
        "value": {"value_key": "worth"},
    }  # fmt: skip

    def with_options(name: str, given: Dict[str, Any]) -> Any:
        return written(_estimator(name, **given)(_batch(2, 6)))

    calls: Dict[str, Any] = {}
    for name in NAMES:
        for label, option in options.items():
            calls[f"{name}.{label}"] = partial(with_options, name, option)
        calls[f"{name}.outside"] = partial(
            with_options, name, {"num_chunks": 2, "value_chunk_dim": 3}
        )
        calls[f"{name}.keys"] = partial(outputs, name)
        for label, keys in (
            ("list", {"reward": ["one", "two"]}), ("nested", {"reward": ("own", ("gain",))}),
            ("nothing", {"reward": None}), ("number", {"reward": 3}), ("unknown", {"wanted": "a"}),
            ("other", {"value": "worth"}),
        ):  # fmt: skip
            calls[f"{name}.keys.{label}"] = partial(outputs, name, **keys)
        for total in (True, False):
            calls[f"{name}.summed.{total}"] = partial(summed, name, total)
        calls[f"{name}.random"] = partial(started, name)
        calls[f"{name}.scalar"] = lambda name=name: _estimator(name)(steps())
        calls[f"{name}.scalar.alone"] = lambda name=name: _estimator(name).value_estimate(steps())
        for label, gone in (
            ("reward", ("next", "reward")), ("terminated", ("next", "terminated")),
            ("observation", "observation"), ("next", ("next", "observation")),
        ):  # fmt: skip
            calls[f"{name}.without.{label}"] = partial(lacking, name, gone)
    return answers(seed, **calls)


def _corrected(make_env: Any, seed: int) -> Dict[str, Any]:
    """V-trace of an actor by other keys, of what is refused, and made for a loss."""
    normal = library("torchrl.modules", "IndependentNormal")
    kind = library("torchrl.objectives.value", "VTrace")

    def without() -> Any:
        return type(made(kind, gamma=0.9, value_network=value(), actor_network=None)).__name__

    def renamed() -> Any:
        estimator = _estimator("VTrace")
        estimator.set_keys(sample_log_prob="old_log_prob", advantage="better")
        batch = _batch(2, 6)
        batch["old_log_prob"] = torch.linspace(-4.0, -1.0, 12).reshape(2, 6)
        return estimator(batch)["better"].detach()

    def threshold(rho: Any, c: Any) -> Any:
        return written(_estimator("VTrace", rho_thresh=rho, c_thresh=c)(_batch(2, 6)))

    def several() -> Any:
        batch = _batch(2, 6)
        batch["steps_to_next_obs"] = 1 + torch.arange(12).reshape(2, 6, 1) % 3
        return written(_estimator("VTrace")(batch))

    def valued(**options: Any) -> Any:
        estimator = made(
            kind, gamma=0.9, value_network=None, actor_network=stochastic(normal), **options
        )
        batch = _batch(2, 6)
        batch["state_value"] = torch.linspace(0.0, 1.0, 12).reshape(2, 6, 1)
        batch["next", "state_value"] = torch.linspace(1.0, 0.0, 12).reshape(2, 6, 1)
        return written(estimator(batch))

    return answers(
        seed,
        without=without, renamed=renamed, several=several, valued=valued,
        tensors=lambda: threshold(torch.tensor(0.7), torch.tensor(0.4)),
        numbers=lambda: threshold(0.7, 0.4), zero=lambda: threshold(0.0, 0.0),
        wide=lambda: threshold(50.0, 50.0), differentiable=lambda: valued(differentiable=True),
    )  # fmt: skip


API_CASES = {
    "shapes-of-estimates": _shapes,
    "rooms-for-shifted-values": _budgets,
    "ids-of-groups": _groups,
    "trifling-advantages": _trifles,
    "few-steps-that-count": _few,
    "modes-of-estimators": _modes,
    "refusals-of-estimators": _wrong,
    "corrected-estimates": _corrected,
}
