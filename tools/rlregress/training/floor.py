"""The floor of a training: the work that every implementation of the algorithm must do.

Bare stepping of the environment, and forward passes, backward passes and Adam of the same networks
at the same batch sizes, in plain torch. Knows no framework, and is no implementation either: the
batches are noise, and nothing is learned. Work that an implementation may do in several ways is not
part of it: storing and sampling transitions, normalisation, advantages, log-probabilities, the
temperature, clipping of gradients, logs.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import nn


def _build_network(sizes: Sequence[int], activation: type[nn.Module]) -> nn.Sequential:
    layers: list[nn.Module] = []
    for inputs, outputs in zip(sizes[:-1], sizes[1:], strict=True):
        layers += [nn.Linear(inputs, outputs), activation()]
    return nn.Sequential(*layers[:-1])


def take_adam_step(
    loss: torch.Tensor, parameters: Iterable[nn.Parameter], adam: torch.optim.Adam
) -> None:
    """Take one step of Adam with the gradients of these parameters alone."""
    trained = list(parameters)
    for parameter, gradient in zip(trained, torch.autograd.grad(loss, trained), strict=True):
        parameter.grad = gradient
    adam.step()


class _ActorCritic:
    """PPO's networks: one for the mean action, one for the value, one Adam for both."""

    def __init__(self, observations: int, actions: int, hyperparameters: Mapping[str, Any]) -> None:
        hidden, batch = hyperparameters["hidden_sizes"], hyperparameters["minibatch_size"]
        self.actor = _build_network([observations, *hidden, actions], nn.Tanh)
        self._critic = _build_network([observations, *hidden, 1], nn.Tanh)
        self._parameters = [*self.actor.parameters(), *self._critic.parameters()]
        self._adam = torch.optim.Adam(self._parameters)
        self._observations = torch.randn(batch, observations)

    def update_networks(self) -> None:
        """Run both networks forward and backward on one minibatch and step Adam."""
        loss = (
            self.actor(self._observations).square().mean()
            + self._critic(self._observations).square().mean()
        )
        take_adam_step(loss, self._parameters, self._adam)


class _TwinCritics:
    """An actor, two action-value networks and the target networks of SAC or TD3."""

    def __init__(
        self,
        observations: int,
        actions: int,
        hyperparameters: Mapping[str, Any],
        deterministic: bool,
    ) -> None:
        hidden, batch = hyperparameters["hidden_sizes"], hyperparameters["minibatch_size"]
        self._actions = actions
        # a standard deviation for each mean, where the policy is stochastic
        outputs = actions if deterministic else 2 * actions
        self.actor = _build_network([observations, *hidden, outputs], nn.ReLU)
        self._critics = nn.ModuleList(
            _build_network([observations + actions, *hidden, 1], nn.ReLU) for _ in range(2)
        )
        self._targets = copy.deepcopy(self._critics)
        # a stochastic policy chooses the next action with the present actor
        self._next_actor = copy.deepcopy(self.actor) if deterministic else self.actor
        self._actor_adam = torch.optim.Adam(self.actor.parameters())
        self._critic_adam = torch.optim.Adam(self._critics.parameters())
        # a deterministic policy is improved by the first critic, a stochastic one by the smaller
        self._judging_critics = list(self._critics)[: 1 if deterministic else 2]
        self._delay = hyperparameters["policy_delay"] if deterministic else 1
        self._polyak = hyperparameters["polyak_coefficient"]
        self._observations, self._next_observations = torch.randn(2, batch, observations)
        self._taken_actions = torch.rand(batch, actions) * 2 - 1
        targets, sources = [*self._targets.parameters()], [*self._critics.parameters()]
        if deterministic:
            targets += self._next_actor.parameters()
            sources += self.actor.parameters()
        self._target_tensors: list[torch.Tensor] = [*targets]
        self._source_tensors: list[torch.Tensor] = [*sources]
        self._updates = 0

    def _choose_action(self, actor: nn.Module, observations: torch.Tensor) -> torch.Tensor:
        return torch.tanh(actor(observations)[:, : self._actions])

    @staticmethod
    def _estimate_values(
        networks: Iterable[nn.Module], observations: torch.Tensor, actions: torch.Tensor
    ) -> torch.Tensor:
        inputs = torch.cat([observations, actions], 1)
        return torch.stack([network(inputs) for network in networks])

    def update_networks(self) -> None:
        """Update the critics, the actor where it is due, and the targets."""
        # targets carry no gradient, as in every implementation
        with torch.no_grad():
            action = self._choose_action(self._next_actor, self._next_observations)
            target = self._estimate_values(self._targets, self._next_observations, action).amin(0)
        values = self._estimate_values(self._critics, self._observations, self._taken_actions)
        loss = (values - target).square().mean()
        take_adam_step(loss, self._critics.parameters(), self._critic_adam)
        self._updates += 1
        if self._updates % self._delay == 0:
            action = self._choose_action(self.actor, self._observations)
            loss = (
                -self._estimate_values(self._judging_critics, self._observations, action)
                .amin(0)
                .mean()
            )
            take_adam_step(loss, self.actor.parameters(), self._actor_adam)
        with torch.no_grad():
            torch._foreach_lerp_(self._target_tensors, self._source_tensors, self._polyak)


class FloorWorkload:
    """The work that an algorithm cannot avoid, in blocks: environment steps, network updates.

    Built before a training, which seeds itself. Its work draws from no global random generator, so
    an interrupted training continues unchanged.

    Args:
        algorithm: "ppo", "sac" or "td3".
        make_env: makes a gymnasium environment with flat observations and actions.
        hyperparameters: in the names of ``baselines/hyperparameters``; used are ``hidden_sizes``,
            ``minibatch_size``, ``polyak_coefficient`` and ``policy_delay``.
    """

    def __init__(
        self, algorithm: str, make_env: Callable[[], Any], hyperparameters: Mapping[str, Any]
    ) -> None:
        self._environment = make_env()
        observations = self._environment.observation_space.shape[0]
        space = self._environment.action_space
        actions = space.shape[0]
        self._actions = np.random.default_rng(0).uniform(
            space.low, space.high, (1000, actions)
        ).astype(space.dtype)  # fmt: skip
        self._networks = (
            _ActorCritic(observations, actions, hyperparameters)
            if algorithm == "ppo"
            else _TwinCritics(observations, actions, hyperparameters, algorithm == "td3")
        )
        self._observation, _ = self._environment.reset(seed=0)

    def step_and_update(self, steps: int, updates: int) -> None:
        """Step the environment, then update the networks.

        Args:
            steps: environment steps, with random actions, each after one forward pass of the policy
                network.
            updates: gradient steps, each with one minibatch.
        """
        for number in range(steps):
            with torch.no_grad():
                self._networks.actor(torch.as_tensor(self._observation, dtype=torch.float32)[None])
            action = self._actions[number % len(self._actions)]
            self._observation, _, terminated, truncated, _ = self._environment.step(action)
            if terminated or truncated:
                self._observation, _ = self._environment.reset()
        for _ in range(updates):
            self._networks.update_networks()

    def close_environment(self) -> None:
        self._environment.close()
