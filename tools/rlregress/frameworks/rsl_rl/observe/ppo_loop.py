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
from rlregress.measurements.ppo_loop import diverging
from rlregress.probing.interface import Inputs, Probe
from rlregress.probing.layers import make_constant
from rlregress.probing.parallel_updates import count_processes_and_passes
from rlregress.probing.scripted import Scripted, end_after, make_counting_environment


def _train(settings: loop.Settings) -> trainings.AgentTraining:
    """See ``measurements.ppo_loop.Train``."""
    environments = [
        make_counting_environment(settings.total, **settings.script())
        for _ in range(settings.environments)
    ]
    options: dict[str, Any] = settings.named(
        clip_range="clip_param", entropy_coefficient="entropy_coef"
    )
    if settings.monte_carlo:
        options.update(gamma=1.0, lam=1.0)
    if settings.advantage is not None:
        no_weights = {"value_loss_coef": 0.0, "entropy_coef": 0.0}
        options = {**no_weights, "max_grad_norm": trainings.NO_CLIP, **options}

    def prepare(agent: Any) -> None:
        if settings.monte_carlo:
            make_constant(compat.find_network(agent, "critic"), 0.0)

    def change(storage: Any) -> None:
        if settings.advantage is not None:
            trainings.feed_storage(storage, advantages=settings.advantage)
        trainings.lower(storage, settings.ratio)

    return trainings.train(
        Vectorised(*environments),
        settings.total // (settings.steps * settings.environments),
        steps=settings.steps,
        num_mini_batches=settings.minibatches,
        num_learning_epochs=settings.epochs,
        learning_rate=settings.learning_rate,
        prepare=prepare,
        change=change,
        **options,
    )


def _segments(inputs: Inputs) -> np.ndarray:
    limit = int(inputs["time_limit"])
    terminal = []

    def note_terminal(storage: Any) -> None:
        arrays = [compat.select_group(storage.observations), *vars(storage).values()]
        tensors = [array for array in arrays if isinstance(array, torch.Tensor)]
        terminal.append(any(bool((array == limit).any()) for array in tensors))

    environment = make_counting_environment(limit, truncated=end_after(limit), restarts=True)
    training = trainings.train(environment, 3, steps=5, change=note_terminal)
    return np.array([*np.concatenate(training.stored), any(terminal)])


def diverge(storage: Any, divergence: float) -> None:
    """Let the divergence of a rollout's policy from the present one, a Gaussian, be this."""
    mean, scale = compat.read_old_distribution(storage)
    compat.set_old_distribution(storage, mean + scale * float(np.sqrt(2.0 * divergence)), scale)
    trainings.lower(storage, np.resize(diverging(divergence), len(mean)))


def rates(
    divergences: Sequence[float], rate: float, minibatches: int = 1, **algorithm: Any
) -> np.ndarray:
    """Learning rates of updates whose policies diverge so, and that move nothing."""
    divergences_left = list(divergences)

    def change(storage: Any) -> None:
        trainings.keep_still(storage)
        diverge(storage, divergences_left.pop(0))

    training = trainings.train(
        Scripted(),
        len(divergences_left),
        steps=2 * minibatches,
        change=change,
        num_mini_batches=minibatches,
        learning_rate=rate,
        entropy_coef=0.0,
        **algorithm,
    )
    return np.array(training.rates) / rate


def _adaptive(inputs: Inputs) -> np.ndarray:
    return rates(
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
        id: partial(measure, _train)
        for id, measure in loop.MEASUREMENTS.items()
        if id not in ABSENT
    },
    "ppo.parallel_gradient": partial(count_processes_and_passes, _train),
    "ppo.segments": _segments,
    "ppo.learning_rate.adaptive": _adaptive,
}
