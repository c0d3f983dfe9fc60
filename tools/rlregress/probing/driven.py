"""Environments and networks that the drivers of all adapters share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import nn

from rlregress.measurements.driven_agents import Look, Settings, do_nothing
from rlregress.probing.journal import StepJournal, find_critic
from rlregress.probing.layers import make_output_constant
from rlregress.probing.scripted import Scripted


class ScriptedEnvs:
    """Environments that play the settings of an agent, and the journal of a training in them.

    Args:
        settings: of the agent that is to act here.
        script: further arguments of ``Scripted``.

    Attributes:
        environments: those that were made, in their order.
        journal: of their actions, and of the steps of the critic's optimiser.
    """

    def __init__(self, settings: Settings, **script: Any) -> None:
        self._script = {
            "rewards": settings.reward,
            "terminated": settings.terminated,
            "truncated": settings.truncated,
            **script,
        }
        self.environments: list[Scripted] = []
        self.journal = StepJournal()
        self._look: Look = do_nothing

    def make_environment(self) -> Scripted:
        environment: Any = Scripted(**self._script)
        if not self.environments:
            step = environment.step

            def look_and_step(action: Any) -> Any:
                self._look(self.journal.steps)
                return step(action)

            environment.step = look_and_step
        self.environments.append(environment)
        self.journal.actions.append(environment.received)
        return environment

    def record_training(
        self,
        train: Callable[[], Any],
        on_start: Look = do_nothing,
        on_step: Look = do_nothing,
    ) -> StepJournal:
        """Run ``train`` and return its journal; see ``DiscreteAgent.run_loop`` for the others."""
        on_start(0)
        self._look = on_step
        with self.journal.record_optimizer_steps(find_critic):
            train()
        on_step(self.journal.steps)
        return self.journal


class NetworkPair:
    """The networks of an agent of discrete actions, set and read as by ``DiscreteAgent``."""

    def list_networks(self) -> Sequence[nn.Module]:
        """Return the Q network and the target network."""
        raise NotImplementedError

    def set_values(self, online: Sequence[float], target: Sequence[float]) -> None:
        for network, values in zip(self.list_networks(), (online, target), strict=False):
            make_output_constant(network, values)

    def fill_parameters(self, online: float, target: float) -> None:
        for network, number in zip(self.list_networks(), (online, target), strict=False):
            fill_parameters(network.parameters(), number)

    def read_target_parameter(self) -> float:
        _, target = self.list_networks()
        return float(next(target.parameters()).detach().flatten()[0])


def fix_log_prob_of_samples(policy: Any, method: str, log_prob: float) -> None:
    """Make a policy's method return the action 0 and ``log_prob``, both with gradients of 0.

    Args:
        method: returns actions, log-probabilities and whatever else.
    """
    sample = getattr(policy, method)

    def return_fixed_log_prob(*arguments: Any) -> Any:
        actions, log_probs, *further = sample(*arguments)
        return (0.0 * actions, 0.0 * log_probs + log_prob, *further)

    setattr(policy, method, return_fixed_log_prob)


def fill_networks_and_targets(
    pairs: Sequence[tuple[Any, Any]], source: Sequence[float], target: Sequence[float]
) -> None:
    """Fill network i with the number source[i], and its target network with target[i]."""
    for networks, *numbers in zip(pairs, source, target, strict=False):
        for network, number in zip(networks, numbers, strict=False):
            fill_parameters(network.parameters(), number)


def read_parameter_of_each_target(pairs: Sequence[tuple[Any, Any]]) -> np.ndarray:
    """Return for each pair (network, target) the number that fills the target network.

    Raises:
        RuntimeError: the parameters of one target differ.
    """
    targets = [
        torch.cat([p.detach().flatten() for p in target.parameters()]) for _, target in pairs
    ]
    if any(bool((parameters != parameters[0]).any()) for parameters in targets):
        raise RuntimeError(
            "parameters of one target network have different values, expected one value for all"
        )
    return np.array([float(parameters[0]) for parameters in targets])


def fill_parameters(parameters: Any, number: float) -> None:
    """Set parameters to a number."""
    with torch.no_grad():
        for parameter in parameters:
            parameter.fill_(float(number))
