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
from rlregress.probing.layers import log_epsilon, make_constant
from rlregress.probing.scripted import Scripted


def _update(settings: ppo.Settings) -> ppo.Effects:
    """See ``measurements.ppo.Update``."""

    def prepare(agent: Any) -> None:
        make_constant(compat.find_network(agent, "critic"), settings.value)
        compat.set_log_deviation(agent, settings.log_deviation)

    def change(storage: Any) -> None:
        numbers = {"advantages": settings.advantages, "returns": settings.returns}
        trainings.feed_storage(storage, **numbers, values=settings.old_values)
        trainings.lower(storage, settings.ratios)

    algorithm = settings.named(
        value_clip="clip_param",
        clip_range="clip_param",
        value_coefficient="value_loss_coef",
        entropy_coefficient="entropy_coef",
    )
    if settings.value_clip is not None:
        algorithm["use_clipped_value_loss"] = settings.value_clip > 0.0
    if not settings.gradients_clipped:
        algorithm["max_grad_norm"] = trainings.NO_CLIP
    training = trainings.train(
        Scripted(),
        1,
        steps=settings.count,
        change=change,
        prepare=prepare,
        learning_rate=trainings.FROZEN,
        **algorithm,
    )
    return ppo.Effects(
        watched_updates.require_one_number(training.losses),
        watched_updates.require_one_number(training.gradient_norms),
        trainings.trained_bias_gradient(compat.find_network(training.algorithm, "critic")),
        watched_updates.require_one_number(training.log_std_gradients),
    )


def _losses_for_rewards(inputs: Inputs, minibatches: int, **algorithm: Any) -> np.ndarray:
    """Return policy losses where every step ends an episode: its reward is its advantage."""
    rewards = inputs["advantages"]
    training = trainings.train(
        Scripted(rewards=rewards, terminated=1.0),
        1,
        steps=len(rewards),
        change=lambda storage: trainings.lower(storage, inputs["ratio"]),
        prepare=lambda agent: make_constant(compat.find_network(agent, "critic"), 0.0),
        num_mini_batches=minibatches,
        learning_rate=trainings.FROZEN,
        clip_param=0.2,
        value_loss_coef=0.0,
        entropy_coef=0.0,
        **algorithm,
    )
    return np.array(training.losses)


def _normalisation(inputs: Inputs) -> np.ndarray:
    minibatches = len(inputs["advantages"]) // int(inputs["minibatch_size"])
    return np.array([np.mean(_losses_for_rewards(inputs, minibatches))])


def _normalisation_of_one(inputs: Inputs) -> np.ndarray:
    single_step = {"advantages": [inputs["advantage"]], "ratio": 1.0}
    (loss,) = _losses_for_rewards(single_step, 1, normalize_advantage_per_mini_batch=True)
    return np.array([1.0, loss] if np.isfinite(loss) else [0.0, 0.0])


def _adam_epsilon(inputs: Inputs) -> np.ndarray:
    del inputs
    agent = trainings.make(Scripted(), 8).alg
    models = {
        id(model): model for model in (compat.find_policy(agent), getattr(agent, "critic", None))
    }
    parameters = [p for model in models.values() if model is not None for p in model.parameters()]
    return np.array([log_epsilon(agent.optimizer, parameters)])


PROBES: Mapping[str, Probe] = {
    **{id: partial(measure, _update) for id, measure in ppo.MEASUREMENTS.items()},
    "ppo.advantage_normalisation": _normalisation,
    "ppo.advantage_normalisation.epsilon": partial(_losses_for_rewards, minibatches=1),
    "ppo.advantage_normalisation.single": _normalisation_of_one,
    "ppo.adam.epsilon": _adam_epsilon,
}
ABSENT: Mapping[str, str] = {
    "ppo.adam.epsilon.custom": "has no options of the optimiser to set",
}
