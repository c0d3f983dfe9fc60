"""Distributions of actions."""

from __future__ import annotations

from typing import Any, Dict

import torch

from rlregress.frameworks.capabilities import check_arguments
from rlregress.frameworks.torchrl.compat import library
from rlregress.frameworks.torchrl.network_factories import (
    answers,
    bounds,
    entries,
    steps,
    stochastic,
)


def _old_names(kind: Any) -> Dict[str, Any]:
    import inspect

    known = inspect.signature(kind.__init__).parameters
    # they were called so before 0.5
    return {"low": "low", "high": "high"} if "low" in known else {"low": "min", "high": "max"}


def _bounded(kind: Any, *parameters: Any, low: float, high: float, **more: Any) -> Any:
    """A distribution between bounds, by the names that the version has for them."""
    names = _old_names(kind)
    return kind(*parameters, **{names["low"]: low, names["high"]: high}, **more)


def _tanh_normal(make_env: Any, seed: int) -> Dict[str, Any]:
    """Bounds of which the centre is not 0, by new and old names, and the mode."""
    kind = library("torchrl.modules", "TanhNormal")
    place, scale = torch.tensor([[0.1, -0.4]]), torch.tensor([[0.3, 0.6]])
    inside = torch.tensor([[3.5, 4.5]])

    def elsewhere() -> Any:
        return _bounded(kind, place, scale, low=3.0, high=5.0)

    return answers(
        seed,
        location=lambda: elsewhere().loc,
        draw=lambda: elsewhere().rsample(),
        log_prob=lambda: elsewhere().log_prob(inside),
        mode=lambda: kind(place, scale).mode,
        old_names=lambda: kind(place, scale, min=-2.0, max=2.0).rsample(),
    )


def _tanh_normal_policy(make_env: Any, seed: int) -> Dict[str, Any]:
    """Draws so near to the bounds that the inverse of tanh does not give them back."""
    kind = library("torchrl.modules", "TanhNormal")
    exploring = library("torchrl.envs.utils", "set_exploration_type")
    types = library("torchrl.envs.utils", "ExplorationType")

    def act() -> Any:
        policy = stochastic(kind, gain=8.0)
        with exploring(types.RANDOM):
            batch = policy(steps(8).select("observation"))
        return {name: item.detach() for name, item in entries(batch).items()}

    return answers(seed, act=act)


def _scale_as_a_number(make_env: Any, seed: int) -> Dict[str, Any]:
    """A scale that is a number, beside a location in double precision."""
    place = torch.tensor([[0.1, -0.4]], dtype=torch.float64)
    tanh = library("torchrl.modules", "TanhNormal")
    normal = library("torchrl.modules", "IndependentNormal")
    return answers(
        seed,
        tanh=lambda: tanh(place, 0.5).base_dist.base_dist.scale,
        tanh_draw=lambda: tanh(place, 0.5).rsample(),
        normal=lambda: normal(place, 0.5).base_dist.scale,
        normal_draw=lambda: normal(place, 0.5).rsample(),
    )


def _truncated_normal(make_env: Any, seed: int) -> Dict[str, Any]:
    """Bounds of which the centre is not 0, actions outside of them, and bounds by old names."""
    kind = library("torchrl.modules", "TruncatedNormal")
    place, scale = torch.tensor([[0.9, -0.4]]), torch.tensor([[0.7, 0.6]])
    outside = torch.tensor([[1.5, 0.2]])

    def elsewhere() -> Any:
        return _bounded(kind, place, scale, low=-1.0, high=5.0)

    def between() -> Any:
        return _bounded(kind, place, scale, low=-1.0, high=1.0)

    return answers(
        seed,
        location=lambda: elsewhere().loc,
        draw=lambda: elsewhere().rsample(),
        log_prob=lambda: elsewhere().log_prob(outside),
        outside=lambda: between().log_prob(outside),
        old_names=lambda: kind(place, scale, min=-2.0, max=2.0).rsample(),
    )


def _truncated_normal_policy(make_env: Any, seed: int) -> Dict[str, Any]:
    """A policy without chance whose locations are near a bound."""
    kind = library("torchrl.modules", "TruncatedNormal")
    exploring = library("torchrl.envs.utils", "set_exploration_type")
    types = library("torchrl.envs.utils", "ExplorationType")
    choice = getattr(types, "DETERMINISTIC", None) or types.MODE

    def act() -> Any:
        policy = stochastic(kind, gain=3.0, spec=bounds())
        with exploring(choice), torch.no_grad():
            return policy(steps(6).select("observation"))["action"]

    return answers(seed, act=act)


def _truncated_normal_double(make_env: Any, seed: int) -> Dict[str, Any]:
    """A location in double precision, and bounds that are numbers."""
    kind = library("torchrl.modules", "TruncatedNormal")
    place = torch.tensor([[0.3, -0.4]], dtype=torch.float64)
    scale = torch.tensor([[0.7, 0.6]], dtype=torch.float64)

    def made() -> Any:
        return _bounded(kind, place, scale, low=-1.0, high=1.0)

    return answers(
        seed,
        draw=lambda: made().rsample(),
        log_prob=lambda: made().log_prob(place),
        bound=lambda: made().max if hasattr(made(), "max") else made().high,
    )


def _delta(make_env: Any, seed: int) -> Dict[str, Any]:
    """Two dimensions of an event, of which one step misses a part, and an expanded batch."""
    kind = library("torchrl.modules", "Delta")
    point = torch.arange(12.0).reshape(2, 2, 3)
    near = point.clone()
    near[1, 0, 2] += 1.0

    def made() -> Any:
        return kind(point, batch_shape=(2,), event_shape=(2, 3))

    return answers(
        seed,
        log_prob=lambda: made().log_prob(near),
        expanded=lambda: made().expand((4, 2)).log_prob(near.expand(4, 2, 2, 3)),
        shapes=lambda: [list(made().expand((4, 2)).event_shape), list(made().event_shape)],
    )


def _tanh_delta(make_env: Any, seed: int) -> Dict[str, Any]:
    """Small parameters with the default bounds, and bounds by old names."""
    kind = library("torchrl.modules", "TanhDelta")
    point = torch.tensor([[0.1, 1e-8, 0.7]])
    return answers(
        seed,
        mode=lambda: kind(point).mode,
        draw=lambda: kind(point).rsample(),
        old_names=lambda: kind(point, min=-2.0, max=2.0).rsample(),
    )


def _normal_parameters(make_env: Any, seed: int) -> Dict[str, Any]:
    """The wrapper around a network that splits what it returns."""
    kind = library("torchrl.modules", "NormalParamWrapper")
    return answers(
        seed,
        parameters=lambda: [
            item.detach() for item in kind(torch.nn.Linear(3, 4))(torch.ones(2, 3))
        ],
    )


def _masked_choices(make_env: Any, seed: int) -> Dict[str, Any]:
    """Some choices are not allowed, of which one is taken all the same; up to three dimensions."""
    kind = library("torchrl.modules", "MaskedCategorical")
    shape = (2, 3, 2, 4)
    logits, mask = 2.0 * torch.randn(*shape), torch.ones(*shape, dtype=torch.bool)
    mask[..., 1] = False
    mask[0, :, :, 3] = False
    taken = torch.tensor([0, 2, 1]).expand(2, 2, 3).transpose(1, 2).contiguous()

    def log_prob(**options: Any) -> Any:
        return kind(logits=logits[0, 2], mask=mask[0, 2], **options).log_prob(taken[0, 2])

    return answers(
        seed,
        log_prob=log_prob,
        lowest=lambda: log_prob(neg_inf=-50.0),
        batch=lambda: kind(logits=logits, mask=mask).log_prob(taken),
        entropy=lambda: kind(logits=logits[0], mask=mask[0]).entropy(),
        infinite=lambda: kind(logits=torch.full((1, 4), -float("inf")), mask=mask[1, 0, :1],
                              neg_inf=-50.0).log_prob(torch.tensor([0])),
        mode=lambda: kind(logits=logits[0], mask=mask[0]).mode,
        draw=lambda: kind(logits=logits[0], mask=mask[0]).sample(),
    )  # fmt: skip


def _masked_one_hot(make_env: Any, seed: int) -> Dict[str, Any]:
    """The best of the allowed choices, as one-hot actions."""
    kind = library("torchrl.modules", "MaskedOneHotCategorical")
    logits, mask = torch.randn(3, 4), torch.ones(3, 4, dtype=torch.bool)
    mask[:, 1] = False

    def made() -> Any:
        return kind(logits=logits, mask=mask)

    return answers(
        seed,
        mode=lambda: made().mode,
        deterministic=lambda: made().deterministic_sample,
        log_prob=lambda: made().log_prob(torch.eye(4)[[0, 2, 3]]),
        draw=lambda: made().sample(),
    )


def _choices_by_indices(make_env: Any, seed: int) -> Dict[str, Any]:
    """The allowed choices are given by indices, of which the best is not at its own place."""
    kind = library("torchrl.modules", "MaskedCategorical")
    one_hot = library("torchrl.modules", "MaskedOneHotCategorical")
    logits, indices = torch.randn(3, 5), torch.tensor([[1, 3, 4]] * 3)
    return answers(
        seed,
        mode=lambda: kind(logits=logits, indices=indices).mode,
        deterministic=lambda: kind(logits=logits, indices=indices).deterministic_sample,
        one_hot_mode=lambda: one_hot(logits=logits, indices=indices).mode,
        draw=lambda: kind(logits=logits, indices=indices).sample(),
    )


def _masked_random_choices(make_env: Any, seed: int) -> Dict[str, Any]:
    """Random choices of a specification with a mask and with 32 bits."""
    kind = library("torchrl.data", "Categorical", "DiscreteTensorSpec")
    mask = torch.tensor([True, False, True, True])
    return answers(
        seed,
        draws=lambda: kind(4, shape=(), dtype=torch.int32, mask=mask).rand(),
        several=lambda: kind(4, shape=(6,), dtype=torch.int32, mask=mask.expand(6, 4)).rand(),
    )


def _scaled_means(make_env: Any, seed: int) -> Dict[str, Any]:
    """Locations squashed and scaled back, one dimension of an event or none, no safe inverse."""
    place, scale = torch.tensor([[2.1, -7.0]]), torch.tensor([[0.3, 0.6]])
    inside = torch.tensor([[0.4, -0.6]])

    def outputs(name: str, **options: Any) -> Any:
        kind = library("torchrl.modules", name)
        check_arguments(kind, options)
        given = kind(place, scale, **options)
        torch.manual_seed(seed)
        return {
            "draw": given.rsample(),
            "log_prob": given.log_prob(inside),
            "deterministic": given.deterministic_sample,
        }

    calls: Dict[str, Any] = {}
    for name in ("TanhNormal", "TruncatedNormal", "IndependentNormal"):
        calls[name] = lambda name=name: outputs(name, tanh_loc=True, upscale=2.0)
        calls[f"{name}_unscaled"] = lambda name=name: outputs(name, upscale=1.0, tanh_loc=True)
    calls["unsafe"] = lambda: outputs("TanhNormal", safe_tanh=False)
    calls["no_event"] = lambda: outputs("TanhNormal", event_dims=0)
    return answers(seed, **calls)


def _parameters_of_actors(make_env: Any, seed: int) -> Dict[str, Any]:
    """Scales of an actor by every mapping, with a lower bound that they reach."""
    kind = library("tensordict.nn", "NormalParamExtractor")
    mappings = ("exp", "softplus", "relu", "biased_softplus_0.5", "none")
    given = torch.linspace(-4.0, 4.0, 8).reshape(2, 4)
    return answers(
        seed,
        **{
            mapping: lambda mapping=mapping: list(kind(mapping, scale_lb=0.3)(given))
            for mapping in mappings
        },
    )


def _kinds_of_choices(make_env: Any, seed: int) -> Dict[str, Any]:
    """Choices by probabilities and by scores; draws with a gradient, of either strategy."""
    strategies = library("torchrl.modules", "ReparamGradientStrategy")
    numbers = torch.tensor([[0.1, 1.4, -0.3], [2.0, 0.2, 0.4]])

    def results(name: str, **options: Any) -> Any:
        kind = library("torchrl.modules", name)
        given = numbers.clone().requires_grad_()
        way = options.pop("given", "logits")
        parameters = torch.softmax(given, -1) if way == "probs" else given
        made = kind(**{way: parameters}, **options)
        torch.manual_seed(seed)
        draw = made.rsample() if made.has_rsample else made.sample()
        outputs = {"draw": draw.detach(), "log_prob": made.log_prob(draw.detach()).detach()}
        if draw.requires_grad:
            (draw * torch.arange(3.0)).sum().backward()
            outputs["gradient"] = given.grad
        return outputs

    return answers(
        seed,
        passed=lambda: results("OneHotCategorical", grad_method=strategies.PassThrough),
        relaxed=lambda: results("OneHotCategorical", grad_method=strategies.RelaxedOneHot),
        probabilities=lambda: results("OneHotCategorical", given="probs"),
        ordinal=lambda: results("Ordinal", given="scores"),
        ordinal_one_hot=lambda: results("OneHotOrdinal", given="scores"),
    )


API_CASES = {
    "tanh-normal": _tanh_normal,
    "tanh-normal-policy": _tanh_normal_policy,
    "scale-as-a-number": _scale_as_a_number,
    "truncated-normal-bounds": _truncated_normal,
    "truncated-normal-policy": _truncated_normal_policy,
    "truncated-normal-double": _truncated_normal_double,
    "delta": _delta,
    "tanh-delta": _tanh_delta,
    "normal-parameters": _normal_parameters,
    "masked-choices": _masked_choices,
    "masked-one-hot": _masked_one_hot,
    "choices-by-indices": _choices_by_indices,
    "masked-random-choices": _masked_random_choices,
    "scaled-means": _scaled_means,
    "scales-of-actors": _parameters_of_actors,
    "kinds-of-choices": _kinds_of_choices,
}
