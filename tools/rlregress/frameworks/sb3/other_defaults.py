"""What A2C, DDPG and DQN are set to, in their own names, read from constructed agents."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import torch
from stable_baselines3 import A2C, DDPG, DQN
from torch import nn

from rlregress.frameworks.sb3 import compat
from rlregress.frameworks.sb3.defaults import construct
from rlregress.probing.families import read_each

_ALGORITHMS = {"a2c": A2C, "ddpg": DDPG, "dqn": DQN}
_PLAIN = (bool, int, float, str, tuple, type(None))


def values() -> dict[tuple[str, str], dict[str, Any]]:
    """(algorithm, scope) -> argument, part of an optimiser, or "layers" -> value."""
    return read_each(
        {(algorithm, "library"): partial(_values, made) for algorithm, made in _ALGORITHMS.items()}
    )


def _values(made: Any) -> dict[str, Any]:
    known = compat.keywords(made)
    # a buffer of the default size would take memory for a million transitions
    small: dict[str, Any] = {"buffer_size": 1} if "buffer_size" in known else {}
    agent = construct(made, made is DQN, **small)
    settings = dict(_arguments(agent, set(known) - {"policy", "env", "device", "seed", *small}))
    settings.update({name: known[name].default for name in small})
    settings["learning_rate"] = (agent.lr_schedule(1.0), agent.lr_schedule(0.5))
    for name, optimizer in _optimizers(agent.policy):
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


def _arguments(agent: Any, names: Any) -> Iterator[tuple[str, Any]]:
    for name in sorted(names):
        value = getattr(agent, name, agent)
        if callable(value) and not isinstance(value, type) and value is not agent:
            yield name, (value(1.0), value(0.5))
        elif isinstance(value, _PLAIN):
            yield name, tuple(map(str, value)) if isinstance(value, tuple) else value


def _optimizers(policy: Any) -> Iterator[tuple[str, torch.optim.Optimizer]]:
    for name, part in (("policy", policy), *policy.named_children()):
        if isinstance(getattr(part, "optimizer", None), torch.optim.Optimizer):
            yield name, part.optimizer
