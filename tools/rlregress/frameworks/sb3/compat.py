"""Differences of older versions of Stable-Baselines3: names, and options that they lack.

Probes and trainings are written for the current names. Where an older version has another name for
the same thing, the agent gets the current one too. Features that a version lacks stay missing.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterator, Mapping
from typing import Any
from unittest import mock

import numpy as np
import torch
from stable_baselines3 import __version__

from rlregress.frameworks.sb3 import gyms
from rlregress.frameworks.sb3.library import find_policy_class, silence_agent
from rlregress.probing.families import is_absent_name
from rlregress.probing.interface import Unsupported


def _read_version_numbers() -> tuple[int, ...]:
    return tuple(int(number) for number in __version__.split(".")[:2])


def list_parameters_of_function(function: Any) -> Mapping[str, inspect.Parameter]:
    """Return the parameters of a function, or of a class's constructor.

    Raises:
        Unsupported: this version does not have the class.
    """
    if is_absent_name(function):
        function()
    return _read_signature(function).parameters


@functools.lru_cache(maxsize=256)
def _read_signature(function: Any) -> inspect.Signature:
    return inspect.signature(function)


def select_known_arguments(function: Any, **arguments: Any) -> dict[str, Any]:
    """Return the arguments that a function takes, and drop the others silently."""
    parameters = list_parameters_of_function(function)
    return {name: value for name, value in arguments.items() if name in parameters}


def convert_arguments_of_algorithm(algorithm: Any, **arguments: Any) -> dict[str, Any]:
    """Return arguments of an algorithm's class as this version takes them.

    Raises:
        Unsupported: this version lacks what an argument switches on.
    """
    parameters = list_parameters_of_function(algorithm)
    if "n_episodes_rollout" in parameters and arguments.get("train_freq", -1) > 0:
        # until 0.10 the number of episodes was an argument of its own, and had to be switched off
        arguments.setdefault("n_episodes_rollout", -1)
    if "normalize_advantage" not in parameters:
        # until 1.4 PPO normalised always: see ``_UnnormalisedAdvantages``
        arguments.pop("normalize_advantage", None)
    if arguments.get("policy_kwargs", {}).get("n_critics") and not _takes_critic_count(algorithm):
        if arguments["policy_kwargs"]["n_critics"] != 2:
            raise Unsupported(f"{algorithm.__name__} of this version always has two Q networks")
        arguments["policy_kwargs"] = {
            name: option
            for name, option in arguments["policy_kwargs"].items()
            if name != "n_critics"
        }
    for name in arguments:
        if name not in parameters:
            raise Unsupported(f"{algorithm.__name__} of this version has no argument '{name}'")
    return arguments


def _takes_critic_count(algorithm: Any) -> bool:
    return "n_critics" in list_parameters_of_function(find_policy_class(algorithm, "MlpPolicy"))


def name_policy_of_dense_layers(algorithm: Any, environment: Any) -> str:
    """Return the name of a class's policy of dense layers, "Mlp..." or "MultiInput..."."""
    is_dictionary = isinstance(environment.observation_space, gyms.spaces.Dict)
    kind = "MultiInput" if is_dictionary else "Mlp"
    named = getattr(algorithm, "policy_aliases", {})
    return next((name for name in named if name.startswith(kind)), f"{kind}Policy")


def convert_networks_to_net_arch(networks: dict[str, Any]) -> Any:
    """Return the hidden sizes of an actor-critic's networks as this version's ``net_arch``."""
    return [networks] if _read_version_numbers() < (1, 7) else networks


def adapt_agent_to_current_names(agent: Any, arguments: Mapping[str, Any]) -> Any:
    """Return the agent with its logger off, and with the current names of methods and networks.

    Args:
        arguments: those of its construction, among them those that this version lacks.
    """
    silence_agent(agent)
    _add_train_method(agent)
    for name in ("critic", "critic_target"):
        critic: Any = getattr(agent, name, None)
        if hasattr(critic, "q1_net") and not hasattr(critic, "q_networks"):
            critic.q_networks = [critic.q1_net, critic.q2_net]
    if hasattr(agent.policy, "value_net"):
        add_current_methods_to_policy(agent.policy)
    unknown = "normalize_advantage" not in list_parameters_of_function(type(agent))
    if unknown and not arguments.get("normalize_advantage", True):
        _prevent_normalising_of_advantages(agent.rollout_buffer)
    if arguments.get("gradient_steps") == 0 and _read_version_numbers() < (1, 2):
        _let_learn_only_collect(agent)
    return agent


def _add_train_method(agent: Any) -> None:
    # until 0.7 the loop handed over what the update uses
    train = agent.train
    missing = [
        name for name in ("n_epochs", "batch_size") if name in list_parameters_of_function(train)
    ]
    if "n_epochs" not in missing:
        return

    def train_with_own_arguments(*arguments: Any, **named: Any) -> Any:
        own = {name: getattr(agent, name) for name in missing[len(arguments) :]}
        return train(*arguments, **{**own, **named})

    agent.train = train_with_own_arguments


def add_current_methods_to_policy(policy: Any) -> None:
    """Give an actor-critic policy ``get_distribution`` and ``predict_values`` (until 1.2)."""
    if hasattr(policy, "get_distribution"):
        return

    def get_distribution(observations: torch.Tensor) -> Any:
        actor, _, exploration = policy._get_latent(observations)
        return policy._get_action_dist_from_latent(actor, exploration)

    def predict_values(observations: torch.Tensor) -> torch.Tensor:
        return policy.value_net(policy._get_latent(observations)[1])

    policy.get_distribution, policy.predict_values = get_distribution, predict_values


def convert_to_policy_tensor(policy: Any, observations: np.ndarray) -> torch.Tensor:
    """Return observations as a tensor for a policy; until 1.0 it had no ``obs_to_tensor``."""
    if hasattr(policy, "obs_to_tensor"):
        return policy.obs_to_tensor(observations)[0]
    return torch.as_tensor(np.asarray(observations), dtype=torch.float32)


def _let_learn_only_collect(agent: Any) -> None:
    """Make ``learn`` collect only: until 1.1, gradient_steps=0 meant one update for each step."""
    learn = agent.learn

    def collect_without_update(*arguments: Any, **named: Any) -> Any:
        with mock.patch.object(agent, "train"):
            return learn(*arguments, **named)

    agent.learn = collect_without_update


class _UnnormalisedAdvantages(torch.Tensor):
    """Numbers that report mean 0 and deviation 1, so that normalising does not change them.

    What is computed from them is an ordinary tensor.
    """

    __torch_function__: Any = torch._C._disabled_torch_function_impl

    def mean(self, *_: Any, **__: Any) -> Any:
        return 0.0

    def std(self, *_: Any, **__: Any) -> Any:
        return 1.0


def _prevent_normalising_of_advantages(buffer: Any) -> None:
    """Make an update that always normalises advantages leave those of this buffer unchanged."""
    get = buffer.get

    def yield_unnormalised(*arguments: Any, **named: Any) -> Iterator[Any]:
        for minibatch in get(*arguments, **named):
            yield minibatch._replace(
                advantages=minibatch.advantages.as_subclass(_UnnormalisedAdvantages)
            )

    buffer.get = yield_unnormalised


def add_transition(buffer: Any, *transition: Any, info: Mapping[str, Any]) -> None:
    """Add a transition of one environment to a replay buffer; until 1.0 it took no infos."""
    infos = ([dict(info)],) if "infos" in list_parameters_of_function(type(buffer).add) else ()
    buffer.add(*transition, *infos)


def read_truncations(buffer: Any) -> np.ndarray:
    """Return for each row of a replay buffer whether it was truncated; all False until 1.0."""
    return getattr(buffer, "timeouts", np.zeros_like(buffer.dones)).astype(bool)


def read_train_frequency(agent: Any) -> Any:
    """Return the number in ``train_freq``: of steps, or of episodes if it counts these."""
    frequency = agent.train_freq
    if hasattr(frequency, "frequency"):
        return frequency.frequency
    return frequency if frequency > 0 else agent.n_episodes_rollout


def read_episode_starts_of_rollout(agent: Any) -> np.ndarray:
    """Return for each step of a rollout, and the one after it, whether it starts an episode."""
    buffer = agent.rollout_buffer
    stored = buffer.episode_starts if hasattr(buffer, "episode_starts") else buffer.dones
    current = hasattr(agent, "_last_episode_starts")
    following = agent._last_episode_starts if current else agent._last_dones
    return np.array([*stored, following], dtype=bool)
