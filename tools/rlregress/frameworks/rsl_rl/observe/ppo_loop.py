"""Probes of PPO's loop, and of changes during a training: its own runner and ``update``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch

from rlregress.frameworks.rsl_rl import compat
from rlregress.frameworks.rsl_rl.environments import Vectorised
from rlregress.frameworks.rsl_rl.observe.helpers import trainings
from rlregress.measurements import ppo_loop as loop
from rlregress.measurements.ppo_loop import make_diverging_ratios
from rlregress.probing.interface import Inputs, Probe
from rlregress.probing.parallel_updates import count_processes_and_backward_passes_per_step
from rlregress.probing.scripted import Scripted, make_counting_environment, make_script_of_end_after


def _train_with_settings(settings: loop.Settings) -> trainings.AgentTraining:
    """Train PPO with these settings, and return the record."""
    environments = [
        make_counting_environment(settings.total, **settings.make_environment_script())
        for _ in range(settings.environments)
    ]
    options: dict[str, Any] = settings.map_to_framework_names(
        clip_range="clip_param", entropy_coefficient="entropy_coef"
    )
    if settings.monte_carlo:
        options.update(gamma=1.0, lam=1.0)
    if settings.advantage is not None:
        no_weights = {"value_loss_coef": 0.0, "entropy_coef": 0.0}
        options = {**no_weights, "max_grad_norm": trainings.NO_CLIP, **options}

    def prepare_agent(agent: Any) -> None:
        if settings.monte_carlo:
            compat.fix_network_output(agent, "critic", 0.0)

    def change_storage(storage: Any) -> None:
        if settings.advantage is not None:
            trainings.fill_storage(storage, advantages=settings.advantage)
        trainings.set_ratios_of_storage(storage, settings.ratio)

    return trainings.train_and_record(
        Vectorised(*environments),
        settings.total // (settings.steps * settings.environments),
        steps=settings.steps,
        num_mini_batches=settings.minibatches,
        num_learning_epochs=settings.epochs,
        learning_rate=settings.learning_rate,
        prepare=prepare_agent,
        change=change_storage,
        **options,
    )


def _list_stored_observations_of_rollouts(inputs: Inputs) -> np.ndarray:
    limit = int(inputs["time_limit"])
    terminal = []

    def note_whether_terminal_observation_is_stored(storage: Any) -> None:
        arrays = [compat.select_policy_observations(storage.observations), *vars(storage).values()]
        tensors = [array for array in arrays if isinstance(array, torch.Tensor)]
        terminal.append(any(bool((array == limit).any()) for array in tensors))

    environment = make_counting_environment(
        limit, truncated=make_script_of_end_after(limit), restarts=True
    )
    training = trainings.train_and_record(
        environment, 3, steps=5, change=note_whether_terminal_observation_is_stored
    )
    return np.array([*np.concatenate(training.stored), any(terminal)])


def set_divergence_of_rollout(storage: Any, divergence: float) -> None:
    """Replace a rollout's stored policy by one that diverges this much from the present one."""
    mean, scale = compat.read_stored_distribution(storage)
    compat.set_stored_distribution(storage, mean + scale * float(np.sqrt(2.0 * divergence)), scale)
    trainings.set_ratios_of_storage(
        storage, np.resize(make_diverging_ratios(divergence), len(mean))
    )


def measure_rates_after_divergences(
    divergences: Sequence[float], rate: float, minibatches: int = 1, **algorithm: Any
) -> np.ndarray:
    """Return the learning rate of each update, divided by ``rate``, after these KL divergences."""
    divergences_left = list(divergences)

    def change_storage(storage: Any) -> None:
        trainings.fill_storage_without_effect(storage)
        set_divergence_of_rollout(storage, divergences_left.pop(0))

    training = trainings.train_and_record(
        Scripted(),
        len(divergences_left),
        steps=2 * minibatches,
        change=change_storage,
        num_mini_batches=minibatches,
        learning_rate=rate,
        entropy_coef=0.0,
        **algorithm,
    )
    return np.array(training.rates) / rate


def _measure_rates_with_adaptive_schedule(inputs: Inputs) -> np.ndarray:
    return measure_rates_after_divergences(
        inputs["divergences"],
        float(inputs["learning_rate"]),
        schedule="adaptive",
        desired_kl=float(inputs["target"]),
    )


_NO_SCHEDULE = "has no linear schedule (adaptive.default: the rate follows the divergence)"
ABSENT: Mapping[str, str] = {
    "ppo.kl_estimator": "compares distributions, and estimates nothing (adaptive.divergence)",
    "ppo.iterations": "has a number of rollouts to set, not of steps",
    "ppo.vectorisation": "has a number of rollouts to set, not of steps",
    "ppo.learning_rate.schedule": _NO_SCHEDULE,
    "ppo.learning_rate.negative": _NO_SCHEDULE,
}
PROBES: Mapping[str, Probe] = {
    **{
        id: partial(measure, _train_with_settings)
        for id, measure in loop.MEASUREMENTS.items()
        if id not in ABSENT
    },
    "ppo.parallel_gradient": partial(
        count_processes_and_backward_passes_per_step, _train_with_settings
    ),
    "ppo.segments": _list_stored_observations_of_rollouts,
    "ppo.learning_rate.adaptive": _measure_rates_with_adaptive_schedule,
}
