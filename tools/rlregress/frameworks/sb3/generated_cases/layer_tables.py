"""Layers and distributions, by themselves."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import nn

from rlregress.frameworks.sb3 import compat, gyms
from rlregress.frameworks.sb3.generated_cases.call_sequences import (
    Keywords,
    make_class_subject,
    make_function_subject,
    record_steps,
)
from rlregress.frameworks.sb3.generated_cases.space_tables import make_space_of_each_kind
from rlregress.frameworks.sb3.library import find_in_library
from rlregress.probing.option_variants import Kit, Subject

_ROWS = torch.tensor([[0.3, -0.7], [1.2, 0.1], [-0.4, 0.9]])
_LOGITS = torch.cat([_ROWS, -_ROWS, 0.5 * _ROWS], dim=1)
_NUMBERS = torch.tensor([-9.0, -0.5, 0.0, 0.7, 9.0])
_LOG_STD = torch.tensor([-0.5, 0.2])
#: distribution -> what its sizes are called, the sizes, and whether its numbers are logits.
_DISTRIBUTIONS: dict[str, Any] = {
    "DiagGaussian": ("action_dim", 2, False), "SquashedDiagGaussian": ("action_dim", 2, False),
    "Categorical": ("action_dim", 6, True), "MultiCategorical": ("action_dims", [2, 4], True),
    "Bernoulli": ("action_dims", 6, True),
}  # fmt: skip


def _make_distribution_parameters(name: str, shift: float) -> Any:
    """Return the parameters of a distribution, shifted by a number."""
    logits = _DISTRIBUTIONS[name][-1]
    return ((1.0 + shift) * _LOGITS,) if logits else (_ROWS + shift, _LOG_STD - shift)


def describe_layers(layers: Any) -> list[str]:
    """Return a text for each layer: its class and the shape of its weights."""
    sizes = [tuple(getattr(layer, "weight", torch.zeros(0)).shape) for layer in layers]
    return [f"{type(layer).__name__} {size}" for layer, size in zip(layers, sizes, strict=False)]


def _make_and_describe_layers(make_layers: Any, arguments: Any) -> Any:
    """Return descriptions of layers, whether they have biases, and their outputs."""
    layers = make_layers(*arguments)
    biased = [getattr(layer, "bias", None) is not None for layer in layers]
    return [describe_layers(layers), biased, nn.Sequential(*layers)(_LOGITS[:, :3])]


def _make_distribution(name: str, size: Any, shift: float = 0.0, arguments: Any = None) -> Any:
    parameters = arguments or _make_distribution_parameters(name, shift)
    kind = find_in_library("common.distributions", f"{name}Distribution")
    return kind(size).proba_distribution(*parameters)


def _make_distribution_pairs() -> dict[str, Any]:
    """Return pairs of distributions: of one kind, of two kinds, of different numbers of choices."""
    sizes = {name: size for name, (_, size, _) in _DISTRIBUTIONS.items() if "Squashed" not in name}
    categories = partial(_make_distribution, "MultiCategorical")
    single, two = (partial(categories, [2] * n, arguments=(torch.zeros(3, 2 * n),)) for n in (1, 2))
    other_sizes = partial(categories, [4, 2])
    return {
        **{
            n: lambda n=n: (_make_distribution(n, sizes[n]), _make_distribution(n, sizes[n], 0.5))
            for n in sizes
        },
        "kinds": lambda: (
            _make_distribution("DiagGaussian", 2),
            _make_distribution("Categorical", 6),
        ),
        "others": lambda: (categories([2, 4]), other_sizes()),
        "more": lambda: (single(), two()),
        "fewer": lambda: (two(), single()),
    }


def _make_distribution_subject(name: str) -> Subject:
    word, size, _ = _DISTRIBUTIONS[name]
    parameters, other_parameters = (_make_distribution_parameters(name, n) for n in (0.0, 0.5))
    best = Keywords(deterministic=True)
    return make_class_subject(f"common.distributions:{name}Distribution",
        {"": lambda: {word: size}}, lambda law: law.proba_distribution(*parameters) is law,
        ("get_actions",), ("get_actions", True), ("sample",), ("mode",),
        lambda distribution: distribution.log_prob(distribution.mode()),
        *(lambda law, n=n: law.log_prob(torch.zeros(3, n)) for n in (1, 2, 3)), ("entropy",),
        ("log_prob_from_params", *other_parameters), ("actions_from_params", *parameters),
        ("actions_from_params", *other_parameters, best), ("proba_distribution_net", 4),
        ("proba_distribution_net", 4, Keywords(log_std_init=-0.3)))  # fmt: skip


def _record_state_dependent_exploration(distribution: Any, count: int) -> Any:
    """Return results of a gSDE distribution for ``count`` rows, after its matrices are sampled."""
    _, log_std = distribution.proba_distribution_net(latent_dim=3, log_std_init=-0.3)
    distribution.sample_weights(log_std, batch_size=2)
    latent = torch.linspace(-1.0, 1.0, 3 * count).reshape(count, 3)
    arguments = latent[:, :2].clone(), log_std, latent
    return record_steps(distribution, "exploration_mat", "exploration_matrices",
        ("log_prob_from_params", *arguments),
        ("actions_from_params", *arguments, Keywords(deterministic=True)), ("entropy",),
        *(("get_std", by) for by in (log_std, log_std + 1.0, 0.0 * log_std)))  # fmt: skip


def _make_and_describe_distribution(make_distribution: Any, arguments: Any) -> Any:
    """Return class name, size and layer of the distribution that the library makes for a space."""
    distribution = make_distribution(*arguments)
    net = distribution.proba_distribution_net(4)
    layer = net[0] if isinstance(net, tuple) else net
    size = getattr(distribution, "action_dim", getattr(distribution, "action_dims", 0))
    return [
        type(distribution).__name__,
        size,
        getattr(distribution, "full_std", "none"),
        describe_layers([layer]),
    ]


def list_subjects() -> dict[str, list[Subject]]:
    """Return the calls to generate for layers and for distributions, by part."""
    layers, own = partial("common.torch_layers:{}".format), gyms.spaces
    space_table = make_space_of_each_kind()
    sizes = {"both": [4, 3], "none": [], "apart": {"pi": [4], "qf": [3, 2]},
             "pi": {"pi": [4]}, "qf": {"qf": [4]}, "number": 4}  # fmt: skip
    architectures = {"both": [4, 3], "apart": compat.convert_networks_to_net_arch({"pi": [4],
    "vf": [3, 2]}),
             "vf": compat.convert_networks_to_net_arch({"vf": [3]}), "none": []}  # fmt: skip
    around = {"pre_linear_modules": [nn.BatchNorm1d], "post_linear_modules": [nn.LayerNorm]}
    dimensions = {name: lambda s=sizes: {"feature_dim": 3, "net_arch": s, "activation_fn": nn.ReLU}
                  for name, sizes in architectures.items()}  # fmt: skip
    actions = {**space_table, "binary matrix": own.MultiBinary([2, 2])}
    return {
        "layers": [
            make_function_subject(layers("create_mlp"),
                {f"{hidden} {output}": (3, output, hidden)
                 for output in (-1, 0, 1, 2) for hidden in ([], [5], [5, 4])},
                _make_and_describe_layers, together=[around, {**around, "with_bias": False}],
                options={"activation_fn": [nn.Tanh]}),
            make_function_subject(layers("get_actor_critic_arch"),
                {k: (v,) for k, v in sizes.items()}),
            make_class_subject(layers("MlpExtractor"), dimensions, "latent_dim_pi", "latent_dim_vf",
                lambda network: describe_layers(network.modules()), ("forward", _LOGITS[:, :3])),
        ],
        "distributions": [
            *map(_make_distribution_subject, _DISTRIBUTIONS),
            Subject("common.distributions:StateDependentNoiseDistribution",
                {"": Kit(lambda: {"action_dim": 2}, int)}, ("1", "2", "4"), ("1", "2", "4"),
                together=[{"full_std": False, "squash_output": True},
                          {"use_expln": True, "learn_features": True}],
                calls={"": _record_state_dependent_exploration}, skip=("holds",)),
            make_class_subject("common.distributions:TanhBijector", {"": lambda: {"epsilon": 1e-6}},
                ("forward", _NUMBERS), ("inverse", _NUMBERS.tanh()),
                ("log_prob_correction", _NUMBERS), options={"epsilon": [0.1]}),
            make_function_subject("common.distributions:sum_independent_dims",
                {"one": (torch.ones(3),), "rows": (torch.ones(2, 3),)}),
            make_function_subject("common.distributions:kl_divergence", _make_distribution_pairs()),
            make_function_subject("common.distributions:make_proba_distribution",
                {name: (space,) for name, space in actions.items()},
                _make_and_describe_distribution,
                together=[{"use_sde": True, "dist_kwargs": {"full_std": False}}]),
        ],
    }  # fmt: skip
