"""Driver of ``dqn.py``: runs the script as it is, with other environments and arguments."""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any
from unittest import mock

import gymnasium

from rlregress.frameworks.cleanrl.observe.drivers.parts import DrivenScript
from rlregress.frameworks.cleanrl.running import ScriptRun, run_script
from rlregress.measurements.driven_agents import Look, LoopRecord, do_nothing
from rlregress.probing.driven import ScriptedEnvs, fill_parameters
from rlregress.probing.layers import make_output_constant
from rlregress.probing.recorded_update import record_differentiated_losses


class DQNDriver(DrivenScript):
    """The script of DQN (see ``driven_agents.DiscreteAgent``)."""

    name = "dqn"

    def set_values(self, online: Sequence[float], target: Sequence[float]) -> None:
        for name, numbers in (("q_network", online), ("target_network", target)):
            make_output_constant(self._find_variable(name), numbers)

    def fill_parameters(self, online: float, target: float) -> None:
        fill_parameters(self._find_variable("q_network").parameters(), online)
        fill_parameters(self._find_variable("target_network").parameters(), target)

    def read_target_parameter(self) -> float:
        return float(next(self._find_variable("target_network").parameters()).detach().flatten()[0])

    def compute_loss(self, online: Sequence[float], target: Sequence[float]) -> float:
        """Return the loss of an update on a memory of one minibatch."""
        size = self._settings.batch_size
        first = [1.0] + [0.0] * (self._settings.actions - 1)

        def set_values_before_update(steps: int) -> None:
            # the last action before the update is chosen already
            if steps == size - 1:
                self.set_values(online, target)

        envs = ScriptedEnvs(self._settings, discrete=self._settings.actions)
        with record_differentiated_losses() as losses:
            self._run_in_environments(
                envs, lambda _: self.set_values(first, first), set_values_before_update,
                total_timesteps=size, learning_starts=size - 2,
            )  # fmt: skip
        return losses[-1]

    def run_loop(self, on_start: Look = do_nothing, on_step: Look = do_nothing) -> LoopRecord:
        envs = ScriptedEnvs(self._settings, discrete=self._settings.actions)
        with envs.record_gradient_norms():
            self._run_in_environments(envs, on_start, on_step)
        return envs.make_record()

    def choose_action(self, q_values: Sequence[float], deterministic: bool) -> int | None:
        """Return the script's last action or, if ``deterministic``, the first of its evaluation."""
        evaluates = "save_model" in self._script.defaults
        if deterministic and not evaluates:
            return None
        # the evaluation goes on until episodes have ended
        envs = ScriptedEnvs(self._settings, discrete=self._settings.actions, terminated=1.0)
        arguments = {"save_model": True} if deterministic else {}

        def set_values_at_start(_: int) -> None:
            self.set_values(q_values, q_values)
            if deterministic:
                # as the writer of TensorBoard would, which is replaced by a stub
                os.makedirs(os.path.join("runs", vars(sys.modules["__main__"])["run_name"]))

        self._run_in_environments(envs, set_values_at_start, do_nothing, **arguments)
        played: list[list[float]] = [actions for actions in envs.make_record().actions if actions]
        return int(played[-1][0] if deterministic else played[0][-1])

    def _run_in_environments(
        self, envs: ScriptedEnvs, on_start: Look, on_step: Look, **arguments: Any
    ) -> None:
        settings = self._settings
        first, last, falls = settings.epsilon
        envs.begin, envs.between = on_start, on_step
        if settings.target_every is not None:
            arguments["target_network_frequency"] = settings.target_every
        overrides = {
            "total_timesteps": settings.steps,
            "buffer_size": 256,
            "batch_size": settings.batch_size,
            "gamma": settings.discount,
            "learning_rate": 0.0,
            "learning_starts": settings.starts,
            "train_frequency": settings.every,
            "start_e": first,
            "end_e": last,
            "exploration_fraction": falls / settings.steps,
        }
        draw = settings.draw
        with (
            nullcontext()
            if draw is None
            else mock.patch.object(random, "random", return_value=draw)
        ):
            run_script(
                self._script.path,
                {**overrides, **arguments},
                make_env=envs.make_environment,
                on_start=self._note_variables,
                # no videos of an evaluation
                patches=[(gymnasium.wrappers, "RecordVideo", lambda env, *_, **__: env)],
            )

    def _note_variables(self, run: ScriptRun) -> None:
        self._variables = run.globals
