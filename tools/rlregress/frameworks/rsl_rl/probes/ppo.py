"""Probes of PPO's update: its own ``update`` on its own storage."""

from __future__ import annotations

from functools import partial
from typing import Any, Mapping

import numpy as np
import torch

from rlregress.frameworks.base import Inputs, Probe
from rlregress.frameworks.layers import make_constant
from rlregress.frameworks.rsl_rl import compat
from rlregress.frameworks.rsl_rl.probes.helpers import trainings
from rlregress.frameworks.scripted import Scripted

_NO_OTHER_LOSS: Mapping[str, Any] = {"value_loss_coef": 0.0, "entropy_coef": 0.0}
_UNCLIPPED: Mapping[str, Any] = {"use_clipped_value_loss": False}


def _update(
    n: int,
    *,
    value: float = 0.0,
    ratios: Any = 1.0,
    log_deviation: float = 0.0,
    stored: Mapping[str, Any],
    **algorithm: Any,
) -> trainings.AgentTraining:
    """One update on n samples with V(s) = ``value`` that moves nothing.

    Args:
        stored: advantages, returns and values of the rollout; 0 if not named.
    """

    def prepare(agent: Any) -> None:
        make_constant(compat.network(agent, "critic"), value)
        compat.set_log_deviation(agent, log_deviation)

    def change(storage: Any) -> None:
        trainings.feed(storage, **{"advantages": 0.0, "returns": 0.0, "values": 0.0, **stored})
        trainings.lower(storage, ratios)

    algorithm = {"learning_rate": trainings.FROZEN, **algorithm}
    return trainings.train(Scripted(), 1, steps=n, change=change, prepare=prepare, **algorithm)


def _loss(n: int, **arguments: Any) -> float:
    return trainings.only(_update(n, **arguments).losses)


def _policy_loss(inputs: Inputs) -> np.ndarray:
    loss = _loss(
        len(inputs["ratios"]),
        ratios=inputs["ratios"],
        stored={"advantages": inputs["advantages"]},
        clip_param=float(inputs["clip_range"]),
        **_NO_OTHER_LOSS,
    )
    return np.array([loss])


def _of_rewards(inputs: Inputs, minibatches: int, **algorithm: Any) -> np.ndarray:
    """Policy losses where every step ends an episode, so that its reward is its advantage."""
    rewards = inputs["advantages"]
    training = trainings.train(
        Scripted(rewards=rewards, terminated=1.0),
        1,
        steps=len(rewards),
        change=lambda storage: trainings.lower(storage, inputs["ratio"]),
        prepare=lambda agent: make_constant(compat.network(agent, "critic"), 0.0),
        num_mini_batches=minibatches,
        learning_rate=trainings.FROZEN,
        clip_param=0.2,
        **_NO_OTHER_LOSS,
        **algorithm,
    )
    return np.array(training.losses)


def _normalisation(inputs: Inputs) -> np.ndarray:
    minibatches = len(inputs["advantages"]) // int(inputs["minibatch_size"])
    return np.array([np.mean(_of_rewards(inputs, minibatches))])


def _normalisation_of_one(inputs: Inputs) -> np.ndarray:
    loss = _loss(
        1,
        stored={"advantages": inputs["advantage"]},
        normalize_advantage_per_mini_batch=True,
        **_NO_OTHER_LOSS,
    )
    return np.array([1.0, loss] if np.isfinite(loss) else [0.0, 0.0])


def _value_loss(n: int, value: float, stored: Mapping[str, Any], **algorithm: Any) -> float:
    weights = {"value_loss_coef": 1.0, "entropy_coef": 0.0, **algorithm}
    return _loss(n, value=value, stored=stored, **weights)


def _value_loss_scale(inputs: Inputs) -> np.ndarray:
    stored = {"returns": inputs["return"], "values": inputs["value"]}
    loss = _value_loss(int(inputs["batch_size"]), inputs["value"], stored, **_UNCLIPPED)
    return np.array([loss])


def _value_loss_distance(inputs: Inputs) -> np.ndarray:
    wanted, count = float(inputs["return"]), int(inputs["batch_size"])
    losses = [
        _value_loss(count, value, {"returns": wanted, "values": value}, **_UNCLIPPED)
        for value in wanted + inputs["errors"]
    ]
    return np.array(losses[1:]) / losses[0]


def _value_loss_coefficient(inputs: Inputs) -> np.ndarray:
    del inputs
    stored = {"returns": 5.0, "values": 3.0}
    by_default = _loss(8, value=3.0, stored=stored, entropy_coef=0.0)
    return np.array([by_default / _value_loss(8, 3.0, stored)])


def _value_clip(inputs: Inputs, **algorithm: Any) -> np.ndarray:
    losses = [
        _value_loss(
            len(old),
            inputs["value"],
            {"values": old, "returns": returns},
            clip_param=float(inputs["clip_range"]),
            **algorithm,
        )
        for old, returns in zip(inputs["old_values"], inputs["returns"])
    ]
    return np.array(losses[:2]) / losses[2]


def _value_clip_range(inputs: Inputs) -> np.ndarray:
    losses = [
        _value_loss(
            8,
            inputs["value"],
            {"returns": inputs["return"], "values": old},
            clip_param=float(inputs["policy_clip_range"]),
            use_clipped_value_loss=True,
        )
        for old in (inputs["old_value"], inputs["value"])
    ]
    return np.array([losses[0] / losses[1]])


def _value_gradients(inputs: Inputs, **algorithm: Any) -> np.ndarray:
    gradients = []
    for value, wanted in zip(inputs["values"], inputs["returns"]):
        stored = {"returns": wanted, "values": inputs["old_value"]}
        training = _update(
            8, value=value, stored=stored, max_grad_norm=trainings.NO_CLIP, **algorithm
        )
        gradients.append(
            trainings.trained_bias_gradient(compat.network(training.algorithm, "critic"))
        )
    return np.array(gradients)


def _value_clip_gradient(inputs: Inputs) -> np.ndarray:
    clipped = _value_gradients(
        inputs, use_clipped_value_loss=True, clip_param=float(inputs["clip_range"])
    )
    return clipped / _value_gradients(inputs, use_clipped_value_loss=False)


def _entropy_gradient(**algorithm: Any) -> float:
    training = _update(8, stored={}, max_grad_norm=trainings.NO_CLIP, **algorithm)
    return trainings.only(training.log_std_gradients)


def _entropy_bonus(inputs: Inputs) -> np.ndarray:
    return np.array([_entropy_gradient(entropy_coef=float(inputs["coefficient"]))])


def _entropy_coefficient(inputs: Inputs) -> np.ndarray:
    del inputs
    return np.array([_entropy_gradient() / _entropy_gradient(entropy_coef=1.0)])


def _gradient_clip(inputs: Inputs) -> np.ndarray:
    # Advantage and error are so large that each half has a norm far above the one asked for.
    far = 1e3 * float(inputs["raw_norm"])
    training = _update(8, stored={"advantages": far, "returns": far})
    return np.array([min(trainings.only(training.gradient_norms), float(inputs["cap"]))])


def _loss_sign(inputs: Inputs) -> np.ndarray:
    coefficient = float(inputs["coefficient"])

    def loss(log_deviation: float = 0.0, **stored: float) -> float:
        return _loss(8, stored=stored, log_deviation=log_deviation, entropy_coef=coefficient)

    without = loss()
    changes = [loss(advantages=1.0) - without, np.sign(loss(returns=1.0) - without)]
    return np.array([*changes, (loss(log_deviation=1.0) - without) / coefficient])


def _adam_epsilon(inputs: Inputs) -> np.ndarray:
    del inputs
    optimizer = trainings.make(Scripted(), 8).alg.optimizer
    if not isinstance(optimizer, torch.optim.Adam):
        raise RuntimeError(f"the optimiser is no Adam but {type(optimizer).__name__}")
    return np.log10([optimizer.param_groups[0]["eps"]])


PROBES: Mapping[str, Probe] = {
    "ppo.policy_loss.clip": _policy_loss,
    "ppo.advantage_normalisation": _normalisation,
    "ppo.advantage_normalisation.epsilon": partial(_of_rewards, minibatches=1),
    "ppo.advantage_normalisation.single": _normalisation_of_one,
    "ppo.value_loss.scale": _value_loss_scale,
    "ppo.value_loss.coefficient": _value_loss_coefficient,
    "ppo.value_loss.distance": _value_loss_distance,
    "ppo.value_clip": partial(_value_clip, use_clipped_value_loss=True),
    "ppo.value_clip.default": _value_clip,
    "ppo.value_clip.range": _value_clip_range,
    "ppo.value_clip.gradient": _value_clip_gradient,
    "ppo.entropy.bonus": _entropy_bonus,
    "ppo.entropy.coefficient": _entropy_coefficient,
    "ppo.gradient_clip": _gradient_clip,
    "ppo.loss.sign": _loss_sign,
    "ppo.adam.epsilon": _adam_epsilon,
}
ABSENT: Mapping[str, str] = {
    "ppo.adam.epsilon.custom": "has no options of the optimiser to set",
}
