"""Probes of what a PPO script changes over a training, for ``ppo_loop``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rlregress.frameworks.cleanrl.observe.helpers.ppo_trainings import (
    ScriptTraining,
    counter,
    lower_log_prob,
    no_values,
    train,
)
from rlregress.frameworks.cleanrl.script_sources import Source
from rlregress.measurements.ppo_loop import diverging
from rlregress.probing.interface import Inputs

_NO_CLIP = 1e9


def _training(source: Source, inputs: Inputs, **flags: Any) -> ScriptTraining:
    steps = int(inputs["rollout_steps"])
    total = steps * int(inputs["rollouts"])
    return train(source, total, steps, int(inputs["minibatches"]), **flags)


def rates(source: Source, inputs: Inputs) -> np.ndarray:
    """Learning rates of a training with the schedule of the defaults."""
    start = float(inputs["learning_rate"])
    return np.array(_training(source, inputs, learning_rate=start).rates) / start


def requested_rates(source: Source, inputs: Inputs) -> np.ndarray:
    """Learning rates of a training with the schedule switched on."""
    start = float(inputs["learning_rate"])
    return np.array(_training(source, inputs, learning_rate=start, anneal_lr=True).rates) / start


def lowest(source: Source, inputs: Inputs) -> np.ndarray:
    """The lowest learning rate of a training that is no multiple of its rollout."""
    start = float(inputs["learning_rate"])
    training = train(
        source,
        int(inputs["total_steps"]),
        int(inputs["rollout_steps"]),
        1,
        learning_rate=start,
        anneal_lr=True,
    )
    return np.array([min(training.rates) / start])


def adaptive(source: Source, inputs: Inputs) -> np.ndarray:
    """Learning rates after updates of known divergence; there is nothing to ask for."""
    start = float(inputs["learning_rate"])
    divergences = inputs["divergences"]

    def feed(run: Any, number: int) -> None:
        # one update more shows what the last divergence did; its own does not matter
        if number < len(divergences):
            lower_log_prob(run, diverging(divergences[number]))

    total = 2 * (len(divergences) + 1)
    training = train(source, total, 2, 1, at_end=feed, learning_rate=start, anneal_lr=False)
    return np.array(training.rates[1:]) / start


def _clip_ranges(source: Source, inputs: Inputs, **flags: Any) -> np.ndarray:
    def feed(run: Any, number: int) -> None:
        del number
        no_values(run)
        lower_log_prob(run, 2.0)

    training = _training(
        source,
        inputs,
        make_env=lambda: counter(rewards=[1.0]),
        at_end=feed,
        # every reward 1 and no look ahead: advantages of 1
        gamma=0.0,
        norm_adv=False,
        learning_rate=0.0,
        clip_coef=float(inputs["clip_range"]),
        **flags,
    )
    return (-np.array(training.policy_losses) - 1.0) / float(inputs["clip_range"])


def clip_range(source: Source, inputs: Inputs) -> np.ndarray:
    """Clip ranges of a training."""
    return _clip_ranges(source, inputs)


def requested_clip_range(source: Source, inputs: Inputs) -> np.ndarray:
    """Return clip ranges of two trainings; the only schedule that can be set is of the learning
    rate.
    """
    alone = _clip_ranges(source, inputs, anneal_lr=False)
    return np.concatenate([alone, _clip_ranges(source, inputs, anneal_lr=True)])


def entropy(source: Source, inputs: Inputs) -> np.ndarray:
    """Entropy coefficients of a training; only a schedule of the learning rate can be asked for."""
    start = float(inputs["coefficient"])
    training = _training(
        source,
        inputs,
        make_env=lambda: counter(rewards=[0.0]),
        at_end=lambda run, number: no_values(run),
        norm_adv=False,
        learning_rate=0.0,
        anneal_lr=True,
        ent_coef=start,
        max_grad_norm=_NO_CLIP,
    )
    return -np.array(training.log_std_gradients) / start


PROBES: dict[str, Callable[[Source, Inputs], np.ndarray]] = {
    "ppo.learning_rate.schedule": rates,
    "ppo.learning_rate.schedule.asked": requested_rates,
    "ppo.learning_rate.negative": lowest,
    "ppo.learning_rate.adaptive": adaptive,
    "ppo.clip_range.schedule": clip_range,
    "ppo.clip_range.schedule.asked": requested_clip_range,
    "ppo.entropy.schedule": entropy,
}
