"""Probes of the loop of ``ppo_continuous_action.py``: whole trainings that are watched."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rlregress.frameworks.cleanrl.observe.drivers import make_probe
from rlregress.frameworks.cleanrl.observe.helpers.ppo_trainings import (
    SCRIPT,
    make_restarting_counting_environment,
    multiply_ratios,
    train_ppo,
    zero_stored_and_predicted_values,
)
from rlregress.frameworks.cleanrl.script_sources import Source
from rlregress.measurements import ppo_loop as loop
from rlregress.probing.interface import Inputs
from rlregress.probing.parallel_updates import count_processes_and_backward_passes_per_step
from rlregress.probing.scripted import make_script_of_end_after

#: a bound on the norm of the gradient that none of them reaches
_NO_CLIP = 1e9


def _train_with_settings(source: Source, settings: loop.Settings) -> loop.RecordedTraining:
    """Train with the script and these settings, and return the record."""
    flags: dict[str, Any] = settings.map_to_framework_names(
        clip_range="clip_coef", entropy_coefficient="ent_coef"
    )
    if settings.monte_carlo:
        flags.update(gamma=1.0, gae_lambda=1.0)
    if settings.advantage is not None:
        # with values of 0 and without a discount the reward is the advantage
        flags.update(gamma=0.0, max_grad_norm=_NO_CLIP)
    if settings.target is not None:
        flags["target_kl"] = settings.target
        if "kle_stop" in source.parse_script(SCRIPT).defaults:
            flags["kle_stop"] = True
    if settings.falling is not None:
        # no other setting can fall
        flags["anneal_lr"] = settings.is_annealed("learning_rate")

    def call_at_end_of_rollout(run: Any, number: int) -> None:
        multiply_ratios(run, settings.select_ratios_of_rollout(number))
        if settings.monte_carlo or settings.advantage is not None:
            zero_stored_and_predicted_values(run)

    return train_ppo(
        source,
        settings.total,
        settings.steps,
        settings.minibatches,
        make_env=lambda: make_restarting_counting_environment(**settings.make_environment_script()),
        at_end=call_at_end_of_rollout,
        num_envs=settings.environments,
        update_epochs=settings.epochs,
        learning_rate=settings.learning_rate,
        norm_adv=False,
        **flags,
    )


def _list_stored_observations_of_rollouts(source: Source, inputs: Inputs) -> list[float]:
    limit = int(inputs["time_limit"])
    names = ("obs", "actions", "logprobs", "rewards", "dones", "values")
    terminal: list[bool] = []

    def note_whether_terminal_observation_is_stored(run: Any, number: int) -> None:
        del number
        terminal.append(any(bool((run[name] == limit).any()) for name in names))

    training = train_ppo(
        source,
        15,
        5,
        1,
        make_env=lambda: make_restarting_counting_environment(
            limit, truncated=make_script_of_end_after(limit)
        ),
        at_end=note_whether_terminal_observation_is_stored,
    )
    return [*np.concatenate(training.stored), any(terminal)]


PROBES: dict[str, Callable[[Source, Inputs], Any]] = {
    **{id: make_probe(_train_with_settings, measure) for id, measure in loop.MEASUREMENTS.items()},
    "ppo.parallel_gradient": make_probe(
        _train_with_settings, count_processes_and_backward_passes_per_step
    ),
    "ppo.segments": _list_stored_observations_of_rollouts,
}

#: detail id -> what CleanRL does not have.
ABSENT: dict[str, str] = {
    "ppo.adam.epsilon.custom": "has no setting for options of the optimiser, fixed in the script",
}
