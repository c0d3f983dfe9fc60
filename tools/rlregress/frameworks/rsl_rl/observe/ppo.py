"""Probes of PPO's update: its own ``update`` on its own storage."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from rlregress.frameworks.rsl_rl import compat
from rlregress.frameworks.rsl_rl.observe.helpers import trainings
from rlregress.measurements import ppo
from rlregress.probing import watched_updates
from rlregress.probing.interface import Inputs, Probe
from rlregress.probing.layers import read_log10_adam_eps
from rlregress.probing.scripted import Scripted


def _run_update(settings: ppo.Settings) -> ppo.Effects:
    """Run one PPO update with these settings; return its loss and derivatives."""

    def prepare_agent(agent: Any) -> None:
        compat.fix_network_output(agent, "critic", settings.value)
        compat.set_log_deviation_of_policy(agent, settings.log_deviation)

    def change_storage(storage: Any) -> None:
        numbers = {"advantages": settings.advantages, "returns": settings.returns}
        trainings.fill_storage(storage, **numbers, values=settings.old_values)
        trainings.set_ratios_of_storage(storage, settings.ratios)

    algorithm = settings.map_to_framework_names(
        value_clip="clip_param",
        clip_range="clip_param",
        value_coefficient="value_loss_coef",
        entropy_coefficient="entropy_coef",
    )
    if settings.value_clip is not None:
        algorithm["use_clipped_value_loss"] = settings.value_clip > 0.0
    if not settings.gradients_clipped:
        algorithm["max_grad_norm"] = trainings.NO_CLIP
    training = trainings.train_and_record(
        Scripted(),
        1,
        steps=settings.count,
        change=change_storage,
        prepare=prepare_agent,
        learning_rate=trainings.FROZEN,
        **algorithm,
    )
    return ppo.Effects(
        watched_updates.require_one_number(training.losses),
        watched_updates.require_one_number(training.gradient_norms),
        trainings.get_gradient_of_trained_bias(
            compat.find_layers_of_network(training.algorithm, "critic")
        ),
        watched_updates.require_one_number(training.log_std_gradients),
    )


def _list_policy_losses_for_rewards(
    inputs: Inputs, minibatches: int, **algorithm: Any
) -> np.ndarray:
    """Return the policy losses of a rollout in which each reward equals the step's advantage."""
    rewards = inputs["advantages"]
    training = trainings.train_and_record(
        Scripted(rewards=rewards, terminated=1.0),
        1,
        steps=len(rewards),
        change=lambda storage: trainings.set_ratios_of_storage(storage, inputs["ratio"]),
        prepare=lambda agent: compat.fix_network_output(agent, "critic", 0.0),
        num_mini_batches=minibatches,
        learning_rate=trainings.FROZEN,
        clip_param=0.2,
        value_loss_coef=0.0,
        entropy_coef=0.0,
        **algorithm,
    )
    return np.array(training.losses)


def _measure_loss_with_normalised_advantages(inputs: Inputs) -> np.ndarray:
    minibatches = len(inputs["advantages"]) // int(inputs["minibatch_size"])
    return np.array([np.mean(_list_policy_losses_for_rewards(inputs, minibatches))])


def _measure_finiteness_and_loss_of_single_sample(inputs: Inputs) -> np.ndarray:
    single_step = {"advantages": [inputs["advantage"]], "ratio": 1.0}
    (loss,) = _list_policy_losses_for_rewards(
        single_step, 1, normalize_advantage_per_mini_batch=True
    )
    return np.array([1.0, loss] if np.isfinite(loss) else [0.0, 0.0])


def _measure_adam_epsilon(inputs: Inputs) -> np.ndarray:
    del inputs
    agent = trainings.make_runner(Scripted(), 8).alg
    models = {
        id(model): model
        for model in (compat.find_acting_module(agent), getattr(agent, "critic", None))
    }
    parameters = [p for model in models.values() if model is not None for p in model.parameters()]
    return np.array([read_log10_adam_eps(agent.optimizer, parameters)])


PROBES: Mapping[str, Probe] = {
    **{id: partial(measure, _run_update) for id, measure in ppo.MEASUREMENTS.items()},
    "ppo.advantage_normalisation": _measure_loss_with_normalised_advantages,
    "ppo.advantage_normalisation.epsilon": partial(_list_policy_losses_for_rewards, minibatches=1),
    "ppo.advantage_normalisation.single": _measure_finiteness_and_loss_of_single_sample,
    "ppo.adam.epsilon": _measure_adam_epsilon,
}
ABSENT: Mapping[str, str] = {"ppo.adam.epsilon.custom": "has no options of the optimiser to set"}
