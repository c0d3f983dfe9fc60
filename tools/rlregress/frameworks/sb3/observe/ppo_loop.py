"""Probes of PPO's loop: its own ``learn`` on environments that count their steps."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from rlregress.frameworks.sb3 import gyms
from rlregress.frameworks.sb3.observe.drivers import constant_agents
from rlregress.frameworks.sb3.observe.helpers import ppo_trainings
from rlregress.frameworks.sb3.observe.helpers.on_policy import OF_PPO, OnPolicy, measured
from rlregress.measurements import ppo_loop as loop
from rlregress.probing.interface import Inputs, Probe
from rlregress.probing.parallel_updates import parallel_gradient
from rlregress.probing.scripted import counting, end_after


def _train(kind: OnPolicy, settings: loop.Settings) -> ppo_trainings.AgentTraining:
    """See ``measurements.ppo_loop.Train``."""
    environments = [
        counting(settings.total, kind.environment, **settings.script())
        for _ in range(settings.environments)
    ]
    gamma = {"gamma": 1.0, "gae_lambda": 1.0} if settings.monte_carlo else {}
    target = {} if settings.target is None else {"target_kl": settings.target}

    def prepare(agent: Any) -> None:
        if settings.monte_carlo:
            kind.be_constant(agent, 0.0)

    training = ppo_trainings.train(
        kind,
        gyms.side_by_side(*environments),
        settings.total,
        n_steps=settings.steps,
        batch_size=settings.minibatch_size,
        n_epochs=settings.epochs,
        learning_rate=settings.learning_rate,
        prepare=prepare,
        change=lambda buffer: _lower(buffer, settings.ratio),
        **gamma,
        **target,
    )
    training.environments = environments
    return training


def _lower(buffer: Any, ratios: Any) -> None:
    buffer.log_probs -= np.log(np.atleast_1d(ratios))[:, None].astype(np.float32)


def _kl_estimator(kind: OnPolicy, inputs: Inputs) -> np.ndarray:
    count = len(inputs["ratios"])
    training = ppo_trainings.train(
        kind,
        kind.environment(),
        count,
        n_steps=count,
        batch_size=count,
        learning_rate=constant_agents.FROZEN,
        change=lambda buffer: _lower(buffer, inputs["ratios"]),
    )
    return np.array([training.agent.logger.name_to_value["train/approx_kl"]])


def _segments(kind: OnPolicy, inputs: Inputs) -> np.ndarray:
    limit = int(inputs["time_limit"])
    terminal: list[bool] = []

    def look(buffer: Any) -> None:
        arrays = [array for array in vars(buffer).values() if isinstance(array, np.ndarray)]
        terminal.append(any(np.any(array == limit) for array in arrays))

    environment = counting(limit, kind.environment, truncated=end_after(limit), restarts=True)
    training = ppo_trainings.train(kind, environment, 15, n_steps=5, batch_size=5, change=look)
    return np.array([*np.concatenate(training.stored), any(terminal)])


PROBES: Mapping[str, Probe] = {
    **{id: partial(measured(measure, _train), OF_PPO) for id, measure in loop.MEASUREMENTS.items()},
    "ppo.kl_estimator": partial(_kl_estimator, OF_PPO),
    "ppo.parallel_gradient": partial(measured(parallel_gradient, _train), OF_PPO),
    "ppo.segments": partial(_segments, OF_PPO),
}
