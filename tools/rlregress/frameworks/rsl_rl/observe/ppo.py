"""Probes of PPO's update and loop, of its learning rate and of its trained deviation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch

from rlregress.frameworks.rsl_rl import compat
from rlregress.frameworks.rsl_rl.environments import make_runner
from rlregress.frameworks.rsl_rl.observe.helpers import trainings
from rlregress.measurements import ppo_loop as loop
from rlregress.measurements import ppo_trainings as measured
from rlregress.probing.interface import Inputs, Probe
from rlregress.probing.layers import read_log10_adam_eps
from rlregress.probing.parallel_updates import count_processes_and_backward_passes_per_step
from rlregress.probing.scripted import Scripted


def _measure_adam_epsilon(inputs: Inputs) -> list[float]:
    del inputs
    agent = make_runner(Scripted(), 8).alg
    models = compat.find_acting_module(agent), getattr(agent, "critic", None)
    parameters = [p for model in models if model is not None for p in model.parameters()]
    return [read_log10_adam_eps(agent.optimizer, parameters)]


def _make_adaptive_settings(inputs: Inputs) -> dict[str, Any]:
    """Return an adaptive schedule with the rate and, if the detail has one, the target."""
    target = {"desired_kl": inputs["target"]} if "target" in inputs else {}
    return {"schedule": "adaptive", "learning_rate": inputs["learning_rate"], **target}


def _measure_rates_after_divergences(
    inputs: Inputs, divergences: Sequence[float], minibatches: int = 1, **algorithm: Any
) -> np.ndarray:
    """Return the rates of updates after these KL divergences, over the configured rate."""
    divergences_left = list(divergences)

    def change_storage(storage: Any) -> None:
        divergence = divergences_left.pop(0)
        compat.move_stored_distribution(storage, float(np.sqrt(2.0 * divergence)))
        ratios = np.resize(loop.make_diverging_ratios(divergence), len(storage.rewards))
        trainings.fill_storage_without_effect(storage, ratios)

    training = trainings.train_and_record(
        Scripted(),
        len(divergences_left),
        steps=2 * minibatches,
        change=change_storage,
        num_mini_batches=minibatches,
        entropy_coef=0.0,
        **{**_make_adaptive_settings(inputs), **algorithm},
    )
    return np.array(training.rates) / inputs["learning_rate"]


def _measure_rates_with_default_schedule(inputs: Inputs) -> np.ndarray:
    # what the class has by default, if nobody says "fixed"
    schedule = make_runner(Scripted(), 2).alg.schedule
    return _measure_rates_after_divergences(inputs, inputs["divergences"], schedule=schedule)


def _measure_bounds_of_rate(inputs: Inputs) -> np.ndarray:
    ends = [
        _measure_rates_after_divergences(inputs, [far] * inputs["updates"])[-1]
        for far in (0.1, 0.001)
    ]
    return np.log10(inputs["learning_rate"] * np.array(ends))


def _flag_targets_that_lower_rate(inputs: Inputs) -> list[bool]:
    distance, factor = map(trainings.make_column, (inputs["old_means"], inputs["old_deviations"]))
    change = partial(compat.move_stored_distribution, distance=distance, factor=factor)
    lowered = []
    for target in inputs["targets"]:
        settings = _make_adaptive_settings({"target": target, "learning_rate": 1e-3})
        training = trainings.train_and_record(Scripted(), steps=2, change=change, **settings)
        lowered.append(training.rates[0] < 0.99e-3)
    return lowered


def _measure_rate_of_unchanged_policy(inputs: Inputs) -> np.ndarray:
    training = trainings.train_and_record(Scripted(), steps=2, **_make_adaptive_settings(inputs))
    return np.array(training.rates) / inputs["learning_rate"]


def _measure_trained_deviation(inputs: Inputs) -> np.ndarray:
    training = trainings.train_and_record(
        Scripted(),
        steps=4,
        prepare=partial(compat.fix_outputs, log_deviation=float(np.log(inputs["deviation"]))),
        change=trainings.fill_storage_without_effect,
        learning_rate=inputs["learning_rate"],
        entropy_coef=1.0,
        max_grad_norm=trainings.NO_CLIP,
    )
    trained, logarithm = compat.find_trained_deviation(training.runner.alg)
    return (trained.exp() if logarithm else trained).detach().numpy()


def _measure_failure_at_negative_deviation(inputs: Inputs) -> list[float]:
    def prepare_agent(agent: Any) -> None:
        torch.nn.init.constant_(compat.find_trained_deviation(agent)[0], inputs["parameter"])

    try:
        training = trainings.train_and_record(Scripted(), steps=2, prepare=prepare_agent)
    except (RuntimeError, ValueError):
        # what torch says of a normal distribution without a positive deviation
        return [1.0, 0.0]
    return [0.0, round(np.log10(abs(training.rollouts[0].deviations[0].item())))]


_NO_SCHEDULE = "has no linear schedule (adaptive.default: the rate follows the divergence)"
ABSENT: Mapping[str, str] = {
    "ppo.adam.epsilon.custom": "has no options of the optimiser to set",
    "ppo.kl_estimator": "compares distributions, and estimates nothing (adaptive.divergence)",
    "ppo.iterations": "has a number of rollouts to set, not of steps",
    "ppo.vectorisation": "has a number of rollouts to set, not of steps",
    "ppo.learning_rate.schedule": _NO_SCHEDULE,
    "ppo.learning_rate.negative": _NO_SCHEDULE,
}
PROBES: Mapping[str, Probe] = {
    **{
        id: partial(measure, trainings.train)
        for id, measure in measured.MEASUREMENTS.items()
        if id not in ABSENT
    },
    "ppo.adam.epsilon": _measure_adam_epsilon,
    "ppo.parallel_gradient": partial(
        count_processes_and_backward_passes_per_step, partial(measured.run_loop, trainings.train)
    ),
    "ppo.learning_rate.adaptive": lambda inputs: _measure_rates_after_divergences(
        inputs, inputs["divergences"]
    ),
    "adaptive.default": _measure_rates_with_default_schedule,
    "adaptive.bounds": _measure_bounds_of_rate,
    "adaptive.divergence": _flag_targets_that_lower_rate,
    "adaptive.moment": lambda inputs: _measure_rates_after_divergences(
        inputs, [0.1] * 2, inputs["minibatches"]
    ),
    "adaptive.unchanged": _measure_rate_of_unchanged_policy,
    "deviation.parameter": _measure_trained_deviation,
    "deviation.negative": _measure_failure_at_negative_deviation,
}
