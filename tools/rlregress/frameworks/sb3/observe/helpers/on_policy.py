"""The class that a probe of PPO tests: PPO, or one that learns from rollouts as PPO does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import torch
from stable_baselines3 import PPO

from rlregress.frameworks.sb3 import compat
from rlregress.frameworks.sb3.observe.drivers import probe_agents
from rlregress.probing.interface import Inputs, Probe
from rlregress.probing.layers import make_output_constant
from rlregress.probing.scripted import Scripted


class ProbedPPO:
    """An algorithm that probes of PPO test: makes its agents, sets and reads their policies.

    Attributes:
        algorithm_class: the class of its agents.
        epochs: its name for the number of passes over a rollout.
        without: names of PPO's arguments that the class lacks.
        small: arguments of a policy whose size does not matter.
        linear: arguments of a policy whose value is linear in the observation.
    """

    algorithm_class: Any = PPO
    epochs: str = "n_epochs"
    without: tuple[str, ...] = ()
    small: Mapping[str, Any] = {
        "net_arch": compat.convert_networks_to_net_arch({"pi": [16], "vf": [16]})
    }
    linear: Mapping[str, Any] = {"net_arch": []}

    def make_environment(self, **script: Any) -> Any:
        """Return an environment that plays a script."""
        return Scripted(**script)

    def make_agent(self, environment: Any, **arguments: Any) -> Any:
        """Make an agent as ``probe_agents.make_agent`` does, with small networks."""
        arguments["policy_kwargs"] = {**self.small, **arguments.get("policy_kwargs", {})}
        return self.make_default_agent(environment, **arguments)

    def make_default_agent(self, environment: Any, **arguments: Any) -> Any:
        """Make an agent as ``probe_agents.make_agent`` does."""
        options = {
            self.epochs if name == "n_epochs" else name: value
            for name, value in arguments.items()
            if name not in self.without
        }
        return probe_agents.make_agent(self.algorithm_class, environment, **options)

    def compute_deviation(self, agent: Any, observation: float) -> float:
        """Return the standard deviation of the action."""
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


PROBED_PPO = ProbedPPO()
AlgorithmProbe = Callable[[ProbedPPO, Inputs], np.ndarray]


def bind_probes_to_ppo(probes: Mapping[str, AlgorithmProbe]) -> dict[str, Probe]:
    """Return detail -> probe of PPO itself."""
    return {detail: partial(probe, PROBED_PPO) for detail, probe in probes.items()}


def make_algorithm_probe(
    measure: Callable[..., np.ndarray], run: Callable[..., Any]
) -> AlgorithmProbe:
    """Return a probe that passes ``measure`` the function ``run`` with its algorithm bound."""
    return lambda algorithm, inputs: measure(partial(run, algorithm), inputs)
