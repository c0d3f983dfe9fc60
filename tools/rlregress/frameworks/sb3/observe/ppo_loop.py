"""Probes of PPO's loop: its own ``learn`` on environments that count their steps."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from rlregress.frameworks.sb3 import gyms
from rlregress.frameworks.sb3.observe.drivers import constant_agents
from rlregress.frameworks.sb3.observe.helpers import ppo_trainings, ppo_updates
from rlregress.frameworks.sb3.observe.helpers.on_policy import OF_PPO, OnPolicy, make_probe
from rlregress.measurements import ppo_loop as loop
from rlregress.probing.interface import Inputs, Probe
from rlregress.probing.parallel_updates import count_processes_and_passes
from rlregress.probing.scripted import end_after, make_counting_environment

#: setting that may fall -> its name
_SCHEDULED = {
    "learning_rate": "learning_rate",
    "clip_range": "clip_range",
    "entropy_coefficient": "ent_coef",
}


def _train(kind: OnPolicy, settings: loop.Settings) -> ppo_trainings.AgentTraining:
    """See ``measurements.ppo_loop.Train``."""
    environments = [
        make_counting_environment(settings.total, kind.environment, **settings.script())
        for _ in range(settings.environments)
    ]
    options: dict[str, Any] = {}
    if settings.monte_carlo:
        options.update(gamma=1.0, gae_lambda=1.0)
    if settings.target is not None:
        options["target_kl"] = settings.target
    if settings.advantage is not None:
        options.update(
            normalize_advantage=False, vf_coef=0.0, ent_coef=0.0, max_grad_norm=ppo_updates.NO_CLIP
        )
    for name, own in _SCHEDULED.items():
        number = getattr(settings, name)
        if number is not None:
            options[own] = _make_falling_schedule(number) if settings.falls(name) else number

    def prepare(agent: Any) -> None:
        if settings.monte_carlo:
            kind.be_constant(agent, 0.0)

    rollouts = itertools.count()

    def change(buffer: Any) -> None:
        _lower(buffer, settings.ratios_of(next(rollouts)))
        if settings.advantage is not None:
            buffer.advantages[:] = settings.advantage

    training = ppo_trainings.train(
        kind,
        gyms.vectorise_environments(*environments),
        settings.total,
        n_steps=settings.steps,
        batch_size=settings.minibatch_size,
        n_epochs=settings.epochs,
        prepare=prepare,
        change=change,
        **options,
    )
    training.environments = environments
    return training


def _make_falling_schedule(start: float) -> Callable[[float], float]:
    """Return a schedule as SB3 takes it: of the remaining share of the training, from 1 on."""
    return lambda progress: progress * start


def _lower(buffer: Any, ratios: Any) -> None:
    buffer.log_probs -= np.log(np.atleast_1d(ratios))[:, None].astype(np.float32)


def _entropy_coefficients(kind: OnPolicy, inputs: Inputs) -> np.ndarray:
    train = partial(_train, kind)
    try:
        return loop.entropy_coefficients(train, inputs)
    except TypeError:
        # a function is refused when the update multiplies with it
        return loop.entropy_coefficients(lambda s: train(replace(s, falling=None)), inputs)


def _adam_epsilon_custom(kind: OnPolicy, inputs: Inputs) -> np.ndarray:
    del inputs
    agent = kind.make(
        kind.environment(),
        n_steps=8,
        batch_size=8,
        policy_kwargs={"optimizer_kwargs": {"weight_decay": 0.0}},
    )
    return np.log10([agent.policy.optimizer.param_groups[0]["eps"]])


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

    def note_terminal(buffer: Any) -> None:
        arrays = [array for array in vars(buffer).values() if isinstance(array, np.ndarray)]
        terminal.append(any(np.any(array == limit) for array in arrays))

    environment = make_counting_environment(
        limit, kind.environment, truncated=end_after(limit), restarts=True
    )
    training = ppo_trainings.train(
        kind, environment, 15, n_steps=5, batch_size=5, change=note_terminal
    )
    return np.array([*np.concatenate(training.stored), any(terminal)])


PROBES: Mapping[str, Probe] = {
    **{
        id: partial(make_probe(measure, _train), OF_PPO)
        for id, measure in loop.MEASUREMENTS.items()
    },
    "ppo.entropy.schedule": partial(_entropy_coefficients, OF_PPO),
    "ppo.adam.epsilon.custom": partial(_adam_epsilon_custom, OF_PPO),
    "ppo.kl_estimator": partial(_kl_estimator, OF_PPO),
    "ppo.parallel_gradient": partial(make_probe(count_processes_and_passes, _train), OF_PPO),
    "ppo.segments": partial(_segments, OF_PPO),
}
