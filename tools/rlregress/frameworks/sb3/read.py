"""Defaults of Stable-Baselines3's PPO, SAC, TD3, DDPG and DQN, read from constructed agents."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
import torch
from stable_baselines3 import A2C, DDPG, DQN
from torch import nn

from rlregress.frameworks.sb3 import compat, gyms
from rlregress.frameworks.sb3.train.training import (
    ALGORITHMS,
    ARGUMENTS,
    convert_hyperparameters_to_arguments,
)
from rlregress.probing.families import read_each_or_mark_unread
from rlregress.probing.interface import Unprobed
from rlregress.probing.layers import list_linear_layers
from rlregress.probing.scripted import Scripted

#: hyperparameters that are no keyword of their own -> the keyword that sets them.
_INSIDE = {
    "ppo": {"anneal_learning_rate": "learning_rate", "hidden_sizes": "policy_kwargs.net_arch"},
    "sac": {
        "critic_learning_rate": "learning_rate",
        "temperature_learning_rate": "learning_rate",
        "initial_temperature": "ent_coef",
        "hidden_sizes": "policy_kwargs.net_arch",
    },
    "td3": {"exploration_noise": "action_noise", "hidden_sizes": "policy_kwargs.net_arch"},
    "ddpg": {"exploration_noise": "action_noise", "hidden_sizes": "policy_kwargs.net_arch"},
    "dqn": {"hidden_sizes": "policy_kwargs.net_arch"},
}


def map_hyperparameters_to_own_names() -> dict[tuple[str, str], dict[str, str]]:
    """Return (algorithm, scope) -> hyperparameter -> keyword of the class that sets it.

    Raises:
        Unprobed: the class has no such keyword.
    """
    by_cell = {}
    for algorithm, algorithm_class in ALGORITHMS.items():
        named, lacking = split_names_by_keyword(algorithm, algorithm_class)
        for own in lacking.values():
            raise Unprobed(f"{algorithm_class.__name__} has no keyword '{own}'", is_known=True)
        by_cell[algorithm, "library"] = named
    return by_cell


def split_names_by_keyword(
    algorithm: str, constructor: Callable[..., Any]
) -> tuple[dict[str, str], dict[str, str]]:
    """Return hyperparameter -> name twice: for the class's keywords, and for all other names."""
    keywords = inspect.signature(constructor).parameters
    known: tuple[dict[str, str], dict[str, str]] = {}, {}
    for name, own in {**ARGUMENTS[algorithm], **_INSIDE[algorithm]}.items():
        known[own.partition(".")[0] not in keywords][name] = own
    return known


#: of two actions.
_BOUND = np.ones(2)


def construct_small_agent(algorithm_class: Any, discrete: bool, **arguments: Any) -> Any:
    """Return an agent with three observations and two actions, or two choices if ``discrete``."""
    actions = len(_BOUND) if discrete else 0
    environment = gyms.convert_environment(
        Scripted(-_BOUND, _BOUND, observation_dimensions=3, discrete=actions)
    )
    policy = compat.name_policy_of_dense_layers(algorithm_class, environment)
    # a buffer takes no memory before something is written to it
    return algorithm_class(policy, environment, device="cpu", seed=0, **arguments)


def read_defaults() -> dict[tuple[str, str], dict[str, Any]]:
    """Return (algorithm, scope) -> hyperparameter -> value of an agent made without arguments."""
    return read_each_or_mark_unread(
        {
            (algorithm, "library"): partial(_read_values_of_default_agent, algorithm)
            for algorithm in ALGORITHMS
        }
    )


def _read_values_of_default_agent(algorithm: str) -> dict[str, Any]:
    return read_values_of_agent(
        algorithm, construct_small_agent(ALGORITHMS[algorithm], algorithm == "dqn")
    )


def read_applied_hyperparameters(
    algorithm: str, hyperparameters: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the hyperparameters that an agent made with these has, as a training makes it."""
    arguments = convert_hyperparameters_to_arguments(algorithm, hyperparameters, _BOUND.shape)
    agent = construct_small_agent(ALGORITHMS[algorithm], algorithm == "dqn", **arguments)
    return read_values_of_agent(algorithm, agent)


def _list_layer_sizes(network: nn.Module) -> list[int]:
    return [layer.out_features for layer in list_linear_layers(network)]


def _read_learning_rate(optimizer: Any) -> float:
    return optimizer.param_groups[0]["lr"]


def read_values_of_agent(algorithm: str, model: Any) -> dict[str, Any]:
    """Return hyperparameters of an agent by the names of ``baselines/hyperparameters``.

    Those without a keyword of its class are left out.
    """
    names, _ = split_names_by_keyword(algorithm, type(model))
    readers = _READERS[algorithm]
    return {
        name: readers[name](model) if name in readers else getattr(model, own)
        for name, own in names.items()
    }


def _read_value_clip(model: Any) -> Any:
    clip = model.clip_range_vf
    return clip(1.0) if callable(clip) else clip


def _read_target_entropy(model: Any) -> Any:
    dimensions = float(np.prod(model.action_space.shape))
    return "auto" if float(model.target_entropy) == -dimensions else float(model.target_entropy)


def _read_noise(model: Any) -> Any:
    noise = model.action_noise
    # in single precision: without the digits of the nearest neighbour
    return None if noise is None else float(f"{np.max(noise._sigma):.6g}")


_Readers = dict[str, Callable[[Any], Any]]
_OFF_POLICY: _Readers = {
    "learning_rate": lambda model: _read_learning_rate(
        getattr(model, "actor", model.policy).optimizer
    ),
    "steps_per_collection": compat.read_train_frequency,
}
_DDPG: _Readers = {
    **_OFF_POLICY,
    "exploration_noise": _read_noise,
    "hidden_sizes": lambda model: _list_layer_sizes(model.actor.mu)[:-1],
}
#: what is not an attribute of the agent that is named like the keyword.
_READERS: dict[str, _Readers] = {
    "ppo": {
        "learning_rate": lambda model: model.lr_schedule(1.0),
        "anneal_learning_rate": lambda model: model.lr_schedule(0.5) != model.lr_schedule(1.0),
        "clip_range": lambda model: model.clip_range(1.0),
        "value_clip_range": _read_value_clip,
        # an infinite bound clips nothing
        "max_gradient_norm": lambda model: (
            None if model.max_grad_norm == math.inf else model.max_grad_norm
        ),
        "hidden_sizes": lambda model: _list_layer_sizes(model.policy.mlp_extractor.policy_net),
    },
    "sac": {
        **_OFF_POLICY,
        "critic_learning_rate": lambda model: _read_learning_rate(model.critic.optimizer),
        "temperature_learning_rate": lambda model: _read_learning_rate(model.ent_coef_optimizer),
        # of a logarithm of 32 bits
        "initial_temperature": lambda model: round(float(model.log_ent_coef.detach().exp()), 6),
        "target_entropy": _read_target_entropy,
        "hidden_sizes": lambda model: _list_layer_sizes(model.actor.latent_pi),
    },
    "td3": _DDPG,
    "ddpg": _DDPG,
    "dqn": {
        **_OFF_POLICY,
        # the network that acts is the first of two
        "hidden_sizes": lambda model: _list_layer_sizes(next(model.policy.children()))[:-1],
    },
}


# -- of other algorithms, in their own names ------------------------------------------------------

_OTHERS = {"a2c": A2C, "ddpg": DDPG, "dqn": DQN}
_PLAIN = (bool, int, float, str, tuple, type(None))


def read_defaults_of_all_arguments() -> dict[tuple[str, str], dict[str, Any]]:
    """Return (algorithm, scope) -> argument, part of an optimiser, or "layers" -> value."""
    return read_each_or_mark_unread(
        {
            (name, "library"): partial(_list_default_arguments, algorithm_class)
            for name, algorithm_class in _OTHERS.items()
        }
    )


def _list_default_arguments(algorithm_class: Any) -> dict[str, Any]:
    parameters = compat.list_parameters_of_function(algorithm_class)
    # a buffer of the default size would take memory for a million transitions
    small: dict[str, Any] = {"buffer_size": 1} if "buffer_size" in parameters else {}
    agent = construct_small_agent(algorithm_class, algorithm_class is DQN, **small)
    settings = dict(
        _list_argument_values(agent, set(parameters) - {"policy", "env", "device", "seed", *small})
    )
    settings.update({name: parameters[name].default for name in small})
    settings["learning_rate"] = (agent.lr_schedule(1.0), agent.lr_schedule(0.5))
    for name, optimizer in _list_optimizers(agent.policy):
        settings[f"{name} optimizer"] = type(optimizer).__name__
        for option, value in optimizer.defaults.items():
            if isinstance(value, _PLAIN):
                settings[f"{name} optimizer.{option}"] = value
    settings["layers"] = [
        (type(layer).__name__, *layer.weight.shape)
        for layer in agent.policy.modules()
        if isinstance(layer, nn.Linear)
    ]
    return settings


def _list_argument_values(agent: Any, names: Any) -> Iterator[tuple[str, Any]]:
    for name in sorted(names):
        value = getattr(agent, name, agent)
        if callable(value) and not isinstance(value, type) and value is not agent:
            yield name, (value(1.0), value(0.5))
        elif isinstance(value, _PLAIN):
            yield name, tuple(map(str, value)) if isinstance(value, tuple) else value


def _list_optimizers(policy: Any) -> Iterator[tuple[str, torch.optim.Optimizer]]:
    for name, part in (("policy", policy), *policy.named_children()):
        if isinstance(getattr(part, "optimizer", None), torch.optim.Optimizer):
            yield name, part.optimizer
