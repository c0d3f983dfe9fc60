"""Single updates of agents of SAC, TD3 and DDPG, whose networks have known outputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from torch import nn

from rlregress.probing.driven import fill_parameters
from rlregress.probing.journal import StepJournal
from rlregress.probing.layers import make_output_constant, make_output_constant_for_input
from rlregress.probing.watched_updates import TORCH_DISTANCES, run_and_find_target

#: observation, action and next observation of every transition that an update reads
NOW, ACTION, THEN = 0.5, 0.25, -0.5


class UpdateDriver:
    """The part of a ``TwinDriver`` that measures single updates.

    A driver says how an update is run, where the networks are and how they are evaluated. What it
    calls an agent is up to itself.

    Attributes:
        distances: the functions that compare Q values with targets.
    """

    distances = TORCH_DISTANCES

    def run_update(self, prepare: Callable[[Any], Any], part: str) -> StepJournal:
        """Run one update of a new agent on equal rows, ``prepare(agent)`` before it.

        Args:
            part: the update may end with the first step of this part.
        """
        raise NotImplementedError

    def list_q_networks(self, agent: Any, are_targets: bool = False) -> Sequence[nn.Module]:
        """Return the Q networks of an agent, or their target networks."""
        raise NotImplementedError

    def list_target_parameters(self, agent: Any) -> list[torch.Tensor]:
        networks = self.list_q_networks(agent, are_targets=True)
        return [parameter for network in networks for parameter in network.parameters()]

    def evaluate(self, network: Any, observation: float, action: float) -> torch.Tensor:
        """Return the output of a Q network, [1, 1]."""
        raise NotImplementedError

    def act(self, agent: Any, observation: float, by_target: bool = False) -> float:
        """Return the action of the policy, or of its target, that an update evaluates."""
        raise NotImplementedError

    def fix_q_values(
        self, agent: Any, q_values: Sequence[float], action: float, are_targets: bool = False
    ) -> None:
        """Make Q network i output q_values[i] for the input at which an update evaluates it.

        For other inputs it outputs other numbers. A target network is evaluated at the next
        observation.
        """
        observation = THEN if are_targets else NOW
        networks = self.list_q_networks(agent, are_targets)
        for network, number in zip(networks, q_values, strict=False):
            call = partial(self.evaluate, network, observation, action)
            make_output_constant_for_input(network, call, number)

    def compute_critic_loss(self, q_values: Sequence[float]) -> float:
        def prepare_agent(agent: Any) -> None:
            self.fix_q_values(agent, q_values, ACTION)

        return self.run_update(prepare_agent, "critic").get_only_loss("critic")

    def compute_actor_loss(self, q_values: Sequence[float], target_q: float = 0.0) -> float:
        def prepare_agent(agent: Any) -> None:
            for network in self.list_q_networks(agent, are_targets=True):
                make_output_constant(network, target_q)
            self.fix_q_values(agent, q_values, self.act(agent, NOW))

        return self.run_update(prepare_agent, "actor").get_only_loss("actor")

    def compute_target(self, q_values: Sequence[float]) -> float:
        def prepare_agent(agent: Any) -> None:
            action = self.act(agent, THEN, by_target=True)
            self.fix_q_values(agent, q_values, action, are_targets=True)

        update = partial(self.run_update, prepare_agent, "critic")
        return run_and_find_target(update, self.distances)

    def compute_first_target_and_actor_loss(self, target_value: float) -> tuple[float, float]:
        def prepare_agent(agent: Any) -> None:
            for network in self.list_q_networks(agent):
                fill_parameters(network.parameters(), 0.0)
            for network in self.list_q_networks(agent, are_targets=True):
                make_output_constant(network, target_value)

        journals: list[StepJournal] = []
        target = run_and_find_target(
            lambda: journals.append(self.run_update(prepare_agent, "actor")), self.distances
        )
        return target, journals[0].get_only_loss("actor")
