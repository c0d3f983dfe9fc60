"""Probes of PPO's update and loop, of its learning rate and of its trained deviation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch

from rlregress.frameworks.rsl_rl import compat
from rlregress.frameworks.rsl_rl.environments import Vectorised, make_runner
from rlregress.frameworks.rsl_rl.observe.helpers import trainings
from rlregress.measurements import ppo
from rlregress.measurements import ppo_loop as loop
from rlregress.measurements.loss_minimum import require_one_number
from rlregress.probing.interface import Inputs, Probe
from rlregress.probing.layers import read_log10_adam_eps
from rlregress.probing.parallel_updates import count_processes_and_backward_passes_per_step
from rlregress.probing.scripted import Scripted, make_counting_environment, make_script_of_end_after


def _run_update(settings: ppo.Settings) -> ppo.Effects:
    """Run one PPO update with these settings; return its loss and derivatives."""
    algorithm = trainings.map_settings(settings)
    if settings.value_clip is not None:
        algorithm["use_clipped_value_loss"] = settings.value_clip > 0.0
    if not settings.gradients_clipped:
        algorithm["max_grad_norm"] = trainings.NO_CLIP
    filled = {name: getattr(settings, name) for name in ("advantages", "returns", "ratios")}
    training = trainings.train_and_record(
        Scripted(),
        steps=settings.count,
        prepare=partial(
            compat.fix_outputs, critic=settings.value, log_deviation=settings.log_deviation
        ),
        change=partial(trainings.fill_storage, values=settings.old_values, **filled),
        **algorithm,
    )
    return ppo.Effects(
        require_one_number(training.losses),
        require_one_number(training.gradient_norms["policy"]),
        training.get_gradient_of_last_bias("critic"),
        require_one_number(training.log_std_gradients),
    )


def _list_policy_losses_for_rewards(
    inputs: Inputs, minibatches: int, **algorithm: Any
) -> list[float]:
    """Return the policy losses of a rollout in which each reward equals the step's advantage."""
    rewards = inputs["advantages"]
    return trainings.train_and_record(
        Scripted(rewards=rewards, terminated=1.0),
        steps=len(rewards),
        change=partial(trainings.fill_storage, ratios=inputs["ratio"]),
        prepare=partial(compat.fix_outputs, critic=0.0),
        num_mini_batches=minibatches,
        clip_param=0.2,
        value_loss_coef=0.0,
        entropy_coef=0.0,
        **algorithm,
    ).losses


def _measure_loss_with_normalised_advantages(inputs: Inputs) -> np.ndarray:
    minibatches = len(inputs["advantages"]) // inputs["minibatch_size"]
    return np.array([np.mean(_list_policy_losses_for_rewards(inputs, minibatches))])


def _measure_finiteness_and_loss_of_single_sample(inputs: Inputs) -> list[float]:
    single_step = {"advantages": [inputs["advantage"]], "ratio": 1.0}
    options = {"normalize_advantage_per_mini_batch": True}
    (loss,) = _list_policy_losses_for_rewards(single_step, 1, **options)
    return [1.0, loss] if np.isfinite(loss) else [0.0, 0.0]


def _measure_adam_epsilon(inputs: Inputs) -> list[float]:
    del inputs
    agent = make_runner(Scripted(), 8).alg
    models = compat.find_acting_module(agent), getattr(agent, "critic", None)
    parameters = [p for model in models if model is not None for p in model.parameters()]
    return [read_log10_adam_eps(agent.optimizer, parameters)]


def _train_with_settings(settings: loop.Settings) -> trainings.AgentTraining:
    """Train PPO with these settings, and return the record."""
    environments = [
        make_counting_environment(settings.total, **settings.make_environment_script())
        for _ in range(settings.environments)
    ]
    fixed, filled = {}, {}
    options: dict[str, Any] = {}
    if settings.monte_carlo:
        fixed["critic"] = 0.0
        options.update(gamma=1.0, lam=1.0)
    if settings.advantage is not None:
        filled["advantages"] = settings.advantage
        options.update(value_loss_coef=0.0, entropy_coef=0.0, max_grad_norm=trainings.NO_CLIP)
    return trainings.train_and_record(
        Vectorised(*environments),
        settings.total // (settings.steps * settings.environments),
        steps=settings.steps,
        num_mini_batches=settings.minibatches,
        prepare=partial(compat.fix_outputs, **fixed),
        change=partial(trainings.fill_storage, ratios=settings.ratio, **filled),
        **{**options, **trainings.map_settings(settings)},
    )


def _list_stored_observations_of_rollouts(inputs: Inputs) -> list[float]:
    limit = inputs["time_limit"]
    environment = make_counting_environment(
        limit, truncated=make_script_of_end_after(limit), restarts=True
    )
    training = trainings.train_and_record(environment, 3, steps=5)
    arrays = [array for rollout in training.rollouts for array in vars(rollout).values()]
    return [*np.concatenate(training.stored), any((array == limit).any() for array in arrays)]


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
    **{id: partial(measure, _run_update) for id, measure in ppo.MEASUREMENTS.items()},
    "ppo.advantage_normalisation": _measure_loss_with_normalised_advantages,
    "ppo.advantage_normalisation.epsilon": partial(_list_policy_losses_for_rewards, minibatches=1),
    "ppo.advantage_normalisation.single": _measure_finiteness_and_loss_of_single_sample,
    "ppo.adam.epsilon": _measure_adam_epsilon,
    **{
        id: partial(measure, _train_with_settings)
        for id, measure in loop.MEASUREMENTS.items()
        if id not in ABSENT
    },
    "ppo.parallel_gradient": partial(
        count_processes_and_backward_passes_per_step, _train_with_settings
    ),
    "ppo.segments": _list_stored_observations_of_rollouts,
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
