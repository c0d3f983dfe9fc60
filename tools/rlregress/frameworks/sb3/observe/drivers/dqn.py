"""Driver of DQN: its own ``learn``, ``train`` and ``predict``."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any
from unittest import mock

import numpy as np
from stable_baselines3 import DQN

from rlregress.frameworks.sb3 import gyms
from rlregress.frameworks.sb3.observe.drivers import probe_agents
from rlregress.measurements.driven_agents import Look, Settings, do_nothing
from rlregress.measurements.loop_journal import Journal
from rlregress.probing.driven import NetworkPair, ScriptedEnvs
from rlregress.probing.journal import run_and_record_steps


class Driver(NetworkPair):
    """An agent of ``DQN`` with small networks (see ``driven_agents.DiscreteAgent``).

    Attributes:
        algorithm_class: the class of the agent.
        networks: names of its networks of values, the one that is trained and its target.
    """

    algorithm_class: Any = DQN
    networks = ("q_net", "q_net_target")

    def __init__(self, settings: Settings) -> None:
        first, last, falls = settings.epsilon
        self._settings = settings
        self._envs = ScriptedEnvs(settings, discrete=settings.actions)
        environments = [self._envs.make_environment() for _ in range(settings.environments)]
        self._agent = probe_agents.make_agent(
            self.algorithm_class,
            gyms.vectorise_environments(*environments)
            if len(environments) > 1
            else environments[0],
            learning_rate=probe_agents.FROZEN,
            buffer_size=256,
            learning_starts=settings.starts,
            batch_size=settings.batch_size,
            gamma=settings.discount,
            train_freq=settings.every,
            gradient_steps=1,
            exploration_initial_eps=first,
            exploration_final_eps=last,
            exploration_fraction=falls / settings.steps,
            policy_kwargs=self.make_policy_arguments(),
            **settings.map_to_framework_names(target_every="target_update_interval"),
        )
        self._collected = False

    def make_policy_arguments(self) -> dict[str, Any]:
        return {"net_arch": [4]}

    def list_networks(self) -> Sequence[Any]:
        return [getattr(self._agent, name) for name in self.networks]

    def compute_loss(self, online: Sequence[float], target: Sequence[float]) -> float:
        """Return the loss of ``train`` for transitions that ``learn`` has collected."""
        agent, size = self._agent, self._settings.batch_size
        if not self._collected:
            first = [1.0] + [0.0] * (self._settings.actions - 1)
            self.set_values(first, first)
            agent.gradient_steps = 0
            agent.learn(size)
            self._collected = True
        self.set_values(online, target)
        update = partial(agent.train, gradient_steps=1, batch_size=size)
        journal = run_and_record_steps(update, {"critic": agent.policy.optimizer})
        return journal.get_only_loss("critic")

    def run_loop(self, on_start: Look = do_nothing, on_step: Look = do_nothing) -> Journal:
        with self._fix_draws():
            return self._envs.record_training(
                lambda: self._agent.learn(self._settings.steps), on_start, on_step
            )

    def choose_action(self, q_values: Sequence[float], deterministic: bool) -> int | None:
        """Return the action of ``predict`` after a run in which epsilon reached its last value."""
        self.set_values(q_values, q_values)
        self.run_loop()
        observation = np.zeros(self._agent.observation_space.shape, dtype=np.float32)
        with self._fix_draws():
            action, _ = self._agent.predict(observation, deterministic=deterministic)
        return int(action)

    def _fix_draws(self) -> Any:
        draw = self._settings.draw
        if draw is None:
            return nullcontext()
        return mock.patch.object(np.random, "rand", return_value=draw)
