"""Estimators with parameters of one side alone, beside other devices, and with odd batches."""

from __future__ import annotations

from functools import partial
from typing import Any, Callable, Dict, Sequence

import torch
from torch import nn

from rlregress.frameworks.torchrl.compat import library
from rlregress.frameworks.torchrl.network_factories import (
    OBSERVATIONS,
    actor_of_heads,
    answers,
    at,
    averaging,
    dictionary,
    entries,
    estimator_of,
    scored,
    stochastic,
    value,
    written,
)

NAMES = ("GAE", "TD0Estimator", "TD1Estimator", "TDLambdaEstimator", "VTrace")
_FUNCTIONS = "torchrl.objectives.value.functional"
_SEQUENCES = "torchrl.objectives.value.utils"


class Agents(nn.Module):
    """A value for each of three agents."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(OBSERVATIONS, 3)

    def forward(self, observation: torch.Tensor) -> torch.Tensor:
        """Of shape [..., 3, 1]."""
        return self.layer(observation).unsqueeze(-1)


def _estimator(name: str, critic: Any = None, **options: Any) -> Any:
    """An estimator; one that corrects for another policy has an actor."""
    if name == "VTrace":
        normal = library("torchrl.modules", "IndependentNormal")
        options = {"actor_network": stochastic(normal), **options}
    return estimator_of(name, value() if critic is None else critic, **options)


def _batch(*shape: int, **more: Any) -> Any:
    """Steps of which one is cut and one is the last of its episode."""
    batch = scored(*shape, **more).exclude("state_value", "advantage", "value_target")
    batch["next", "done"], batch["next", "terminated"] = at(shape, 2, 4), at(shape, 4)
    return batch


def _of_agents() -> Any:
    from tensordict.nn import TensorDictModule

    return TensorDictModule(Agents(), ["observation"], ["state_value"])


def _one_side(make_env: Any, seed: int) -> Dict[str, Any]:
    """Parameters of the critic without those of the next values, and the other way round."""
    from tensordict import TensorDict

    def given(name: str, method: str, sides: str, shifted: bool, **options: Any) -> Any:
        critic = _of_agents() if name == "MultiAgentGAE" else value()
        estimator = _estimator(name, critic, shifted=shifted, **options)
        own = TensorDict.from_module(critic)
        target = own.apply(lambda tensor: 0.5 * tensor.detach())
        parameters = {"params": own, "target_params": target}
        more = {k: v for k, v in parameters.items() if k.split("_")[0] in sides.split()}
        call = estimator if method == "forward" else estimator.value_estimate
        answer = call(_batch(2, 6), **more)
        if method != "forward":
            return answer.detach()
        moved = answer["value_target"] if answer["value_target"].requires_grad else None
        return {**written(answer), "moved": str(moved is not None)}

    calls: Dict[str, Any] = {}
    for name in (*NAMES, "MultiAgentGAE"):
        for sides in ("params", "target", "params target"):
            for shifted in (False, True):
                label = f"{name}.{sides.replace(' ', '_')}.{shifted}"
                calls[label] = partial(given, name, "forward", sides, shifted)
                calls[f"{label}.alone"] = partial(given, name, "value_estimate", sides, shifted)
                calls[f"{label}.moved"] = partial(
                    given, name, "forward", sides, shifted, differentiable=True
                )
    return answers(seed, **calls)


def _aside(make_env: Any, seed: int) -> Dict[str, Any]:
    """Discounts on another device than the batch: where they are afterwards."""

    def outputs(name: str, method: str, moved: str, **options: Any) -> Any:
        critic = _of_agents() if name == "MultiAgentGAE" else value()
        estimator = _estimator(name, critic, device=torch.device("cpu"), **options)
        batch = _batch(2, 6)
        if moved == "batch":
            batch, estimator.value_network = batch.to("meta"), critic.to("meta")
        elif hasattr(estimator, moved):
            setattr(estimator, moved, getattr(estimator, moved).to("meta"))
        call = estimator if method == "forward" else estimator.value_estimate
        try:
            call(batch)
            ended = "answered"
        except Exception as error:
            ended = type(error).__name__
        held = [getattr(estimator, n, None) for n in ("gamma", "lmbda")]
        return str([ended, *(str(tensor.device) for tensor in held if tensor is not None)])

    calls: Dict[str, Any] = {}
    for name in (*NAMES, "MultiAgentGAE"):
        for moved in ("batch", "gamma", "lmbda"):
            for method in ("forward", "value_estimate"):
                calls[f"{name}.{moved}.{method}"] = partial(outputs, name, method, moved)
        if name.startswith("TD"):
            calls[f"{name}.averaged"] = partial(
                outputs, name, "value_estimate", "batch", **averaging(name)
            )
    return answers(seed, **calls)


def _odd_batches(make_env: Any, seed: int) -> Dict[str, Any]:
    """Batches without steps, with two values, with starts in one call, values that lack."""
    from tensordict.nn import TensorDictModule

    class Starting(nn.Module):
        """A value that is another one where an episode starts."""

        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(OBSERVATIONS, 1)

        def forward(self, observation: torch.Tensor, start: torch.Tensor) -> torch.Tensor:
            """Of shape [..., 1]."""
            return torch.where(start, self.layer(observation) - 2.0, self.layer(observation))

    def started(name: str, shifted: bool) -> Any:
        batch = _batch(2, 8)
        batch["is_init"], batch["next", "is_init"] = at((2, 8), 0, 2, 3, 7), at((2, 8))
        critic = TensorDictModule(Starting(), ["observation", "is_init"], ["state_value"])
        return written(_estimator(name, critic, shifted=shifted)(batch))

    def wide(name: str, shifted: bool) -> Any:
        batch = _batch(2, 6)
        for key in ("reward", "done", "terminated"):
            batch["next", key] = batch["next", key].expand(2, 6, 2).clone()
        batch["next", "reward"][..., 1] *= 3.0
        critic = TensorDictModule(nn.Linear(OBSERVATIONS, 2), ["observation"], ["state_value"])
        return written(_estimator(name, critic, shifted=shifted)(batch))

    def without_steps(name: str, **options: Any) -> Any:
        return written(_estimator(name, **options)(_batch(2, 6)[:0]))

    def lacking(name: str, method: str, *keys: Any) -> Any:
        batch = _batch(2, 6)
        batch["state_value"] = torch.linspace(0.0, 1.0, 12).reshape(2, 6, 1)
        batch["next", "state_value"] = torch.linspace(1.0, 0.0, 12).reshape(2, 6, 1)
        estimator = estimator_of(name, None)
        call = estimator if method == "forward" else estimator.value_estimate
        answer = call(batch.exclude(*keys))
        return written(answer) if method == "forward" else answer.detach()

    def keyed(name: str, keys: Callable[[Any], Any]) -> Any:
        estimator = _estimator(name)
        estimator.tensor_keys = keys(estimator)
        return str(estimator.tensor_keys)

    def discounted(name: str, gamma: Any) -> Any:
        return written(_estimator(name, gamma=gamma)(_batch(2, 6)))

    def gone(name: str) -> Any:
        batch = _batch(2, 6)
        critic = TensorDictModule(
            lambda observation, kept=None: observation.sum(-1, keepdim=True),
            ["observation", "kept"],
            ["state_value"],
        )  # fmt: skip
        return written(_estimator(name, critic, shifted=True)(batch))

    calls: Dict[str, Any] = {}
    for name in NAMES:
        for shifted in (False, True):
            calls[f"{name}.started.{shifted}"] = partial(started, name, shifted)
            calls[f"{name}.wide.{shifted}"] = partial(wide, name, shifted)
        for label, options in (
            ("whole", {}), ("number", {"num_chunks": 2}), ("size", {"value_chunk_size": 2}),
        ):  # fmt: skip
            calls[f"{name}.empty.{label}"] = partial(without_steps, name, **options)
        for label, gamma in (
            ("number", 0.7), ("tensor", torch.tensor(0.7)), ("one", torch.tensor([0.7])),
            ("rows", torch.full((2, 6, 1), 0.7)), ("double", torch.tensor(0.7).double()),
        ):  # fmt: skip
            calls[f"{name}.gamma.{label}"] = partial(discounted, name, gamma)
        calls[f"{name}.keys.own"] = partial(keyed, name, lambda e: e.tensor_keys)
        calls[f"{name}.keys.class"] = partial(keyed, name, lambda e: type(e.tensor_keys))
        calls[f"{name}.gone"] = partial(gone, name)
    for name in (*NAMES[:4], "MultiAgentGAE"):
        for label, keys in (
            ("none", ()), ("value", ("state_value",)), ("next", (("next", "state_value"),)),
            ("reward", (("next", "reward"),)), ("done", (("next", "done"),)),
        ):  # fmt: skip
            for method in ("forward", "value_estimate"):
                calls[f"{name}.lacking.{label}.{method}"] = partial(lacking, name, method, *keys)
    return answers(seed, **calls)


def _corrections(make_env: Any, seed: int) -> Dict[str, Any]:
    """V-trace while actions are drawn, and without chance, with several samples and heads."""
    normal, tanh = (library("torchrl.modules", n) for n in ("IndependentNormal", "TanhNormal"))
    names = ("RANDOM", "DETERMINISTIC", "MODE", "MEAN", "MEDIAN")

    def within(name: str, kind: Any, **options: Any) -> Any:
        exploration = library("torchrl.envs.utils", "set_exploration_type")
        types = library("torchrl.envs.utils", "ExplorationType")
        with exploration(getattr(types, name)):
            actor = stochastic(kind, **options)
            return written(_estimator("VTrace", actor_network=actor)(_batch(2, 6)))

    def of_heads(total: bool, nested: bool) -> Any:
        with library("tensordict.nn", "set_composite_lp_aggregate")(total), torch.no_grad():
            actor = actor_of_heads(normal, nested)
            gone = ("action", "action_log_prob", "sample_log_prob", "loc", "scale")
            batch = actor(_batch(2, 6).exclude(*gone))
            estimator = _estimator("VTrace", actor_network=actor)
            key: Any = [k for k in batch.keys(True, True) if "log_prob" in str(k)]
            estimator.set_keys(sample_log_prob=key if len(key) > 1 else key[0])
            return written(estimator(batch))

    def for_loss(kept: str, **options: Any) -> Any:
        kind = library("torchrl.objectives", "A2CLoss")
        loss = kind(stochastic(normal), value(), functional=kept == "functional")
        if kept == "renamed":
            loss.value_network = value()
        loss.make_value_estimator("vtrace", gamma=0.8, **options)
        found = loss.value_estimator
        return {"keys": str(found.tensor_keys), **written(found(_batch(2, 6)))}

    calls: Dict[str, Any] = {}
    for name in names:
        for label, kind in (("normal", normal), ("tanh", tanh)):
            calls[f"{label}.{name}"] = partial(within, name, kind)
        calls[f"default.{name}"] = partial(
            within, name, normal,
            default_interaction_type=library("tensordict.nn", "InteractionType").RANDOM,
        )  # fmt: skip
    calls["several"] = lambda: within("RANDOM", normal, num_samples=3)
    for total in (True, False):
        for nested in (True, False):
            calls[f"heads.{total}.{nested}"] = partial(of_heads, total, nested)
    for kept in ("functional", "itself", "renamed"):
        calls[f"loss.{kept}"] = partial(for_loss, kept)
    calls["loss.actor"] = lambda: for_loss("itself", actor_network=stochastic(tanh))
    return answers(seed, **calls)


def _thin(make_env: Any, seed: int) -> Dict[str, Any]:
    """Functions of targets on numbers without a last dimension, of one step, and of odd ends."""
    names = (
        "generalized_advantage_estimate", "vec_generalized_advantage_estimate",
        "td0_advantage_estimate", "td0_return_estimate", "td1_return_estimate",
        "td1_advantage_estimate", "vec_td1_return_estimate", "vec_td1_advantage_estimate",
        "td_lambda_return_estimate", "td_lambda_advantage_estimate",
        "vec_td_lambda_return_estimate", "vec_td_lambda_advantage_estimate",
    )  # fmt: skip

    def called(name: str, shape: Sequence[int], ends: str, **options: Any) -> Any:
        call = library(_FUNCTIONS, name)
        numbers = {n: torch.randn(*shape) for n in ("value", "following", "reward")}
        flags = torch.arange(torch.Size(shape).numel()).reshape(tuple(shape)) % 3 == 1
        first: list[Any] = [0.9]
        first += [0.8] if "lambda" in name or "generalized" in name else []
        first += [numbers["value"]] if "advantage" in name else []
        first += [numbers["following"], numbers["reward"]]
        if ends == "terminated":
            first += [flags, flags]
        elif ends == "done":
            first += [flags]
        given = {"done": flags} if ends == "named" else {}
        output = call(*first, **given, **options)
        return dict(enumerate(output)) if isinstance(output, tuple) else output

    def gammas(gamma: Any, length: int, rolling: bool) -> Any:
        return library(_SEQUENCES, "_make_gammas_tensor")(gamma, length, rolling)

    def unsplit(name: str, *given: Any, **options: Any) -> Any:
        return library(_SEQUENCES, name)(*given, **options)

    calls: Dict[str, Any] = {}
    for name in names:
        for label, shape in (
            ("number", ()), ("flat", (6,)), ("one_step", (2, 1, 1)), ("single", (1, 1)),
            ("no_rows", (0, 6, 1)),
        ):  # fmt: skip
            for ends in ("terminated", "done", "named"):
                calls[f"{name}.{label}.{ends}"] = partial(called, name, shape, ends)
        calls[f"{name}.time"] = partial(called, name, (6, 3, 1), "terminated", time_dim=-3)
        calls[f"{name}.last"] = partial(called, name, (3, 6), "terminated", time_dim=-1)
    for rolling in (True, False):
        calls[f"gammas.number.{rolling}"] = partial(gammas, torch.tensor(0.9), 4, rolling)
        calls[f"gammas.rows.{rolling}"] = partial(gammas, torch.tensor([0.9, 0.5]), 4, rolling)
        calls[f"gammas.steps.{rolling}"] = partial(
            gammas, torch.linspace(0.5, 0.9, 8).reshape(2, 4, 1), 4, rolling
        )
    rows, lengths = torch.arange(8.0).reshape(2, 4), torch.tensor([4, 2, 2])
    calls["inverse.one"] = lambda: unsplit("_inv_pad_sequence", rows[:1], torch.tensor([4]))
    calls["inverse.several"] = lambda: unsplit(
        "_inv_pad_sequence", torch.arange(12.0).reshape(3, 4), lengths
    )
    calls["split.one"] = lambda: unsplit("_split_and_pad_sequence", rows[0], torch.tensor([4]))
    calls["split.several"] = lambda: unsplit("_split_and_pad_sequence", rows, lengths)
    calls["split.tree"] = lambda: entries(
        unsplit("_split_and_pad_sequence", dictionary({"seen": rows}, (2, 4)), lengths)
    )
    return answers(seed, **calls)


API_CASES = {
    "parameters-of-one-side": _one_side,
    "discounts-aside": _aside,
    "odd-batches-of-estimators": _odd_batches,
    "corrections-of-actors": _corrections,
    "thin-numbers": _thin,
}
