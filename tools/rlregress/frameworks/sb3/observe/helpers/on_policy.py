"""The class that a probe of PPO tests: PPO, or one that learns from rollouts as PPO does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import torch
from stable_baselines3 import PPO

from rlregress.frameworks.sb3 import compat
from rlregress.frameworks.sb3.observe.drivers import constant_agents
from rlregress.probing.layers import make_output_constant
from rlregress.probing.scripted import Scripted


class OnPolicy:
    """A class of agents, as the probes of PPO need it.

    Attributes:
        algorithm: the class.
        once: arguments with which it goes through a rollout once.
        without: names of PPO's arguments that the class lacks.
        small: arguments of a policy whose size does not matter.
        linear: arguments of a policy whose value is linear in the observation.
    """

    algorithm: Any = PPO
    once: Mapping[str, Any] = {"n_epochs": 1}
    without: tuple[str, ...] = ()
    small: Mapping[str, Any] = {"net_arch": compat.convert_sizes_to_net_arch([16], [16])}
    linear: Mapping[str, Any] = {"net_arch": []}

    def make_environment(self, *bounds: Any, **script: Any) -> Any:
        """Return an environment that plays a script."""
        return Scripted(*bounds, **script)

    def make_agent(self, environment: Any, **arguments: Any) -> Any:
        """Make an agent as ``constant_agents.make_agent`` does, with small networks."""
        arguments["policy_kwargs"] = {**self.small, **arguments.get("policy_kwargs", {})}
        return self.make_default_agent(environment, **arguments)

    def make_default_agent(self, environment: Any, **arguments: Any) -> Any:
        """Make an agent as ``constant_agents.make_agent`` does."""
        options = {name: value for name, value in arguments.items() if name not in self.without}
        return constant_agents.make_agent(self.algorithm, environment, **options)

    def make_agent_of_one_epoch(self, environment: Any, **arguments: Any) -> Any:
        """Make an agent as ``make_agent`` does, with one epoch for each rollout by default."""
        return self.make_agent(environment, **{**self.once, **arguments})

    def compute_log_prob(
        self, agent: Any, observation: np.ndarray, action: np.ndarray
    ) -> torch.Tensor:
        """Return the log-probability of an action at the start of an episode."""
        _, log_prob, _ = agent.policy.evaluate_actions(
            torch.as_tensor(observation), torch.as_tensor(action)
        )
        return log_prob

    def make_further_step_arguments(self, agent: Any) -> dict[str, Any]:
        """Return the arguments of the rollout buffer's ``add`` that PPO's buffer lacks."""
        del agent
        return {}

    def compute_deviation(self, agent: Any, observation: float) -> float:
        law = agent.policy.get_distribution(torch.tensor([[observation]]))
        return law.distribution.stddev.item()

    def set_value_to_observation(self, agent: Any) -> None:
        """Make the value of an observation equal the observation, with a ``linear`` policy."""
        with torch.no_grad():
            agent.policy.value_net.weight.fill_(1.0)
            agent.policy.value_net.bias.zero_()

    def set_value_to_number(self, agent: Any, value: float) -> None:
        """Make the value of every observation this number."""
        make_output_constant(agent.policy.value_net, value)


OF_PPO = OnPolicy()


def make_probes_taking_learner(*families: Any) -> dict[str, Callable[..., np.ndarray]]:
    """Return detail -> probe of PPO in these modules, as a function of (learner, inputs)."""
    probes = [pair for family in families for pair in family.PROBES.items()]
    return {
        detail: probe.func
        for detail, probe in probes
        if isinstance(probe, partial) and OF_PPO in probe.args
    }


def make_probe_taking_learner(
    measure: Callable[..., np.ndarray], act: Callable[..., Any]
) -> Callable[..., np.ndarray]:
    """Return a probe of (learner, inputs) that calls ``measure`` with ``act`` of the learner."""
    return lambda kind, inputs: measure(partial(act, kind), inputs)
