"""Driver of ``dqn.py``: runs the script as it is, with other environments and arguments."""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import Any
from unittest import mock

import gymnasium

from rlregress.frameworks.cleanrl.observe.drivers.parts import DrivenScript
from rlregress.frameworks.cleanrl.running import ScriptRun, run_script
from rlregress.measurements.driven_agents import Look, do_nothing
from rlregress.probing.driven import NetworkPair, ScriptedEnvs
from rlregress.probing.journal import StepJournal


class DQNDriver(NetworkPair, DrivenScript):
    """The script of DQN (see ``driven_agents.DiscreteAgent``)."""

    name = "dqn"

    def list_networks(self) -> Sequence[Any]:
        return [self._find_variable(name) for name in ("q_network", "target_network")]

    def compute_loss(self, online: Sequence[float], target: Sequence[float]) -> float:
        """Return the loss of an update on a memory of one minibatch."""
        size = self._settings.batch_size
        first = [1.0] + [0.0] * (self._settings.actions - 1)

        def set_values_before_update(steps: int) -> None:
            # the last action before the update is chosen already
            if steps == size - 1:
                self.set_values(online, target)

        journal = self.run_loop(
            lambda _: self.set_values(first, first),
            set_values_before_update,
            {"total_timesteps": size, "learning_starts": size - 2},
        )
        return journal.losses["critic"][-1]

    def choose_action(self, q_values: Sequence[float], deterministic: bool) -> int | None:
        """Return the script's last action or, if ``deterministic``, the first of its evaluation."""
        evaluates = "save_model" in self._script.defaults
        if deterministic and not evaluates:
            return None

        def make_folder_of_run(steps: int) -> None:
            if deterministic and not steps:
                # as the writer of TensorBoard would, which is replaced by a stub
                os.makedirs(os.path.join("runs", vars(sys.modules["__main__"])["run_name"]))

        journal = self.run_loop(
            lambda _: self.set_values(q_values, q_values),
            make_folder_of_run,
            {"save_model": True} if deterministic else {},
            # the evaluation goes on until episodes have ended
            terminated=1.0,
        )
        played = [actions for actions in journal.actions if actions]
        return int(played[-1][0] if deterministic else played[0][-1])

    def run_loop(
        self,
        on_start: Look = do_nothing,
        on_step: Look = do_nothing,
        arguments: Mapping[str, Any] = {},  # noqa: B006 - read only
        **script: Any,
    ) -> StepJournal:
        """Run the script.

        Args:
            arguments: further ones of its command line.
            script: of the environments, in place of what the settings say.
        """
        settings = self._settings
        first, last, falls = settings.epsilon
        envs = ScriptedEnvs(settings, discrete=settings.actions, **script)
        interval = settings.map_to_framework_names(target_every="target_network_frequency")
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
            **interval,
            **arguments,
        }

        def note_variables_and_start(run: ScriptRun) -> None:
            self._variables = run.globals
            on_start(0)

        def train() -> None:
            run_script(
                self._script.path,
                overrides,
                make_env=envs.make_environment,
                on_start=note_variables_and_start,
                # no videos of an evaluation
                patches=[(gymnasium.wrappers, "RecordVideo", lambda env, *_, **__: env)],
            )

        draw = settings.draw
        fixed = mock.patch.object(random, "random", return_value=draw)
        with nullcontext() if draw is None else fixed:
            return envs.record_training(train, on_step=on_step)
