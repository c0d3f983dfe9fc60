"""Probes of PPO's loop: its own ``learn`` on environments that count their steps."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from rlregress.frameworks.sb3 import gyms
from rlregress.frameworks.sb3.observe.drivers import probe_agents
from rlregress.frameworks.sb3.observe.helpers import ppo_trainings, ppo_updates
from rlregress.frameworks.sb3.observe.helpers.on_policy import (
    AlgorithmProbe,
    ProbedPPO,
    bind_probes_to_ppo,
    make_algorithm_probe,
)
from rlregress.measurements import ppo_loop as loop
from rlregress.probing.interface import Inputs, Probe
from rlregress.probing.parallel_updates import count_processes_and_backward_passes_per_step
from rlregress.probing.scripted import make_counting_environment, make_script_of_end_after

#: setting that may fall -> its name
_SCHEDULED = {
    "learning_rate": "learning_rate",
    "clip_range": "clip_range",
    "entropy_coefficient": "ent_coef",
}


def _train_with_settings(
    algorithm: ProbedPPO, settings: loop.Settings
) -> ppo_trainings.AgentTraining:
    """Train with ``learn`` and these settings, and return the record."""
    environments = [
        make_counting_environment(
            settings.total, algorithm.make_environment, **settings.make_environment_script()
        )
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
            options[own] = _make_falling_schedule(number) if settings.is_annealed(name) else number

    def prepare_agent(agent: Any) -> None:
        if settings.monte_carlo:
            algorithm.set_value_to_number(agent, 0.0)

    rollouts = itertools.count()

    def change_buffer(buffer: Any) -> None:
        _set_ratios_of_buffer(buffer, settings.select_ratios_of_rollout(next(rollouts)))
        if settings.advantage is not None:
            buffer.advantages[:] = settings.advantage

    training = ppo_trainings.train_and_record(
        algorithm,
        gyms.vectorise_environments(*environments),
        settings.total,
        n_steps=settings.steps,
        batch_size=settings.minibatch_size,
        n_epochs=settings.epochs,
        prepare_agent=prepare_agent,
        change_buffer=change_buffer,
        **options,
    )
    training.environments = environments
    return training


def _make_falling_schedule(start: float) -> Callable[[float], float]:
    """Return a schedule as SB3 takes it: a function of the remaining share of the training."""
    return lambda progress: progress * start


def _set_ratios_of_buffer(buffer: Any, ratios: Any) -> None:
    buffer.log_probs -= np.log(np.atleast_1d(ratios))[:, None].astype(np.float32)


def _measure_entropy_coefficients(algorithm: ProbedPPO, inputs: Inputs) -> np.ndarray:
    train = partial(_train_with_settings, algorithm)
    try:
        return loop.measure_entropy_coefficients(train, inputs)
    except TypeError:
        # a function is refused when the update multiplies with it
        return loop.measure_entropy_coefficients(lambda s: train(replace(s, falling=None)), inputs)


def _measure_adam_epsilon_with_optimizer_kwargs(algorithm: ProbedPPO, inputs: Inputs) -> np.ndarray:
    del inputs
    agent = algorithm.make_agent(
        algorithm.make_environment(),
        n_steps=8,
        batch_size=8,
        policy_kwargs={"optimizer_kwargs": {"weight_decay": 0.0}},
    )
    return np.log10([agent.policy.optimizer.param_groups[0]["eps"]])


def _measure_kl_estimate(algorithm: ProbedPPO, inputs: Inputs) -> np.ndarray:
    count = len(inputs["ratios"])
    training = ppo_trainings.train_and_record(
        algorithm,
        algorithm.make_environment(),
        count,
        n_steps=count,
        batch_size=count,
        learning_rate=probe_agents.FROZEN,
        change_buffer=lambda buffer: _set_ratios_of_buffer(buffer, inputs["ratios"]),
    )
    return np.array([training.agent.logger.name_to_value["train/approx_kl"]])


def _list_stored_observations_of_rollouts(algorithm: ProbedPPO, inputs: Inputs) -> np.ndarray:
    limit = inputs["time_limit"]
    terminal: list[bool] = []

    def note_whether_terminal_observation_is_stored(buffer: Any) -> None:
        arrays = [array for array in vars(buffer).values() if isinstance(array, np.ndarray)]
        terminal.append(any(np.any(array == limit) for array in arrays))

    environment = make_counting_environment(
        limit, algorithm.make_environment, truncated=make_script_of_end_after(limit), restarts=True
    )
    training = ppo_trainings.train_and_record(
        algorithm,
        environment,
        15,
        n_steps=5,
        batch_size=5,
        change_buffer=note_whether_terminal_observation_is_stored,
    )
    return np.array([*np.concatenate(training.stored), any(terminal)])


#: detail -> probe of PPO, or of a class like it
PROBES_OF_ALGORITHM: Mapping[str, AlgorithmProbe] = {
    **{
        id: make_algorithm_probe(measure, _train_with_settings)
        for id, measure in loop.MEASUREMENTS.items()
    },
    "ppo.entropy.schedule": _measure_entropy_coefficients,
    "ppo.adam.epsilon.custom": _measure_adam_epsilon_with_optimizer_kwargs,
    "ppo.kl_estimator": _measure_kl_estimate,
    "ppo.parallel_gradient": make_algorithm_probe(
        count_processes_and_backward_passes_per_step, _train_with_settings
    ),
    "ppo.segments": _list_stored_observations_of_rollouts,
}
PROBES: Mapping[str, Probe] = bind_probes_to_ppo(PROBES_OF_ALGORITHM)
