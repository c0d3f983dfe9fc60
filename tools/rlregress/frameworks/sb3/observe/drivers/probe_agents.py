"""Agents that probes make, with networks whose outputs a probe fixes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from stable_baselines3.common.evaluation import evaluate_policy

from rlregress.frameworks.sb3 import compat, gyms
from rlregress.probing.isolation import shift_seed
from rlregress.probing.layers import make_output_constant
from rlregress.probing.single_updates import ACTION, NOW, THEN

#: no warning that the environment has no ``Monitor``
_QUIET = compat.select_known_arguments(evaluate_policy, warn=False)
#: learning rate of updates that must move nothing
FROZEN = 0.0


def make_agent(algorithm_class: Any, environment: Any, **arguments: Any) -> Any:
    """Return an agent of the class with its defaults, the probe's seed and no log."""
    arguments.setdefault("seed", shift_seed(0))
    options = compat.convert_arguments_of_algorithm(algorithm_class, **arguments)
    native = gyms.convert_environment(environment)
    agent = algorithm_class(
        compat.name_policy_of_dense_layers(algorithm_class, native), native, device="cpu", **options
    )
    return compat.adapt_agent_to_current_names(agent, arguments)


def make_small_off_policy_agent(algorithm_class: Any, environment: Any, **arguments: Any) -> Any:
    """Make an agent as ``make_agent`` does, but small, and with one update for each step."""
    policy: dict[str, Any] = {"net_arch": [16]}
    policy.update(arguments.pop("policy_kwargs", {}))
    arguments.setdefault("buffer_size", 64)
    # The default of older versions is one collection an episode, and not every script ends one.
    arguments.setdefault("train_freq", 1)
    arguments.setdefault("gradient_steps", 1)
    return make_agent(algorithm_class, environment, policy_kwargs=policy, **arguments)


def evaluate_agent(agent: Any, environment: Any, episodes: int) -> None:
    """Play episodes as the framework's own evaluation does by default."""
    evaluate_policy(
        agent, gyms.convert_environment(environment), n_eval_episodes=episodes, **_QUIET
    )


def list_optimizers(agent: Any) -> dict[str, torch.optim.Optimizer]:
    """Return the optimisers of an off-policy agent: critic, actor, and any temperature's."""
    by_role = {"critic": agent.critic.optimizer, "actor": agent.actor.optimizer}
    if getattr(agent, "ent_coef_optimizer", None) is not None:
        by_role["temperature"] = agent.ent_coef_optimizer
    return by_role


def find_target_critics(agent: Any) -> Any:
    """Return the target networks of the critics; the critics where there are none."""
    return getattr(agent, "critic_target", agent.critic)


def make_critics_constant(critic: Any, numbers: Iterable[float]) -> None:
    """Make Q network i of a critic output numbers[i] for every input."""
    numbers = list(numbers)
    if len(numbers) != len(critic.q_networks):
        raise ValueError(f"{len(critic.q_networks)} Q networks, but {len(numbers)} numbers")
    for network, number in zip(critic.q_networks, numbers, strict=False):
        make_output_constant(network, number)


def add_equal_transitions(agent: Any, count: int, reward: float = 1.0, done: bool = False) -> None:
    """Add ``count`` equal transitions to the replay buffer; see ``single_updates``."""
    buffer = agent.replay_buffer
    shape = (1, *agent.observation_space.shape)
    observation, following = (np.full(shape, n, dtype=np.float32) for n in (NOW, THEN))
    # choices are numbered
    number = 0.0 if hasattr(agent.action_space, "n") else ACTION
    action = np.full((1, *agent.action_space.shape), number, dtype=np.float32)
    for _ in range(count):
        compat.add_transition(
            buffer, observation, following, action, np.array([reward]), np.array([done]), info={}
        )
