"""The library's classes by name, and agents that log nothing.

Options are looked up in the signature of the installed version: one that is missing raises
Unsupported, which a trace records.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import os
import traceback
from typing import Any

import stable_baselines3
import torch
from stable_baselines3.common import logger, utils

from rlregress.probing.capabilities import raise_if_argument_unknown
from rlregress.probing.interface import Unsupported

_LIBRARY = stable_baselines3.__name__


def find_algorithm_class(name: str, library: Any = stable_baselines3) -> Any:
    """Return the class of an algorithm; Unsupported where this version has none."""
    algorithm = getattr(library, name, None)
    if algorithm is None:
        raise Unsupported(f"this version has no {name}")
    return algorithm


def find_policy_class(algorithm: Any, policy: str) -> Any:
    """Return the class of a policy by name; Unsupported where the algorithm has none."""
    policy_type = getattr(algorithm, "policy_aliases", {}).get(policy)
    bases = [base for base in algorithm.__mro__ if "." in base.__module__]
    for base in bases if policy_type is None else ():
        # before 1.5 an algorithm's policies were only in the module beside it, or its base's
        with contextlib.suppress(ImportError):
            module = importlib.import_module(f"{base.__module__.rpartition('.')[0]}.policies")
            policy_type = policy_type or getattr(module, policy, None)
    if policy_type is None:
        raise Unsupported(f"{algorithm.__name__} has no {policy}")
    return policy_type


def make_agent(
    algorithm: Any, policy: Any, environment: Any, device: str = "cpu", **arguments: Any
) -> Any:
    """Make an agent that logs nothing; Unsupported where the class lacks an argument."""
    frequency = arguments.get("train_freq")
    if (
        isinstance(frequency, tuple)
        and "n_episodes_rollout" in inspect.signature(algorithm.__init__).parameters
    ):
        # before 0.11
        arguments.update(n_episodes_rollout=frequency[0], train_freq=-1)
    raise_if_argument_unknown(algorithm, arguments)
    try:
        model = algorithm(policy, environment, device=device, **arguments)
    except (AssertionError, ValueError) as error:
        if "only supports" not in str(error) and "support multiple envs" not in str(error):
            raise
        raise Unsupported(f"{algorithm.__name__}: {error}") from None
    return silence_agent(model)


def name_missing_device() -> str:
    """Return the name of a device that this machine lacks; Unsupported if it has CUDA."""
    if torch.cuda.is_available():
        raise Unsupported("no device is missing: this machine has CUDA")
    return "cuda:0"


def silence_agent(agent: Any) -> Any:
    """Return the agent, with its logger off, as it would leave a folder behind."""
    nowhere = logger.Logger(folder=None, output_formats=[])
    if hasattr(agent, "set_logger"):
        agent.set_logger(nowhere)
    else:
        # until 1.0 all agents shared one, which ``learn`` made anew
        logger.Logger.CURRENT = agent.logger = nowhere
        utils.configure_logger = lambda *_, **__: None
    return agent


def is_raised_by_library(error: BaseException) -> bool:
    """Return whether an error was raised in the library's own code."""
    # as they are named and as they are: a copy of a package may be made of links
    ways = (os.path.abspath, os.path.realpath)
    roots = tuple(way(os.path.dirname(stable_baselines3.__file__)) + os.sep for way in ways)
    files = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
    return any(way(file).startswith(roots) for file in files for way in ways)


def find_in_library(module: str, name: str) -> Any:
    """Return a class or function of the library; Unsupported where this version has none."""
    try:
        return getattr(importlib.import_module(f"{_LIBRARY}.{module}"), name)
    except (ImportError, AttributeError):
        raise Unsupported(f"this version has no {name}") from None
