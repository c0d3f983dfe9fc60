"""Probes of the loop of ``ppo_continuous_action.py``: whole trainings that are watched."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rlregress.frameworks.cleanrl.observe.drivers import measured_by
from rlregress.frameworks.cleanrl.observe.helpers.ppo_trainings import (
    ScriptTraining,
    lower_log_prob,
    make_counter,
    no_values,
    train,
)
from rlregress.frameworks.cleanrl.observe.helpers.rollouts import SCRIPT
from rlregress.frameworks.cleanrl.script_sources import Source
from rlregress.frameworks.cleanrl.stubs import read_defaults
from rlregress.measurements import ppo_loop as loop
from rlregress.probing.interface import Inputs
from rlregress.probing.parallel_updates import count_processes_and_passes
from rlregress.probing.scripted import end_after

#: a bound on the norm of the gradient that none of them reaches
_NO_CLIP = 1e9


def _train(source: Source, settings: loop.Settings) -> ScriptTraining:
    """See ``measurements.ppo_loop.Train``."""
    flags: dict[str, Any] = settings.named(clip_range="clip_coef", entropy_coefficient="ent_coef")
    if settings.monte_carlo:
        flags.update(gamma=1.0, gae_lambda=1.0)
    if settings.advantage is not None:
        # it is the reward where no state has a value and nothing is to come
        flags.update(gamma=0.0, max_grad_norm=_NO_CLIP)
    if settings.target is not None:
        flags["target_kl"] = settings.target
        if "kle_stop" in read_defaults(source.script(SCRIPT)):
            flags["kle_stop"] = True
    if settings.falling is not None:
        # no other setting can fall
        flags["anneal_lr"] = settings.falls("learning_rate")

    def at_end(run: Any, number: int) -> None:
        lower_log_prob(run, settings.ratios_of(number))
        if settings.monte_carlo or settings.advantage is not None:
            no_values(run)

    return train(
        source,
        settings.total,
        settings.steps,
        settings.minibatches,
        make_env=lambda: make_counter(**settings.script()),
        at_end=at_end,
        num_envs=settings.environments,
        update_epochs=settings.epochs,
        learning_rate=settings.learning_rate,
        norm_adv=False,
        **flags,
    )


def segments(source: Source, inputs: Inputs) -> np.ndarray:
    """Return stored observations of three rollouts, and whether the terminal one is among them."""
    limit = int(inputs["time_limit"])
    names = ("obs", "actions", "logprobs", "rewards", "dones", "values")
    terminal: list[bool] = []

    def note_terminal(run: Any, number: int) -> None:
        del number
        terminal.append(any(bool((run[name] == limit).any()) for name in names))

    training = train(
        source,
        15,
        5,
        1,
        make_env=lambda: make_counter(limit, truncated=end_after(limit)),
        at_end=note_terminal,
    )
    return np.array([*np.concatenate(training.stored), any(terminal)])


_measured = measured_by(_train)
PROBES: dict[str, Callable[[Source, Inputs], np.ndarray]] = {
    **{id: _measured(measure) for id, measure in loop.MEASUREMENTS.items()},
    "ppo.parallel_gradient": _measured(count_processes_and_passes),
    "ppo.segments": segments,
}

#: detail id -> what CleanRL does not have.
ABSENT: dict[str, str] = {
    "ppo.adam.epsilon.custom": "has no options of the optimiser to set: they stand in the script",
}
