"""Defaults of skrl's PPO, SAC, TD3, DDPG and DQN, read from constructed agents.

Sizes of networks and of a memory are the user's, and have no default.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from torch import nn

from rlregress.frameworks.skrl import compat
from rlregress.frameworks.skrl.agents import AgentSetup
from rlregress.frameworks.skrl.train.training import (
    SETTINGS,
    SWITCHED_OFF_BY_ZERO,
    make_arguments_of_hyperparameters,
)
from rlregress.probing.families import read_each_or_mark_unread
from rlregress.probing.interface import Unprobed
from rlregress.probing.scripted import Scripted

#: hyperparameters that another setting sets, or several -> that setting
_OTHERS: Mapping[str, Mapping[str, str]] = {
    "ppo": {"anneal_learning_rate": "learning_rate_scheduler", "minibatch_size": "mini_batches"},
    "sac": {
        "learning_rate": "learning_rate",
        "critic_learning_rate": "learning_rate",
        "temperature_learning_rate": "learning_rate",
        "target_entropy": "target_entropy",
    },
    "td3": {
        "exploration_noise": "exploration_noise",
        "target_noise": "smooth_regularization_noise",
    },
    "ddpg": {"exploration_noise": "exploration_noise"},
    "dqn": {"target_update_interval": "target_update_interval"},
}
#: hyperparameter -> number of its optimiser's learning rate in a setting that has several
_RATES = {"learning_rate": 0, "critic_learning_rate": 1, "temperature_learning_rate": 2}
_BOUND = np.ones(2)


def map_hyperparameters_to_own_names() -> dict[tuple[str, str], dict[str, str]]:
    """Return (algorithm, scope) -> hyperparameter -> name of the agent's setting.

    Raises:
        Unprobed: the agent has no such setting.
    """
    by_cell = {}
    for algorithm, settings in SETTINGS.items():
        all_settings, own = {**settings, **_OTHERS[algorithm]}, {}
        for name, setting in all_settings.items():
            own[name] = compat.name_setting_in_version(algorithm, setting, _RATES.get(name, 0))
            if not compat.has_setting_in_version(algorithm, own[name]):
                raise Unprobed(f"{algorithm.upper()} has no setting '{own[name]}'", is_known=True)
        by_cell[algorithm, "library"] = own
    return by_cell


def _make_small_training(algorithm: str, **arguments: Any) -> AgentSetup:
    discrete = len(_BOUND) if algorithm == "dqn" else 0
    environment = Scripted(-_BOUND, _BOUND, observation_dimensions=3, discrete=discrete)
    return AgentSetup(algorithm, environment, **arguments)


def read_defaults() -> dict[tuple[str, str], dict[str, Any]]:
    """Return (algorithm, scope) -> hyperparameter -> value of an agent made without settings."""
    return read_each_or_mark_unread(
        {
            (algorithm, "library"): partial(_read_defaults_of_algorithm, algorithm)
            for algorithm in SETTINGS
        }
    )


def _read_defaults_of_algorithm(algorithm: str) -> dict[str, Any]:
    return _read_values_of_training(algorithm, _make_small_training(algorithm))


def read_applied_hyperparameters(
    algorithm: str, hyperparameters: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the hyperparameters that an agent made with these has, as a training makes it."""
    training = _make_small_training(
        algorithm, **make_arguments_of_hyperparameters(algorithm, hyperparameters)
    )
    policy = next(iter(training.models.values()))
    sizes = [layer.out_features for layer in policy.net if isinstance(layer, nn.Linear)][:-1]
    memory = {} if algorithm == "ppo" else {"replay_size": training.memory.memory_size}
    return {**_read_values_of_training(algorithm, training), **memory, "hidden_sizes": sizes}


def _read_values_of_training(algorithm: str, training: AgentSetup) -> dict[str, Any]:
    agent = training.agent
    values = {
        name: compat.read_setting(agent, setting)
        for name, setting in SETTINGS[algorithm].items()
        if not name.endswith("learning_rate")
    }
    for name in set(SWITCHED_OFF_BY_ZERO) & set(values):
        values[name] = values[name] or None
    optimizers = list(training.optimizers.values())
    for number, optimizer in enumerate(optimizers if algorithm == "sac" else optimizers[:1]):
        values[list(_RATES)[number]] = optimizer.param_groups[0]["lr"]
    if algorithm == "ppo":
        values["anneal_learning_rate"] = getattr(agent, "scheduler", None) is not None
        values["minibatch_size"] = values["rollout_steps"] // compat.read_setting(
            agent, "mini_batches"
        )
        values["value_clip_range"] = compat.read_value_clip(agent)
    if algorithm == "sac":
        values["target_entropy"] = compat.read_setting(agent, "target_entropy") or "auto"
    if algorithm in ("td3", "ddpg"):
        values["exploration_noise"] = _read_deviation(agent._exploration_noise)
    if algorithm == "td3":
        values["target_noise"] = _read_deviation(agent._smooth_regularization_noise)
    if algorithm == "dqn":
        values["target_update_interval"] = compat.read_setting(agent, "target_update_interval")
    return values


def _read_deviation(noise: Any) -> Any:
    """Return the deviation of Gaussian noise, in single precision."""
    return None if noise is None else float(f"{float(noise.distribution.scale):.6g}")
