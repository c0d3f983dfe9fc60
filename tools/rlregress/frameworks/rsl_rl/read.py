"""Defaults of RSL-RL's PPO, read from constructed agents."""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from rsl_rl.algorithms import PPO

from rlregress.frameworks.rsl_rl import compat
from rlregress.frameworks.rsl_rl.environments import Vectorised, make_runner
from rlregress.frameworks.rsl_rl.train.training import ARGUMENTS, make_runner_of_hyperparameters
from rlregress.probing.families import read_each_or_mark_unread
from rlregress.probing.interface import Unprobed
from rlregress.probing.scripted import Scripted

#: hyperparameters that a keyword of PPO sets with another value
_FURTHER = {"value_clip_range": "use_clipped_value_loss", "minibatch_size": "num_mini_batches"}
#: and those that the configuration of a runner sets
_OF_RUNNERS = {
    "rollout_steps": "num_steps_per_env",
    "hidden_sizes": "hidden_dims" if compat.MODELS else "actor_hidden_dims",
}


def map_hyperparameters_to_own_names() -> dict[tuple[str, str], dict[str, str]]:
    """Return (algorithm, scope) -> hyperparameter -> RSL-RL's name of the setting.

    Raises:
        Unprobed: PPO has no such keyword.
    """
    keywords = inspect.signature(PPO).parameters
    named = {**ARGUMENTS, **_FURTHER}
    if not compat.RAW_ADVANTAGES:
        del named["normalize_advantage"]
    lacking = sorted(set(named.values()) - set(keywords))
    if lacking:
        raise Unprobed(f"PPO has no keyword '{lacking[0]}'", is_known=True)
    return {("ppo", "library"): {**named, **_OF_RUNNERS}}


def _make_environment() -> Vectorised:
    return Vectorised(Scripted(-np.ones(2), np.ones(2), observation_dimensions=3))


def read_defaults() -> dict[tuple[str, str], dict[str, Any]]:
    """Return (algorithm, scope) -> hyperparameter -> value of an agent made without arguments.

    Steps and minibatches of a rollout are left out: a runner has no default of the first, and the
    number of rows of the second follows from it.
    """
    return read_each_or_mark_unread({("ppo", "library"): _read_values_of_default_agent})


def _read_values_of_default_agent() -> dict[str, Any]:
    return _read_values_of_agent(make_runner(_make_environment(), 2, compat.Networks()).alg)


def read_applied_hyperparameters(
    algorithm: str, hyperparameters: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the hyperparameters that an agent made with these has, as a training makes it."""
    agent = make_runner_of_hyperparameters(_make_environment(), hyperparameters).alg
    steps = agent.storage.num_transitions_per_env
    rows = {"rollout_steps": steps, "minibatch_size": steps // agent.num_mini_batches}
    return {**_read_values_of_agent(agent), **rows}


def _read_values_of_agent(agent: Any) -> dict[str, Any]:
    read = {name: getattr(agent, own) for name, own in ARGUMENTS.items() if hasattr(agent, own)}
    largest = read["max_gradient_norm"]
    layers = compat.list_layers(agent, "actor")
    return {
        **read,
        # an infinite bound clips nothing
        "max_gradient_norm": None if largest == math.inf else largest,
        "value_clip_range": agent.clip_param if agent.use_clipped_value_loss else None,
        "hidden_sizes": [layer.out_features for layer in layers[:-1]],
    }
