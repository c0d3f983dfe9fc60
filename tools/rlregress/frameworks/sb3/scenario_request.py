"""What a scenario asks of Stable-Baselines3, and the library's own parts by name.

Whether a version has an option is asked of the signature that would take it, so that one that
lacks it says so and everything else is traced.
"""

from __future__ import annotations

import importlib
import os
import traceback
from collections.abc import Mapping
from typing import Any

import stable_baselines3
import torch

from rlregress.frameworks.base import Unsupported
from rlregress.frameworks.capabilities import check_arguments

ON_POLICY = ("ppo", "a2c")
_LIBRARY = stable_baselines3.__name__
_ON_POLICY_DEFAULTS = {"rollout_steps": 32, "learning_rate": 3e-3, "hidden_sizes": [16, 16]}
_DEFAULTS = {
    "ppo": {**_ON_POLICY_DEFAULTS, "minibatch_size": 48, "epochs": 2},
    "a2c": {**_ON_POLICY_DEFAULTS, "rollout_steps": 8},
    **dict.fromkeys(
        ("sac", "td3", "ddpg", "dqn"),
        # 80 rows: the buffer is full after half of the training
        {
            "replay_size": 80,
            "learning_starts": 24,
            "minibatch_size": 16,
            "learning_rate": 3e-3,
            "hidden_sizes": [16, 16],
            "steps_per_collection": 2,
            "updates_per_collection": 1,
        },
    ),
}


def algorithm_named(name: str) -> Any:
    """The class of an algorithm; Unsupported where this version has none."""
    algorithm = getattr(stable_baselines3, name.upper(), None)
    if algorithm is None:
        raise Unsupported(f"this version has no {name.upper()}")
    return algorithm


def made(
    algorithm: Any, policy: Any, environment: Any, device: str = "cpu", **arguments: Any
) -> Any:
    """An agent that logs nothing; Unsupported where the class lacks an argument."""
    check_arguments(algorithm, arguments)
    try:
        model = algorithm(policy, environment, device=device, **arguments)
    except (AssertionError, ValueError) as error:
        if "only supports" not in str(error) and "support multiple envs" not in str(error):
            raise
        raise Unsupported(f"{algorithm.__name__}: {error}") from None
    return silent(model)


def missing_device() -> str:
    """A device that this machine lacks; Unsupported where it has it."""
    if torch.cuda.is_available():
        raise Unsupported("no device is missing: this machine has CUDA")
    return "cuda:0"


def silent(model: Any) -> Any:
    """The agent, with a logger that leaves no folder behind."""
    if hasattr(model, "set_logger"):
        from stable_baselines3.common.logger import Logger

        model.set_logger(Logger(folder=None, output_formats=[]))
    return model


def by_library(error: BaseException) -> bool:
    """Whether an error comes out of the library's own code."""
    # as they are named and as they are: a copy of a package may be made of links
    ways = (os.path.abspath, os.path.realpath)
    roots = tuple(way(os.path.dirname(stable_baselines3.__file__)) + os.sep for way in ways)
    files = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
    return any(way(file).startswith(roots) for file in files for way in ways)


def library(module: str, name: str) -> Any:
    """A class or function of the library; Unsupported where this version has none."""
    try:
        return getattr(importlib.import_module(f"{_LIBRARY}.{module}"), name)
    except (ImportError, AttributeError):
        raise Unsupported(f"this version has no {name}") from None


class ScenarioOptions:
    """What a scenario asks for, each name once: what is left over in the end is not offered.

    Args:
        scenario: as ``Adapter.trace_scenario`` takes it.
        defaults: algorithm -> its settings where the scenario has none.
    """

    def __init__(
        self, scenario: Mapping[str, Any], defaults: Mapping[str, Mapping[str, Any]] = _DEFAULTS
    ) -> None:
        self.algorithm = str(scenario["algorithm"])
        if self.algorithm not in defaults:
            raise Unsupported(f"Stable-Baselines3 has no {self.algorithm.upper()}")
        self.environment = dict(scenario.get("environment", {}))
        self.settings = {**defaults[self.algorithm], **scenario.get("settings", {})}
        self.features = dict(scenario.get("features", {}))

    def take(self, name: str, default: Any = None) -> Any:
        """A feature or setting, no longer among what is left over."""
        return self.features.pop(name, self.settings.pop(name, default))

    def nothing_left(self) -> None:
        """Raise Unsupported for what nobody took."""
        left = sorted({**self.settings, **self.features})
        if left:
            raise Unsupported(f"{self.algorithm.upper()} has no {', '.join(left)}")
