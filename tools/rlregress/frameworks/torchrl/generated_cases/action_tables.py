"""Distributions of actions, and the functions that help losses."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from functools import partial
from operator import attrgetter, methodcaller
from typing import Any
from unittest import mock

import torch
from torch import nn

from rlregress.frameworks.torchrl.api import TensorDict
from rlregress.frameworks.torchrl.compat import find_in_library
from rlregress.frameworks.torchrl.generated_cases.input_corpus import ACTS, make_batch, make_numbers
from rlregress.frameworks.torchrl.known_networks import CHOICES, make_value_network
from rlregress.probing.option_variants import (
    Items,
    Kit,
    Subject,
    call_each,
    call_or_return_error,
    convert_to_recordable,
    make_function_subject,
    seed_torch_generator,
)
from rlregress.probing.signatures import list_parameters_with_inherited

_HELPERS = "torchrl.modules.distributions.utils"
_SHAPES = {"rows": (4, 2), "one": (2,), "blocks": (2, 3, 2), "single": (4, 1)}

# -- distributions ---------------------------------------------------------------------------------


def _make_distribution_inputs(shape_and_change: str) -> dict[str, Any]:
    """Return parameters of every kind of distribution, and values to score: inside, outside, at
    bounds.
    """
    shape, _, change = shape_and_change.partition(" ")
    size = _SHAPES[shape]
    many = (*size[:-1], CHOICES)
    parameters: dict[str, Any] = {
        "loc": make_numbers(*size, word="loc"),
        "scale": make_numbers(*size, word="scale", low=0.3, high=1.5),
        "param": make_numbers(*size, word="param", low=-0.9, high=0.9),
        "logits": make_numbers(*many, word="logits"),
        "scores": make_numbers(*many, word="scores"),
        "mask": make_numbers(*many, word="mask") > -1.0,
        "values": {
            "inside": make_numbers(*size, word="value", low=-0.9, high=0.9),
            "loc": make_numbers(*size, word="loc"),
            "near": make_numbers(*size, word="param", low=-0.9, high=0.9) + 1e-6,
            "mean": make_numbers(*size, word="param", low=-0.9, high=0.9),
            "far": torch.full(size, 7.0), "bound": torch.ones(size), "low": -torch.ones(size),
            "choice": ACTS["index"](size[:-1]), "one_hot": ACTS["one_hot"](size[:-1]),
        },
    }  # fmt: skip
    if change == "wide":
        parameters["loc"] = 12.0 * parameters["loc"]
    if change == "double":
        parameters = {
            k: v.double() if k in ("loc", "scale", "param") else v for k, v in parameters.items()
        }
    if change == "number":
        parameters["scale"] = 0.4
    if change == "aside":
        parameters["scale"] = parameters["scale"].to("meta")
    return parameters


_READ = (
    "mean", "mode", "variance", "stddev", "deterministic_sample", "support", "min", "max", "low",
    "high", "loc", "scale", "num_samples", "has_rsample", "batch_shape", "event_shape", "param",
    "non_trivial", "non_trivial_min", "non_trivial_max", "upscale", "tanh_loc", "probs", "logits",
    "root_dist", "event_dims",
)  # fmt: skip


def _make_distribution_and_leaves(
    distribution_class: Any, parameters: dict[str, Any]
) -> tuple[Any, dict[str, Any]]:
    """Return a distribution, and its parameters as leaves that record gradients."""
    taken_names = list_parameters_with_inherited(distribution_class.func)
    names = [n for n in ("loc", "scale", "param", "logits", "scores", "mask") if n in taken_names]
    leaves = {
        n: parameters[n].clone().requires_grad_()
        if isinstance(parameters[n], torch.Tensor) and parameters[n].is_floating_point()
        else parameters[n]
        for n in names if n not in distribution_class.keywords
    }  # fmt: skip
    return distribution_class(**leaves), leaves


def _call_distribution_methods(distribution_class: Any, parameters: dict[str, Any]) -> Any:
    """Return a distribution's attributes, and its samples and log-probabilities with gradients."""
    distribution, leaves = _make_distribution_and_leaves(distribution_class, parameters)

    def call_with_gradients(call: Callable[[Any], torch.Tensor]) -> Any:
        seed_torch_generator(0)
        output = call(distribution)
        if output.requires_grad:
            (output * make_numbers(*output.shape, word="weights")).sum().backward(retain_graph=True)
        grads = {n: x.grad for n, x in leaves.items() if getattr(x, "grad", None) is not None}
        outputs = {
            "output": convert_to_recordable(output),
            "gradient": convert_to_recordable(grads),
        }
        for leaf in leaves.values():
            if isinstance(leaf, torch.Tensor):
                leaf.grad = None
        return outputs

    attributes = [
        name for name in _READ if hasattr(type(distribution), name) or name in vars(distribution)
    ]
    differentiated: dict[str, Callable[[Any], Any]] = {
        **{f"{name}{shape}": methodcaller(name, shape)
           for name in ("sample", "rsample") for shape in ((), (3,))},
        **{f"{label} {name}": methodcaller(method, item)
           for name, item in parameters["values"].items()
           for label, method in (("score", "log_prob"), ("cdf", "cdf"), ("icdf", "icdf"))},
        "own": lambda law: law.log_prob(law.sample((2,))),
        "entropy": methodcaller("entropy"),
        "moved mode": attrgetter("deterministic_sample"),
    }  # fmt: skip
    plain: dict[str, Callable[[Any], Any]] = {
        "expanded": lambda law: law.expand((3, *law.batch_shape)).batch_shape,
        **{f"{name}{label}": methodcaller(name, *shape)
           for name in ("sample_and_log_prob", "rsample_and_log_prob")
           for label, shape in (("", ()), (" 3", ((3,),)))},
    }  # fmt: skip
    return call_each({
        **{name: partial(getattr, distribution, name) for name in attributes},
        **{name: partial(call_with_gradients, call) for name, call in differentiated.items()},
        **{name: partial(call, distribution) for name, call in plain.items()},
    })  # fmt: skip


def _call_after_parameter_update(distribution_class: Any, parameters: dict[str, Any]) -> Any:
    """Return the results of a distribution after its parameters were updated."""
    distribution, leaves = _make_distribution_and_leaves(distribution_class, parameters)
    call_or_return_error(lambda: distribution.mode)
    changed = {n: 0.7 * x + 0.1 for n, x in leaves.items() if n in ("loc", "scale", "param")}
    distribution.update(*changed.values())

    def read_device_of_updated_scale() -> Any:
        """Return the device of the scale after an update with a location on another device."""
        aside = (x if n == "scale" else x.to("meta") for n, x in changed.items())
        distribution.update(*aside)
        return str(distribution.scale.device)

    with torch.no_grad():
        return call_each({
            "draw": distribution.sample,
            "score": lambda: distribution.log_prob(parameters["values"]["inside"]),
            "mode": lambda: distribution.deterministic_sample,
            "mean": lambda: distribution.mean,
            "loc": lambda: distribution.loc,
            "aside": read_device_of_updated_scale,
        })  # fmt: skip


def _list_distribution_subjects() -> list[Subject]:
    low, high = torch.tensor([-2.0, 0.0]), torch.tensor([2.0, 1.0])
    between: Sequence[dict[str, Any]] = (
        {"low": -2.0, "high": 2.0}, {"low": 0.0, "high": 1.0}, {"low": low, "high": high},
        {"low": -1.0, "high": 0.5}, {"low": -0.5, "high": 1.0}, {"low": -3.0}, {"high": 3.0},
        {"low": torch.tensor([-1.0, -1.0]), "high": torch.tensor([1.0, 2.0])},
        {"low": 0.5, "high": -0.5}, {"low": -1, "high": 1},
        {"low": low.to("meta"), "high": high.to("meta")},
        {"low": partial(torch.full, (3, 4, 2), -2.0), "high": partial(torch.full, (3, 4, 2), 2.0)},
        {"tanh_loc": True, "upscale": 2.0}, {"tanh_loc": True, "upscale": torch.tensor([1.0, 3.0])},
        {"tanh_loc": True, "low": -2.0, "high": 0.5},
        {"tanh_loc": True, "low": low, "high": high, "upscale": 2.0},
    )  # fmt: skip
    names = {
        "TanhNormal": (*between, {"safe_tanh": False, "low": low, "high": high},
                       {"event_dims": 0}, {"event_dims": 2}, {"scale": _ones},
                       {"event_dims": 0, "low": low, "high": high}),
        "TruncatedNormal": between,
        "IndependentNormal": ({"tanh_loc": True, "upscale": 2.0}, {"event_dim": 0},
                              {"event_dim": 2},
                              {"scale": _ones}),
        "Delta": ({"batch_shape": (4,), "event_shape": (2,)}, {"atol": 0.5}, {"rtol": 0.5},
                  {"atol": 0.0, "rtol": 0.0}),
        "TanhDelta": (*between[:12], {"atol": 0.5}, {"atol": 0.0, "rtol": 0.0}, {"event_dims": 0}),
        "OneHotCategorical": ({"grad_method": "relaxed"},),
        "MaskedCategorical": ({"neg_inf": -10.0},),
        "MaskedOneHotCategorical": (), "Ordinal": (), "OneHotOrdinal": (),
    }  # fmt: skip
    return [
        Subject(
            f"torchrl.modules:{name}", {"": Kit(dict, _make_distribution_inputs)},
            ("rows", "one", "blocks", "single", "rows wide", "rows double", "rows number",
             "rows aside"),
            ("rows", "blocks"), together=options,
            calls={"": _call_distribution_methods, "update": _call_after_parameter_update,
                   "search": lambda law, parameters: law(
                       parameters["loc"], parameters["scale"]).get_mode()},
            skip=("logits", "probs", "mask", "validate_args", "batch_shape", "event_shape"),
        )
        for name, options in names.items()
    ]  # fmt: skip


def _ones() -> Any:  # titles of traces hold this name
    return torch.ones_like


# -- functions that no training reaches, or not near bounds ----------------------------------------


def _make_composite_distribution(nested: bool = False, wide: bool = False, dims: int = 2) -> Any:
    parameters = _make_distribution_inputs("blocks" if wide else "rows")
    shape = list(parameters["loc"].shape[:-1])[:dims]
    parts = {
        "move": {"loc": parameters["loc"], "scale": parameters["scale"]},
        "turn": {"logits": parameters["logits"]},
    }
    kind = find_in_library("tensordict.nn", "CompositeDistribution")
    names = {"name_map": {"move": ("agent", "move"), "turn": ("agent", "turn")}} if nested else {}
    return kind(
        TensorDict({name: TensorDict(part, shape) for name, part in parts.items()}, shape),
        distribution_map={
            "move": find_in_library("torchrl.modules", "TanhNormal"),
            "turn": find_in_library("torchrl.modules", "OneHotCategorical"),
        },
        **names,
    )


def _call_with_summed_and_separate_heads(helper: Any, distribution: Any) -> Any:
    """Return a helper's results with log-probabilities of heads summed, and separate."""
    summed = find_in_library("tensordict.nn", "set_composite_lp_aggregate")
    outputs: dict[str, Any] = {}
    for total in (True, False):
        for label, further in (("one", ()), ("three", ((3,),))):
            seed_torch_generator(0)
            with summed(total):
                outputs[f"{label} {total}"] = call_or_return_error(
                    partial(helper, distribution, *further)
                )
    return Items(outputs)


def _call_with_each_epsilon(tanh_or_inverse: Any, numbers: torch.Tensor) -> Any:
    def call_with_gradient(*epsilon: float) -> Any:
        inputs = numbers.clone().requires_grad_()
        output = tanh_or_inverse(inputs, *epsilon)
        (output * make_numbers(*numbers.shape, word="weights")).sum().backward()
        return [output, inputs.grad]

    return dict(call_each({"0": call_with_gradient, "1": partial(call_with_gradient, 0.01)}))


_NEAR = (-12.0, -1.5, -1.0, -0.9999999, 0.0, 0.3, 0.999, 1.0, 9.0)


def _call_with_each_next_value(next_state_value: Any, batch: Any) -> Any:
    predicted = make_numbers(*batch.shape, 1, word="predicted")
    calls: dict[str, dict[str, Any]] = {
        "given": {"pred_next_val": predicted}, "none": {"pred_next_val": predicted, "gamma": 0},
        "no number": {"pred_next_val": float("nan") * predicted, "gamma": 0},
        "whole": {"pred_next_val": predicted, "gamma": 1},
        "flat": {"pred_next_val": predicted.squeeze(-1)},
        "half": {"pred_next_val": predicted, "gamma": 0.5},
        "probed": {"operator": make_value_network(), "next_val_key": "state_value", "gamma": 0.8},
    }  # fmt: skip
    return call_each({
        label: partial(next_state_value, batch.clone(), **options)
        for label, options in calls.items()
    })  # fmt: skip


def _call_layer_inside_hold_out(hold_out: Any, inputs: Any) -> Any:
    outputs = []
    for learns in (True, False):
        layer = nn.Linear(2, 1).requires_grad_(learns)
        takes_list = hold_out.func.__name__ == "hold_out_params"
        with hold_out(list(layer.parameters()) if takes_list else layer) as inside:
            output = layer(torch.ones(1, 2))
            items = inside if isinstance(inside, (list, tuple)) else None
            context = "" if items is None else [item.requires_grad for item in items]
        outputs.append([output, output.requires_grad, context, layer.weight.requires_grad])
    return outputs


def _call_with_kinds_of_optimizers(group_optimizers: Any, inputs: Any) -> Any:
    def join_optimizers_of_kinds(*kinds: Any) -> Any:
        joined = group_optimizers(
            *(kind(nn.Linear(1, 1).parameters(), lr=0.1 / n) for n, kind in enumerate(kinds, 1))
        )
        return [type(joined).__name__, [group["lr"] for group in joined.param_groups]]

    sgd, adam = torch.optim.SGD, torch.optim.Adam
    return [
        call_or_return_error(partial(join_optimizers_of_kinds, *kinds))
        for kinds in ((adam, adam), (adam, sgd), (sgd,), ())
    ]


def _list_adapted_rates(scheduler_class: Any, options: Any) -> Any:
    """Return learning rates after divergences: large, small, within limits, and not a number."""
    outputs = []
    for divergences in ((0.05,) * 3, (0.001,) * 3, (0.01, 0.0), (float("nan"),), (0.021, 0.0049),
                        (0.25, 1.0)):  # fmt: skip
        layer = nn.Linear(1, 1)
        optimizer = torch.optim.SGD(layer.parameters(), lr=1e-3)
        rate = scheduler_class(optimizer, **options)
        rates = []
        for divergence in divergences:
            error = call_or_return_error(partial(rate.step, torch.tensor(divergence)))
            rates.append([error, rate.get_last_lr(), optimizer.param_groups[0]["lr"]])
        restored = scheduler_class(torch.optim.SGD(layer.parameters(), lr=1e-3), target_kl=0.5)
        restored.load_state_dict(rate.state_dict())
        outputs.append([rates, convert_to_recordable(restored.state_dict())])
    return outputs


def _call_with_each_reduction(reduce: Any, inputs: Any) -> Any:
    losses, flags = inputs["advantage"], inputs["is_init"]
    weights = make_numbers(*losses.shape, word="weight", low=0.5, high=2.0)
    return [
        call_or_return_error(partial(reduce, losses, kind, mask, weight))
        for kind in ("none", "mean", "sum", "median")
        for mask in (None, flags)
        for weight in (None, weights, weights[:1])
    ]


def _list_helper_subjects() -> list[Subject]:
    calls = {
        "next_state_value": _call_with_each_next_value,
        "hold_out_net": _call_layer_inside_hold_out,
        "hold_out_params": _call_layer_inside_hold_out,
        "group_optimizers": _call_with_kinds_of_optimizers, "_reduce": _call_with_each_reduction,
    }  # fmt: skip

    def list_modules_after_registration(add_random_module: Any, inputs: Any) -> Any:
        """Return the list of random layers after ``nn.Bilinear`` was added; restore the list."""
        place: Any = importlib.import_module("torchrl.objectives.utils")
        with mock.patch.object(place, "RANDOM_MODULE_LIST", place.RANDOM_MODULE_LIST):
            add_random_module(nn.Bilinear)
            return str(place.RANDOM_MODULE_LIST)

    rates: dict[str, dict[str, Any]] = {
        "": {"target_kl": 0.01}, "low": {"target_kl": 0.01, "max_lr": 1.5e-3, "min_lr": 9e-4},
        "steep": {"target_kl": 0.01, "factor": 3.0}, "wrong": {"target_kl": -1.0},
        "wide": {"target_kl": 0.5},
    }  # fmt: skip
    inputs = partial(make_batch, "continuous")
    heads: dict[str, Callable[[], Any]] = {
        "composite": _make_composite_distribution,
        "nested": partial(_make_composite_distribution, True),
        "blocks": partial(_make_composite_distribution, wide=True),
        "loose": partial(_make_composite_distribution, False, True, 1),
        "looser": partial(_make_composite_distribution, False, True, 0),
    }
    return [
        *(
            make_function_subject(
                f"torchrl.objectives.utils:{name}", inputs,
                ("time", "time several", "time over", "rows"), call,
                skip=("operator", "next_val_key", "gamma", "pred_next_val", "mask", "weights"),
            )
            for name, call in calls.items()
        ),
        *(
            make_function_subject(f"{_HELPERS}:{name}", lambda _: torch.tensor(_NEAR), ("",),
                                  _call_with_each_epsilon)
            for name in ("safetanh", "safeatanh", "safetanh_noeps", "safeatanh_noeps")
        ),
        *(
            make_function_subject(
                f"{_HELPERS}:{name}", lambda label: heads[label](), tuple(heads),
                _call_with_summed_and_separate_heads,
                skip=("sample_shape", "reparameterize", "samples_mc"))
            for name in ("sample_and_log_prob", "composite_entropy")
        ),
        make_function_subject("torchrl.objectives:add_random_module", inputs, ("rows",),
                              list_modules_after_registration),
        make_function_subject("torchrl.trainers.trainers:mask_batch", inputs,
                              ("time", "time collected"), lambda mask, batch: mask(batch)),
        make_function_subject("torchrl.trainers.trainers:flatten_dict", inputs, ("time",),
                              lambda flatten, batch: flatten(batch)),
        make_function_subject(
            "torchrl.objectives.utils:KLAdaptiveLR", rates.__getitem__, tuple(rates),
            _list_adapted_rates, skip=("factor", "min_lr", "max_lr"),
        ),
    ]  # fmt: skip


def list_subjects() -> dict[str, list[Subject]]:
    """Return distributions and helpers by name."""
    return {
        "distributions": _list_distribution_subjects(),
        "helpers": _list_helper_subjects(),
    }
