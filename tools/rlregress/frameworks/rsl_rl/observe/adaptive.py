"""Probes of a learning rate that follows the divergence, and of the trained deviation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from rlregress.frameworks.rsl_rl import compat
from rlregress.frameworks.rsl_rl.observe.helpers.trainings import (
    NO_CLIP,
    fill_storage_without_effect,
    make_runner,
    train_and_record,
)
from rlregress.frameworks.rsl_rl.observe.ppo_loop import measure_rates_after_divergences
from rlregress.probing.interface import Inputs, Probe
from rlregress.probing.scripted import Scripted


def _make_adaptive_settings(inputs: Inputs) -> Mapping[str, Any]:
    return {"schedule": "adaptive", "desired_kl": float(inputs["target"])}


def _measure_rates_with_default_schedule(inputs: Inputs) -> np.ndarray:
    start = float(inputs["learning_rate"])
    # what the class has by default, if nobody says "fixed"
    schedule = make_runner(Scripted(), 2).alg.schedule
    return measure_rates_after_divergences(inputs["divergences"], start, schedule=schedule)


def _measure_bounds_of_rate(inputs: Inputs) -> np.ndarray:
    start, updates = float(inputs["learning_rate"]), int(inputs["updates"])
    ends = [
        measure_rates_after_divergences([far] * updates, start, **_make_adaptive_settings(inputs))[
            -1
        ]
        for far in (0.1, 0.001)
    ]
    return np.log10(start * np.array(ends))


def _flag_targets_that_lower_rate(inputs: Inputs) -> np.ndarray:
    old = [
        torch.as_tensor(inputs[name], dtype=torch.float32).reshape(-1, 1, 1)
        for name in ("old_means", "old_deviations")
    ]

    def change_storage(storage: Any) -> None:
        mean, _ = compat.read_stored_distribution(storage)
        compat.set_stored_distribution(storage, mean + old[0], old[1])

    divergences = []
    for target in inputs["targets"]:
        training = train_and_record(
            Scripted(),
            1,
            steps=2,
            change=change_storage,
            learning_rate=1e-3,
            **_make_adaptive_settings({"target": target}),
        )
        divergences.append(training.rates[0] < 0.99e-3)
    return np.array(divergences, dtype=np.float64)


def _measure_rates_of_minibatches(inputs: Inputs) -> np.ndarray:
    start, minibatches = float(inputs["learning_rate"]), int(inputs["minibatches"])
    return measure_rates_after_divergences(
        [0.1] * 2, start, minibatches, **_make_adaptive_settings(inputs)
    )


def _measure_rate_of_unchanged_policy(inputs: Inputs) -> np.ndarray:
    start = float(inputs["learning_rate"])
    training = train_and_record(
        Scripted(), 1, steps=2, learning_rate=start, **_make_adaptive_settings(inputs)
    )
    return np.array(training.rates) / start


def _measure_trained_deviation(inputs: Inputs) -> np.ndarray:
    training = train_and_record(
        Scripted(),
        1,
        steps=4,
        prepare=lambda agent: compat.set_log_deviation_of_policy(
            agent, float(np.log(inputs["deviation"]))
        ),
        change=fill_storage_without_effect,
        learning_rate=float(inputs["learning_rate"]),
        entropy_coef=1.0,
        max_grad_norm=NO_CLIP,
    )
    trained, logarithm = compat.find_trained_deviation(training.algorithm)
    return (trained.exp() if logarithm else trained).detach().numpy()


def _measure_failure_at_negative_deviation(inputs: Inputs) -> np.ndarray:
    def prepare_agent(agent: Any) -> None:
        torch.nn.init.constant_(compat.find_trained_deviation(agent)[0], float(inputs["parameter"]))

    scales: list[float] = []
    try:
        train_and_record(
            Scripted(),
            1,
            steps=2,
            prepare=prepare_agent,
            change=lambda storage: scales.append(
                compat.read_stored_distribution(storage)[1][0].item()
            ),
        )
    except (RuntimeError, ValueError):
        # what torch says of a normal distribution without a positive deviation
        return np.array([1.0, 0.0])
    return np.array([0.0, round(np.log10(abs(scales[0])))])


PROBES: Mapping[str, Probe] = {
    "adaptive.default": _measure_rates_with_default_schedule,
    "adaptive.bounds": _measure_bounds_of_rate,
    "adaptive.divergence": _flag_targets_that_lower_rate,
    "adaptive.moment": _measure_rates_of_minibatches,
    "adaptive.unchanged": _measure_rate_of_unchanged_policy,
    "deviation.parameter": _measure_trained_deviation,
    "deviation.negative": _measure_failure_at_negative_deviation,
}
