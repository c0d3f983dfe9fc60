"""Probes of PPO's loop: its trainer, on environments that count their steps, and its schedules."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from skrl.resources.schedulers.torch import KLAdaptiveLR

from rlregress.frameworks.skrl.agents import AgentSetup, make_falling_rate_settings
from rlregress.frameworks.skrl.observe.helpers.ppo_trainings import (
    AgentTraining,
    make_change_of_tensors,
    train_and_record,
)
from rlregress.measurements import ppo_loop as loop
from rlregress.probing.driven import fill_parameters
from rlregress.probing.interface import Inputs, Probe, Unsupported
from rlregress.probing.parallel_updates import count_processes_and_backward_passes_per_step
from rlregress.probing.scripted import make_counting_environment, make_script_of_end_after


def _train_with_settings(settings: loop.Settings, **further: Any) -> AgentTraining:
    """Train PPO with these settings, and further ones of the agent; return the record."""
    environments = [
        make_counting_environment(settings.total, **settings.make_environment_script())
        for _ in range(settings.environments)
    ]
    options = settings.map_to_framework_names(clip_range="ratio_clip", target="kl_threshold")
    if settings.monte_carlo:
        options.update(discount_factor=1.0, gae_lambda=1.0)
    if settings.advantage is not None:
        options["value_loss_scale"] = 0.0
    if settings.is_annealed("learning_rate"):
        # it is stepped after each epoch
        options.update(make_falling_rate_settings(settings.total // settings.steps))
    is_changed = settings.ratio != 1.0 or settings.ratios or settings.advantage is not None
    rollouts = itertools.count()

    def change_tensors(tensors: dict[str, Any]) -> None:
        ratios = settings.select_ratios_of_rollout(next(rollouts))
        make_change_of_tensors(settings.advantage or 0.0, ratios=ratios)(tensors)

    def prepare_agent(training: AgentSetup) -> None:
        if settings.monte_carlo:
            fill_parameters(training.models["value"].parameters(), 0.0)

    training = train_and_record(
        settings.total,
        *environments,
        rollouts=settings.steps,
        mini_batches=settings.minibatches,
        learning_epochs=settings.epochs,
        learning_rate=settings.learning_rate,
        prepare=prepare_agent,
        change=change_tensors if is_changed else None,
        **options,
        **further,
    )
    training.environments = environments
    return training


def _make_recording_scheduler(divergences: list[float]) -> Any:
    """Return a class of skrl's adaptive schedule that records each divergence it is passed."""
    try:
        KLAdaptiveLR(AgentSetup("ppo").optimizers["policy"])
    except TypeError as error:
        raise Unsupported(f"its schedule does not run on this PyTorch: {error}") from error

    class Recorded(KLAdaptiveLR):
        def step(self, kl: Any = None, **epoch: Any) -> None:
            """Record the divergence, and step skrl's scheduler."""
            # the first step is one of the constructor
            if kl is not None:
                divergences.append(float(kl))
            super().step(kl, **epoch)

    return Recorded


def _measure_kl_estimate(inputs: Inputs) -> list[float]:
    divergences: list[float] = []
    count = len(inputs["ratios"])
    train_and_record(
        count,
        rollouts=count,
        change=make_change_of_tensors(ratios=inputs["ratios"]),
        learning_rate_scheduler=_make_recording_scheduler(divergences),
        learning_rate=1e-12,
    )
    return divergences


def _measure_learning_rate_adaptive(inputs: Inputs) -> np.ndarray:
    train = partial(
        _train_with_settings,
        learning_rate_scheduler=_make_recording_scheduler([]),
        learning_rate_scheduler_kwargs={"kl_threshold": float(inputs["target"])},
    )
    return loop.measure_adaptive_learning_rate(train, inputs)


def _measure_stored_rollout_observations(inputs: Inputs) -> list[float]:
    limit = int(inputs["time_limit"])
    environment = make_counting_environment(
        limit, truncated=make_script_of_end_after(limit), restarts=True
    )
    training = train_and_record(15, environment, rollouts=5)
    tensors = training.training.memory.tensors.values()
    terminal = any(bool((tensor == limit).any()) for tensor in tensors)
    return [*np.concatenate(training.stored), terminal]


_NO_SCHEDULE = "has schedules of the learning rate alone"
ABSENT: Mapping[str, str] = {
    "ppo.minibatches.remainder": "has no remainder: minibatches are equal parts (ppo.minibatches)",
    "ppo.clip_range.schedule.asked": _NO_SCHEDULE,
    "ppo.entropy.schedule": _NO_SCHEDULE,
}
PROBES: Mapping[str, Probe] = {
    **{
        id: partial(measure, _train_with_settings)
        for id, measure in loop.MEASUREMENTS.items()
        if id not in ABSENT
    },
    "ppo.kl_estimator": _measure_kl_estimate,
    "ppo.parallel_gradient": partial(
        count_processes_and_backward_passes_per_step, _train_with_settings
    ),
    "ppo.segments": _measure_stored_rollout_observations,
    "ppo.learning_rate.adaptive": _measure_learning_rate_adaptive,
}
