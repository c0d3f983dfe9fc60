"""Interfaces of drivers: agents that measurements control, the same for every framework.

A framework has a driver class for each of its scopes. Called with ``Settings``, it makes an agent
of the framework's own code, with the methods of a protocol here. A measurement calls only these.
Where a driver lacks a method, its scope has no probes of the details that need the method.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from rlregress.measurements.loop_journal import Journal
from rlregress.measurements.named_settings import NamedSettings


@dataclass(frozen=True)
class Settings(NamedSettings):
    """Settings of an agent. None: the framework's default.

    Learning rates are 0, so that an update leaves the networks as the measurement has set them.

    Attributes:
        environments: how many are stepped side by side; one, where a framework can have no more.
        steps: of a run, over all environments.
        actions: number of discrete actions.
        reward, terminated, truncated: of every step that is taken, whatever the action.
        discount: gamma.
        batch_size: transitions of a minibatch.
        starts: environment steps before learning.
        every: how often there is an update, as the framework counts it; one update each time.
        target_every: how often the target network is updated, as the framework counts it.
        epsilon: probability of a random action at first, in the end, and the number of environment
            steps from the one to the other.
        draw: the value of every uniform draw that decides whether an action is random.
        quantiles: how many stand for one value, where values are distributions.
        networks: how many Q networks there are, where there can be several.
    """

    environments: int = 1
    steps: int = 1
    actions: int = 3
    reward: float = 0.0
    terminated: float = 0.0
    truncated: float = 0.0
    discount: float = 0.99
    batch_size: int = 2
    starts: int = 0
    every: int = 1
    target_every: int | None = None
    epsilon: tuple[float, float, int] = (0.0, 0.0, 1)
    draw: float | None = None
    quantiles: int | None = None
    networks: int | None = None


#: callback with the environment steps taken so far, over all environments
Look = Callable[[int], None]


def do_nothing(steps: int) -> None:
    """Do nothing."""


class DiscreteAgent(Protocol):
    """An agent of discrete actions with a Q network and a target network."""

    def set_values(self, online: Sequence[float], target: Sequence[float]) -> None:
        """Make Q network and target network output online[a] and target[a] in every state."""

    def fill_parameters(self, online: float, target: float) -> None:
        """Fill the Q network's parameters with ``online``, the target network's with ``target``."""

    def read_target_parameter(self) -> float:
        """Return one parameter of the target network."""

    def compute_loss(self, online: Sequence[float], target: Sequence[float]) -> float:
        """Return the loss that one update differentiates, where Q(s, a) is online[a] or target[a].

        All transitions of its minibatch have action 0, and reward and ends of the settings.
        """

    def run_loop(self, on_start: Look = do_nothing, on_step: Look = do_nothing) -> Journal:
        """Run the framework's own loop for ``steps`` environment steps; return its events.

        All steps of optimisers are those of the part "critic".
        ``on_start`` is called once the networks are made, before the first action; ``on_step``
        before every step of the first environment, and after the last one.
        """

    def choose_action(self, q_values: Sequence[float], deterministic: bool) -> int | None:
        """Return an action as a training chooses it, or a greedy one if ``deterministic``.

        Epsilon has its last value. The Q network outputs ``q_values`` in every state. None: the
        framework cannot choose actions in that way.
        """


MakeDiscreteAgent = Callable[[Settings], DiscreteAgent]


class QuantileCritic(Protocol):
    """Q networks that output a distribution, as quantiles of equal weight.

    One that chooses among discrete actions is a ``DiscreteAgent`` as well, whose values are then
    tables [quantiles, actions] or, where all quantiles are equal, rows [actions].
    """

    def compute_quantile_loss(self, quantiles: Sequence[float]) -> float:
        """Return the loss of the Q networks that one update differentiates.

        Every Q network outputs these quantiles. The transitions of its minibatch have reward and
        ends of the settings, and no entropy enters their target.
        """


MakeQuantileCritic = Callable[[Settings], QuantileCritic]
