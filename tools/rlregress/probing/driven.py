"""Environments that the drivers of all adapters share, and a record of their steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

from rlregress.measurements import twin_agents
from rlregress.measurements.driven_agents import Look, LoopRecord, Settings, do_nothing
from rlregress.probing.layers import compute_gradient_norm
from rlregress.probing.recorded_update import record_differentiated_losses
from rlregress.probing.scripted import Scripted


class ScriptedEnvs:
    """Environments that play the settings of an agent and record its actions and updates.

    Args:
        settings: of the agent that is to act here.
        script: further arguments of ``Scripted``.

    Attributes:
        environments: those that were made, in their order.
        begin: called at the first reset of the first environment.
        between: called with the steps taken, ahead of every step of the first environment.
    """

    def __init__(self, settings: Settings | twin_agents.Settings, **script: Any) -> None:
        self._script = {
            "rewards": settings.reward,
            "terminated": settings.terminated,
            "truncated": settings.truncated,
            **script,
        }
        self.environments: list[Scripted] = []
        self.begin: Callable[[int], Any] | None = None
        self.between: Callable[[int], Any] = lambda steps: None
        self._updates: list[tuple[int, float]] = []

    def make_environment(self) -> Scripted:
        self.environments.append(_RecordedEnv(self, not self.environments, self._script))
        return self.environments[-1]

    @property
    def steps(self) -> int:
        """The steps taken, over all environments."""
        return sum(len(environment.received) for environment in self.environments)

    @contextmanager
    def record_gradient_norms(self) -> Iterator[None]:
        """Record the gradient norm of each optimizer step, and the environment steps before it."""

        def append_gradient_norm(optimizer: Any) -> None:
            self._updates.append((self.steps, compute_gradient_norm(optimizer)))

        with record_differentiated_losses(append_gradient_norm):
            yield

    def record_training(
        self,
        train: Callable[[], Any],
        on_start: Look = do_nothing,
        on_step: Look = do_nothing,
    ) -> LoopRecord:
        """Run ``train`` and return its record; see ``DiscreteAgent.run_loop`` for the others."""
        on_start(0)
        self.between = on_step
        with self.record_gradient_norms():
            train()
        on_step(self.steps)
        return self.make_record()

    def make_record(self) -> LoopRecord:
        actions = [[float(a.item()) for a in env.received] for env in self.environments]
        return LoopRecord(actions, list(self._updates))


class _RecordedEnv(Scripted):
    """An environment that, if it is the first, calls ``begin`` and ``between`` of ``envs``."""

    def __init__(self, envs: ScriptedEnvs, is_first: bool, script: Any) -> None:
        super().__init__(**script)
        self._envs, self._first = envs, is_first

    def reset(self, **options: Any) -> Any:
        envs = self._envs
        if self._first and envs.begin is not None:
            begin, envs.begin = envs.begin, None
            begin(envs.steps)
        return super().reset(**options)

    def step(self, action: Any) -> Any:
        if self._first:
            self._envs.between(self._envs.steps)
        return super().step(action)


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
