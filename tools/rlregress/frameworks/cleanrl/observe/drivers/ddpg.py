"""``ddpg_continuous_action.py``, driven: the script, with its environment and arguments given."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from typing import Any

import numpy as np
import torch

from rlregress.frameworks.cleanrl.observe.drivers import measured_by
from rlregress.frameworks.cleanrl.observe.drivers.parts import find_part, list_q_networks
from rlregress.frameworks.cleanrl.running import run_script
from rlregress.frameworks.cleanrl.script_sources import Source
from rlregress.frameworks.cleanrl.stubs import replaced
from rlregress.measurements.driven_agents import Look, LoopRecord, Settings, nothing
from rlregress.probing.driven import ScriptedEnvs, fill_parameters
from rlregress.probing.layers import make_constant
from rlregress.probing.recorded_update import watch_updates

_SCRIPT = "ddpg_continuous_action"


class Driver:
    """A script that runs again for each request (see ``driven_agents.ContinuousAgent``)."""

    def __init__(self, source: Source, settings: Settings) -> None:
        self._source, self._settings = source, settings
        self._policies: tuple[float, float] | None = None
        self._runs = False

    def _names(self) -> Mapping[str, Any]:
        # while it runs, the script is the main module
        return vars(sys.modules["__main__"])

    def _part(self, name: str) -> Any:
        return find_part(self._names(), "network or optimiser", name)

    def set_values(self, online: float, target: float) -> None:
        for name, number in (("qf1", online), ("qf1_target", target)):
            make_constant(self._part(name), [number])

    def set_policy(self, online: float, target: float) -> None:
        """Set the last layers; where there are no networks yet, as soon as they are made."""
        self._policies = (online, target)
        if self._runs:
            self._give_policies()

    def _give_policies(self) -> None:
        if self._policies is not None:
            for name, number in zip(("actor", "target_actor"), self._policies, strict=False):
                make_constant(self._part(name), [number])

    def fill(self, online: float, target: float) -> None:
        for name in ("qf1", "actor"):
            fill_parameters(self._part(name).parameters(), online)
        for name in ("qf1_target", "target_actor"):
            fill_parameters(self._part(name).parameters(), target)

    def target_parameters(self) -> tuple[float, float | None]:
        networks = (self._part("qf1_target"), self._part("target_actor"))
        values, policy = (float(next(n.parameters()).detach().flatten()[0]) for n in networks)
        return values, policy

    def networks(self) -> tuple[int, int]:
        """Count the networks that the optimiser of the values holds, and others of their kind."""
        counts: list[tuple[int, int]] = []

        def count(_: int) -> None:
            trained = list_q_networks(self._names())
            kinds = {type(network) for network in trained}
            all_of_them = [n for n in self._names().values() if type(n) in kinds]
            counts.append((len(trained), len(all_of_them) - len(trained)))

        self._play(self._envs(), count, total_timesteps=1)
        return counts[0]

    def losses(self, online: float, target: float) -> tuple[float, float]:
        """Return the loss of the last update, when the memory holds one minibatch."""
        with watch_updates() as losses:
            self._update(lambda: self.set_values(online, target))
        values, policy = losses[-2:]
        return values, policy

    def target_actions(self) -> np.ndarray:
        """Return the actions that the target Q network receives in the last update."""
        recorded: list[np.ndarray] = []

        def watch() -> None:
            self._part("qf1_target").register_forward_pre_hook(
                lambda _, given: recorded.append(given[1].detach().double().numpy().flatten())
            )

        self._update(watch)
        return np.concatenate(recorded)

    def _update(self, before: Callable[[], None]) -> None:
        """Run until an update of values and policy; ``before`` is called ahead of it."""
        size = self._settings.batch_size
        envs = self._envs()
        envs.between = lambda steps: before() if steps == size - 1 else None
        self._play(envs, total_timesteps=size, learning_starts=size - 2, policy_frequency=1)

    def run(self, begin: Look = nothing, between: Look = nothing) -> LoopRecord:
        envs = self._envs()
        envs.between = between
        with envs.note_gradients(self._role):
            self._play(envs, begin)
        return envs.run()

    def _role(self, optimizer: Any) -> str:
        return "values" if optimizer is self._part("q_optimizer") else "policy"

    def _envs(self) -> ScriptedEnvs:
        return ScriptedEnvs(self._settings, low=self._settings.low, high=self._settings.high)

    def _play(self, envs: ScriptedEnvs, begin: Look = nothing, **arguments: Any) -> None:
        settings = self._settings

        def after_step(steps: int) -> None:
            self._runs = True
            self._give_policies()
            begin(steps)

        envs.begin = after_step
        noise = {} if settings.noise is None else {"exploration_noise": settings.noise}
        overrides = {
            "total_timesteps": settings.steps,
            "buffer_size": 256,
            "batch_size": settings.batch_size,
            "gamma": settings.discount,
            "learning_rate": 0.0,
            "learning_starts": settings.starts,
            **noise,
            **arguments,
        }
        try:
            with _one_deviation() if noise else nullcontext():
                run_script(self._source.script(_SCRIPT).path, overrides, make_env=envs.environment)
        finally:
            self._runs = False


def _one_deviation() -> Any:
    """Make every normal number one standard deviation above its mean."""
    return replaced(torch, "normal", lambda mean, std: mean + std)


measured = measured_by(Driver)
