"""Differences between skrl 1 and skrl 2; settings have the names of skrl 2."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping
from typing import Any

import skrl
import torch

from rlregress.probing.interface import Unsupported

#: skrl 1: configurations are tables, and models return log-probabilities beside their outputs.
FIRST = int(skrl.__version__.split(".")[0]) < 2

#: method of an agent that makes an update
UPDATE = "_update" if FIRST else "update"

#: name of what a model is given to act on
OBSERVATIONS = "states" if FIRST else "observations"

#: what a trainer of several agents calls how many environments each of them has
SCOPES = "agents_scope" if FIRST else "scopes"

#: tensor of a memory in skrl 2 -> its name in this version, where that is another
TENSORS = {"observations": "states", "next_observations": "next_states"} if FIRST else {}

#: skrl 2 -> skrl 1
_RENAMED = {
    "gae_lambda": "lambda",
    "observation_preprocessor": "state_preprocessor",
    "observation_preprocessor_kwargs": "state_preprocessor_kwargs",
}
#: what each of several learning rates is called in skrl 1
_RATES: Mapping[str, tuple[str, ...]] = {
    "sac": ("actor_learning_rate", "critic_learning_rate", "entropy_learning_rate"),
    "td3": ("actor_learning_rate", "critic_learning_rate"),
    "ddpg": ("actor_learning_rate", "critic_learning_rate"),
    "trpo": ("value_learning_rate",),
}
#: agents whose actions get noise, in the place of being random sometimes
_NOISY = ("td3", "ddpg")


def _convert_settings_to_version(algorithm: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    own_settings = {_RENAMED.get(name, name): value for name, value in settings.items()}
    rates = own_settings.pop("learning_rate", None)
    if rates is not None:
        names = _RATES.get(algorithm, ("learning_rate",))
        own_settings.update(
            zip(names, rates if isinstance(rates, tuple) else (rates,) * len(names), strict=False)
        )
    for name in ("learning_rate_scheduler", "learning_rate_scheduler_kwargs"):
        if isinstance(own_settings.get(name), tuple):
            # one for all of them
            own_settings[name] = own_settings[name][0]
    if "value_clip" in own_settings:
        own_settings["clip_predicted_values"] = own_settings["value_clip"] > 0
    for noise in ("exploration_noise", "smooth_regularization_noise"):
        if noise in own_settings:
            own_settings[noise] = own_settings[noise](**own_settings.pop(f"{noise}_kwargs"))
    if algorithm in _NOISY:
        noise = own_settings.pop("exploration_noise", None)
        # in skrl 2 noise does not fall unless a schedule is set
        steady = {"initial_scale": 1.0, "final_scale": 1.0, "timesteps": None}
        own_settings["exploration"] = {"noise": noise, **steady}
    if "exploration_scheduler" in own_settings:
        own_settings["exploration"] = own_settings.pop("exploration_scheduler")
    return own_settings


def make_agent_of_kind(
    algorithm: str, settings: Mapping[str, Any], is_recurrent: bool = False, **parts: Any
) -> Any:
    """Return an agent of skrl with its own defaults but for ``settings``.

    It writes no files unless ``settings`` have an ``experiment`` that does.

    Args:
        is_recurrent: whether it is the agent for recurrent models.
    """
    module = importlib.import_module(f"skrl.agents.torch.{algorithm}")
    own_settings = _convert_settings_to_version(algorithm, settings) if FIRST else dict(settings)
    silent = {"write_interval": 0, "checkpoint_interval": 0}
    own_settings["experiment"] = {**silent, **own_settings.get("experiment", {})}
    if FIRST:
        defaults = getattr(module, f"{algorithm.upper()}_DEFAULT_CONFIG")
        unknown = set(own_settings) - set(defaults)
        if unknown:
            raise Unsupported(f"{algorithm.upper()} has no setting {', '.join(sorted(unknown))}")
        own_settings["experiment"] = {**defaults["experiment"], **own_settings["experiment"]}
    name = algorithm.upper() + ("_RNN" if is_recurrent else "")
    return getattr(module, name)(cfg=own_settings, device="cpu", **parts)


def name_method_that_samples(algorithm_agent: Any) -> str:
    """Return the method of a memory by which an on-policy agent reads minibatches.

    From some release on minibatches are shuffled, except by agents for models with memory.
    """
    # not of the class: to find its end in its file takes a tenth of a second
    text = inspect.getsource(getattr(type(algorithm_agent), UPDATE))
    return "sample_all" if "sample_all(" in text else "sample"


def make_epsilon_schedule(first: float, last: float, steps: float) -> Callable[[int, int], float]:
    """Return a linearly falling schedule, or the settings for it in skrl 1."""

    def compute_epsilon(timestep: int, timesteps: int) -> float:
        return first + (last - first) * min(timestep / steps, 1.0)

    numbers = {"initial_epsilon": first, "final_epsilon": last, "timesteps": steps}
    return numbers if FIRST else compute_epsilon  # type: ignore[return-value]


def act_on_observations(algorithm_agent: Any, observations: Any) -> tuple[Any, ...]:
    """Return the result of an agent's ``act`` for observations; its first item are the actions."""
    if FIRST:
        return algorithm_agent.act(observations, timestep=0, timesteps=1)
    return algorithm_agent.act(observations, None, timestep=0, timesteps=1)


def record_transition(
    algorithm_agent: Any, observations: Any, actions: Any, terminated: bool
) -> None:
    """Pass a transition to an agent in training: one observation before and after, reward 0."""
    flags = {name: torch.zeros(1, 1, dtype=torch.bool) for name in ("terminated", "truncated")}
    flags["terminated"] |= terminated
    step = {"actions": actions, "rewards": torch.zeros(1, 1), **flags, "infos": {}}
    step.update(timestep=0, timesteps=1)
    if FIRST:
        algorithm_agent.record_transition(states=observations, next_states=observations, **step)
        return
    algorithm_agent.enable_training_mode(True)
    step.update(states=None, next_states=None)
    algorithm_agent.record_transition(
        observations=observations, next_observations=observations, **step
    )


def make_gaussian_result(mean: Any, log_std: Any, states: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return mean, log deviation and states as a model's ``compute`` has to return them.

    Args:
        states: further outputs, such as the states of its memory.
    """
    return (mean, log_std, dict(states)) if FIRST else (mean, {"log_std": log_std, **states})


def read_log_prob(acted: tuple[Any, ...]) -> Any:
    """Return the log-probability from the result of a model's ``act``."""
    return acted[1] if FIRST else acted[1]["log_prob"]


def replace_log_prob(acted: tuple[Any, ...], number: Any) -> tuple[Any, ...]:
    """Return the result of a model's ``act`` with another log-probability."""
    if FIRST:
        return (acted[0], number, *acted[2:])
    return acted[0], {**acted[1], "log_prob": number}


def make_state_space_argument(environment: Any) -> dict[str, Any]:
    """Return the argument ``state_space`` of an agent; none in skrl 1 or without states."""
    space = None if FIRST else getattr(environment, "state_space", None)
    return {} if space is None else {"state_space": space}


def read_setting(algorithm_agent: Any, name: str) -> Any:
    """Return a setting of an agent, by its name in skrl 2."""
    if FIRST:
        return algorithm_agent.cfg[_RENAMED.get(name, name)]
    return getattr(algorithm_agent.cfg, name)


def name_setting_in_version(algorithm: str, name: str, rate_number: int = 0) -> str:
    """Return a setting's name in this version; ``rate_number``: index among learning rates."""
    if not FIRST:
        return name
    if name == "learning_rate":
        return _RATES.get(algorithm, (name,))[rate_number]
    return "exploration" if name == "exploration_noise" else _RENAMED.get(name, name)


def has_setting_in_version(algorithm: str, name: str) -> bool:
    """Return whether an agent has a setting, by its name in this version."""
    module = importlib.import_module(f"skrl.agents.torch.{algorithm}")
    if FIRST:
        return name in getattr(module, f"{algorithm.upper()}_DEFAULT_CONFIG")
    return name in inspect.signature(getattr(module, f"{algorithm.upper()}_CFG")).parameters


def read_value_clip(algorithm_agent: Any) -> Any:
    """Return the range that the values of an agent are clipped to, or None."""
    if FIRST and not algorithm_agent.cfg["clip_predicted_values"]:
        return None
    return read_setting(algorithm_agent, "value_clip") or None


def name_tensors_of_memory(names: Any, tensors: Any) -> dict[str, Any]:
    """Return the tensors of a memory by the names of skrl 2."""
    newest = {own: name for name, own in TENSORS.items()}
    return {newest.get(name, name): own for name, own in zip(names, tensors, strict=False)}
