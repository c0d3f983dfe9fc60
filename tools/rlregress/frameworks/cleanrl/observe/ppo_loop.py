"""Probes of the loop of ``ppo_continuous_action.py``: whole trainings that are watched."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from rlregress.frameworks.cleanrl.observe.helpers.ppo_trainings import (
    ScriptTraining,
    counter,
    lower_log_prob,
    no_values,
    train,
)
from rlregress.frameworks.cleanrl.observe.helpers.rollouts import SCRIPT
from rlregress.frameworks.cleanrl.script_sources import Source
from rlregress.frameworks.cleanrl.stubs import defaults
from rlregress.measurements import ppo_loop as loop
from rlregress.probing.interface import Inputs
from rlregress.probing.parallel_updates import parallel_gradient
from rlregress.probing.scripted import end_after


def _train(source: Source, settings: loop.Settings) -> ScriptTraining:
    """See ``measurements.ppo_loop.Train``."""
    flags: dict[str, Any] = {"gamma": 1.0, "gae_lambda": 1.0} if settings.monte_carlo else {}
    if settings.target is not None:
        flags["target_kl"] = settings.target
        if "kle_stop" in defaults(source.script(SCRIPT)):
            flags["kle_stop"] = True

    def at_end(run: Any, number: int) -> None:
        del number
        lower_log_prob(run, settings.ratio)
        if settings.monte_carlo:
            no_values(run)

    return train(
        source,
        settings.total,
        settings.steps,
        settings.minibatches,
        make_env=lambda: counter(**settings.script()),
        at_end=at_end,
        num_envs=settings.environments,
        update_epochs=settings.epochs,
        learning_rate=settings.learning_rate,
        norm_adv=False,
        **flags,
    )


def _bind_source(measure: Callable[..., np.ndarray]) -> Callable[[Source, Inputs], np.ndarray]:
    return lambda source, inputs: measure(partial(_train, source), inputs)


def segments(source: Source, inputs: Inputs) -> np.ndarray:
    """Stored observations of three rollouts, and whether the terminal one is among them."""
    limit = int(inputs["time_limit"])
    names = ("obs", "actions", "logprobs", "rewards", "dones", "values")
    terminal: list[bool] = []

    def look(run: Any, number: int) -> None:
        del number
        terminal.append(any(bool((run[name] == limit).any()) for name in names))

    training = train(
        source, 15, 5, 1, make_env=lambda: counter(limit, truncated=end_after(limit)), at_end=look
    )
    return np.array([*np.concatenate(training.stored), any(terminal)])


PROBES: dict[str, Callable[[Source, Inputs], np.ndarray]] = {
    **{id: _bind_source(measure) for id, measure in loop.MEASUREMENTS.items()},
    "ppo.parallel_gradient": _bind_source(parallel_gradient),
    "ppo.segments": segments,
}

#: detail id -> what CleanRL does not have.
ABSENT: dict[str, str] = {
    "ppo.adam.epsilon.custom": "has no options of the optimiser to set: they stand in the script",
}
