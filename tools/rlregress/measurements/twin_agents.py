"""The driver of an agent of SAC, TD3 or DDPG, with one interface for all frameworks.

A framework has a driver class for each of its scopes. A measurement calls it with ``Settings`` and
then one of the methods here. Where a driver lacks a method, details that need it are not measured
in that scope.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from rlregress.measurements.loop_journal import Journal
from rlregress.measurements.named_settings import NamedSettings


@dataclass(frozen=True)
class Settings(NamedSettings):
    """Settings of an agent and its environment. None: the framework's default.

    Attributes:
        steps: that are requested of its own loop.
        environments: stepped side by side; one, where a framework can have no more.
        per_environment: steps are requested in each environment, not over all of them.
        collected_at_once: steps, where a framework collects batches of them.
        low, high: bounds of actions, a number or one for each dimension.
        observations: dimensions of an observation.
        reward, terminated, truncated: of every step, whatever the action.
        learns: False: no updates, or as few and as small ones as can be.
        updates: for each step: "one", by "default", or "fewer" or "more" by a setting for that.
        starts: steps with random actions, before learning.
        batch_size: transitions of a minibatch, and of a memory that an update is to read.
        rates: learning rates of the Q networks and of the policy; the latter where there is one.
        networks: Q networks.
        squared: the distance of the critic loss is the squared one, where there is a choice.
        log_prob: that the policy reports for every action that it samples.
        temperature: fixed, or the first one of a trained temperature.
        trained_temperature: it is trained.
        target_entropy: of a temperature that is trained.
        pre_tanh: what the last layer of the policy outputs in every state; its deviation is
            negligible, or its draws are its mean.
        weight: every weight of the last layer of the Q networks.
        noise: the number that exploration adds, in the units in which the framework takes its
            noise; 0.0 is none.
        deviation: the standard deviation of Gaussian exploration.
        smoothing, smoothing_bound: standard deviation and bound of the noise of target actions.
        smooths: such noise that is off by default is on, with a standard deviation of 0.2.
        delay: updates of the Q networks for each one of the policy.
        target_every: updates between two of the target networks.
        coefficient: of the update of target networks.
        tau: their fraction that moves, where there is no default.
        hidden, activation: of the networks, where they have no default.
        epsilon: of Adam, where it has no default in the package.
        seed: of the generators.
    """

    steps: int = 1
    environments: int = 1
    per_environment: bool = False
    collected_at_once: int = 1
    low: Any = -1.0
    high: Any = 1.0
    observations: int = 1
    reward: float = 1.0
    terminated: float = 0.0
    truncated: float = 0.0
    learns: bool = True
    updates: str = "one"
    starts: int | None = None
    batch_size: int = 8
    discount: float | None = None
    rates: tuple[float, float] | None = None
    networks: int = 2
    squared: bool = False
    log_prob: float | None = None
    temperature: float | None = None
    trained_temperature: bool = False
    target_entropy: float | None = None
    pre_tanh: float | None = None
    weight: float | None = None
    noise: float | None = None
    deviation: float | None = None
    smoothing: float | None = None
    smoothing_bound: float | None = None
    smooths: bool = False
    delay: int | None = None
    target_every: int | None = None
    coefficient: float | None = None
    tau: float = 0.005
    hidden: tuple[int, int] = (256, 256)
    activation: str = "relu"
    epsilon: float = 1e-8
    seed: int = 0


class TwinDriver(Protocol):
    """An agent with Q networks, their targets, and a policy that a tanh brings within bounds.

    An update reads ``batch_size`` equal transitions that the framework itself has stored. Numbers
    that are given for Q networks are their outputs where the update has to evaluate them; elsewhere
    they may output others. An agent with one Q network takes the first of two numbers.

    Attributes:
        shares_rate: there is one learning rate for all parts.
    """

    shares_rate: bool

    def compute_critic_loss(self, q_values: Sequence[float]) -> float:
        """Return the loss of the Q networks, which output ``q_values``, as it is differentiated."""

    def compute_actor_loss(self, q_values: Sequence[float], target_q: float = 0.0) -> float:
        """Return the differentiated loss of the policy; the Q networks output ``q_values``.

        Their target networks output ``target_q`` everywhere.
        """

    def compute_target(self, q_values: Sequence[float]) -> float:
        """Return the target of the Q networks, whose target networks output ``q_values``."""

    def compute_first_target_and_actor_loss(self, target_value: float) -> tuple[float, float]:
        """Run the first update of the policy; return the Q networks' target and the policy's loss.

        The Q networks are 0 everywhere, and their targets ``target_value``.
        """

    def compute_temperature_loss_and_gradient(self) -> tuple[float, float]:
        """Return the loss of log alpha, or of alpha, and its derivative by log alpha."""

    def read_temperature(self) -> float:
        """Return the temperature before any update."""

    def read_target_entropy(self) -> float:
        """Return the target entropy."""

    def compute_log_deviation(self, outputs: Sequence[float]) -> np.ndarray:
        """Return the policy's log standard deviation for each of these outputs of its layer."""

    def compute_log_prob(self, draw: Sequence[float]) -> float:
        """Return the log-probability of the action of a standard normal policy with this draw."""

    def compute_smoothed_actions(
        self, squashed: float, samples: int, draw_per_sample: bool
    ) -> np.ndarray:
        """Return the noisy next actions of an update, in environment units, [samples, dimensions].

        The target policy's action is ``squashed``, between -1 and 1 for the bounds.

        Args:
            draw_per_sample: whether each sample gets its own draw even if the framework draws once
                for a batch.
        """

    def update_and_read_targets(
        self, source: Sequence[float], target: Sequence[float]
    ) -> np.ndarray:
        """Return a parameter of each target after one update.

        Before it, all parameters of network i are ``source[i]``, those of its target ``target[i]``:
        Q networks and, if there are three numbers, the policy. A target policy that there is not
        has the parameter -1.
        """

    def count_q_networks_and_targets(self) -> tuple[int, int]:
        """Return how many Q networks are trained by default, and how many target Q networks."""

    def run_loop(self) -> Journal:
        """Run the framework's own loop and return its events."""

    def describe_architecture(self) -> np.ndarray:
        """Return the networks as numbers; see ``probing.layers.describe_networks_as_numbers``."""

    def measure_initialisation(self) -> np.ndarray:
        """Return ``probing.layers.measure_initialisation`` of a Q network's first layer."""

    def read_log10_adam_eps(self) -> Sequence[float]:
        """Return the logarithm to base 10 of Adam's epsilon, for critic, actor and temperature."""


MakeTwinDriver = Callable[[Settings], TwinDriver]
