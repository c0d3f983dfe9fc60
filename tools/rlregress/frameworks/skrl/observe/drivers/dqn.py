"""Driver of DQN: its own ``update``, and training and evaluation by its trainer."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any
from unittest import mock

import torch

from rlregress.frameworks.skrl import compat
from rlregress.frameworks.skrl.agents import MODELS, NEVER, AgentSetup
from rlregress.measurements.driven_agents import Look, Settings, do_nothing
from rlregress.measurements.loop_journal import Journal
from rlregress.probing.driven import NetworkPair, ScriptedEnvs
from rlregress.probing.framework_errors import was_raised_in
from rlregress.probing.journal import run_and_record_steps


class Driver(NetworkPair):
    """An agent of ``DQN`` with small networks (see ``driven_agents.DiscreteAgent``).

    Args:
        options: further settings of the agent.
    """

    def __init__(self, settings: Settings, **options: Any) -> None:
        self._settings, self._options = settings, options
        self._envs = ScriptedEnvs(settings, discrete=settings.actions)
        self._training = self._make_training(settings.starts)
        self._collected = False

    def _make_training(self, starts: int) -> AgentSetup:
        settings = self._settings
        environments = [self._envs.make_environment() for _ in range(settings.environments)]
        return AgentSetup(
            "dqn",
            *environments,
            learning_rate=0.0,
            random_timesteps=settings.starts,
            learning_starts=starts,
            batch_size=settings.batch_size,
            discount_factor=settings.discount,
            update_interval=settings.every,
            exploration_scheduler=compat.make_epsilon_schedule(*settings.epsilon),
            **settings.map_to_framework_names(target_every="target_update_interval"),
            **self._options,
        )

    def list_networks(self) -> Sequence[Any]:
        return [self._training.models[name] for name in MODELS["dqn"]]

    def compute_loss(self, online: Sequence[float], target: Sequence[float]) -> float:
        """Return the loss of ``update`` for transitions that a training has collected."""
        if not self._collected:
            self._training, self._collected = self._make_training(NEVER), True
            first = [1.0] + [0.0] * (self._settings.actions - 1)
            self.set_values(first, first)
            self._training.run_steps(self._settings.batch_size)
        self.set_values(online, target)
        journal = run_and_record_steps(self._training.update_once, self._training.optimizers)
        return journal.get_only_loss("critic")

    def run_loop(self, on_start: Look = do_nothing, on_step: Look = do_nothing) -> Journal:
        steps = -(-self._settings.steps // self._settings.environments)
        with self._fix_draws():
            return self._envs.record_training(
                lambda: self._training.run_steps(steps), on_start, on_step
            )

    def choose_action(self, q_values: Sequence[float], deterministic: bool) -> int | None:
        """Return the last action of a training or, if ``deterministic``, of an evaluation."""
        self.set_values(q_values, q_values)
        trainer = self._training.make_trainer(self._settings.steps)
        with self._fix_draws():
            trainer.train()
            try:
                trainer.eval() if deterministic else None
            except AttributeError as error:
                if not was_raised_in(error, "skrl"):
                    raise
                # its evaluation reads what actions of DQN do not have
                return None
        return int(self._envs.environments[0].received[-1])

    def _fix_draws(self) -> Any:
        draw = self._settings.draw
        if draw is None:
            return nullcontext()
        return mock.patch.object(torch, "rand", lambda *size, **_: torch.full(size, float(draw)))
