"""Probes of PPO's update: its own ``update`` on a rollout that its trainer collected."""

from __future__ import annotations

from typing import Any, Mapping

import numpy as np
import torch

from rlregress.frameworks.base import Inputs, Probe
from rlregress.frameworks.driven import fill
from rlregress.frameworks.layers import linear_layers, make_constant
from rlregress.frameworks.scripted import Scripted
from rlregress.frameworks.skrl.agents import Training
from rlregress.frameworks.skrl.probes.helpers import instantiated
from rlregress.frameworks.skrl.probes.helpers.ppo_trainings import (
    feed,
    loss,
    only_value,
    train,
    updated,
)

_ROWS = 8


def _policy_loss(inputs: Inputs) -> np.ndarray:
    change = feed(advantages=inputs["advantages"], ratios=inputs["ratios"])
    clip = float(inputs["clip_range"])
    return np.array([loss(len(inputs["ratios"]), change, ratio_clip=clip, value_loss_scale=0.0)])


def _estimated(inputs: Inputs, parts: int) -> np.ndarray:
    """The policy loss where the advantages that are estimated are those of the inputs.

    V is 0 and nothing follows a step, so that rewards are advantages.
    """
    rewards = inputs["advantages"]
    training = train(
        len(rewards),
        Scripted(rewards=rewards, terminated=1.0),
        rollouts=len(rewards),
        change=lambda tensors: tensors["log_prob"].sub_(float(np.log(inputs["ratio"]))),
        prepare=lambda made: fill(made.models["value"].parameters(), 0.0),
        mini_batches=parts,
        learning_rate=0.0,
        value_loss_scale=0.0,
        ratio_clip=0.2,
    )
    return np.array([np.mean(training.losses)])


def _normalisation(inputs: Inputs) -> np.ndarray:
    return _estimated(inputs, len(inputs["advantages"]) // int(inputs["minibatch_size"]))


def _normalisation_of_one(inputs: Inputs) -> np.ndarray:
    found = float(_estimated({"advantages": [inputs["advantage"]], "ratio": 1.0}, 1)[0])
    return np.array([1.0, found] if np.isfinite(found) else [0.0, 0.0])


def _value_loss(value: float, returns: Any, old: Any, **settings: Any) -> float:
    change = feed(returns=returns, old_values=old)
    return loss(np.size(returns), change, value=value, **settings)


def _value_loss_scale(inputs: Inputs) -> np.ndarray:
    value, returns = float(inputs["value"]), np.full(_ROWS, inputs["return"])
    return np.array([_value_loss(value, returns, value, **only_value())])


def _value_loss_coefficient(inputs: Inputs) -> np.ndarray:
    returns = np.full(_ROWS, 1.0)
    scaled = _value_loss(0.5, returns, 0.5, value_clip=0.0)
    return np.array([scaled / _value_loss(0.5, returns, 0.5, **only_value())])


def _value_loss_distance(inputs: Inputs) -> np.ndarray:
    returns = np.full(int(inputs["batch_size"]), inputs["return"])
    values = [float(inputs["return"] + error) for error in inputs["errors"]]
    losses = [_value_loss(value, returns, value, **only_value()) for value in values]
    return np.array(losses[1:]) / losses[0]


def _value_clip(inputs: Inputs, **settings: Any) -> np.ndarray:
    cases = zip(inputs["old_values"], inputs["returns"])
    value = float(inputs["value"])
    losses = np.array([_value_loss(value, returns, old, **settings) for old, returns in cases])
    return losses[:2] / losses[2]


def _value_clip_range(inputs: Inputs) -> np.ndarray:
    settings = {
        "ratio_clip": float(inputs["policy_clip_range"]),
        "value_clip": float(inputs["value_clip_range"]),
    }
    value, returns = float(inputs["value"]), np.full(_ROWS, inputs["return"])
    losses = [_value_loss(value, returns, old, **settings) for old in (inputs["old_value"], value)]
    return np.array([losses[0] / losses[1]])


def _value_gradients(inputs: Inputs, clip: float) -> np.ndarray:
    gradients = []
    for value, wanted in zip(inputs["values"], inputs["returns"]):
        change = feed(returns=wanted, old_values=inputs["old_value"])
        training = updated(_ROWS, change, float(value), value_clip=clip, grad_norm_clip=0.0)
        gradients.append(training.value_gradients[-1])
    return np.array(gradients)


def _value_clip_gradient(inputs: Inputs) -> np.ndarray:
    return _value_gradients(inputs, float(inputs["clip_range"])) / _value_gradients(inputs, 0.0)


def _log_std_gradient(**settings: Any) -> float:
    return updated(_ROWS, grad_norm_clip=0.0, **settings).log_std_gradients[-1]


def _entropy_bonus(inputs: Inputs) -> np.ndarray:
    return np.array([_log_std_gradient(entropy_loss_scale=float(inputs["coefficient"]))])


def _entropy_coefficient(inputs: Inputs) -> np.ndarray:
    return np.array([_log_std_gradient() / _log_std_gradient(entropy_loss_scale=1.0)])


def _gradient_clip(inputs: Inputs) -> np.ndarray:
    far = 1e3 * float(inputs["raw_norm"])
    # a clipped value has no gradient
    (norm,) = updated(_ROWS, feed(far, far), value_clip=0.0).gradient_norms
    return np.array([min(norm, float(inputs["cap"]))])


def _adam_epsilon(inputs: Inputs) -> np.ndarray:
    return np.log10([Training("ppo").optimizers["policy"].param_groups[0]["eps"]])


def _loss_sign(inputs: Inputs) -> np.ndarray:
    coefficient = float(inputs["coefficient"])

    def total(deviation: float = 0.0, **fed: float) -> float:
        def prepare(made: Training) -> None:
            make_constant(made.models["value"], 0.0)
            fill([made.models["policy"].log_std], deviation)

        settings = {"learning_rate": 0.0, "entropy_loss_scale": coefficient}
        training = train(_ROWS, rollouts=_ROWS, change=feed(**fed), prepare=prepare, **settings)
        return training.losses[-1]

    without = total()
    changes = [total(advantages=1.0) - without, np.sign(total(returns=1.0) - without)]
    return np.array([*changes, (total(1.0) - without) / coefficient])


def _initialisation(inputs: Inputs) -> np.ndarray:
    sizes = [int(inputs["hidden"])] * 2
    dimensions = int(inputs["observation_dimensions"]), int(inputs["action_dimensions"])
    made = instantiated.Settings(sizes, "elu", *dimensions)
    layers = linear_layers(made.policy(stochastic=True)) + linear_layers(made.values(False))
    weights = [layer.weight.detach() for layer in layers]
    extremes = np.array([torch.linalg.svdvals(w)[[-1, 0]].numpy() for w in weights])
    if np.any(extremes[:, 1] > 1.01 * extremes[:, 0]):
        # no multiples of orthogonal ones
        largest = [float(w.abs().max()) * w.shape[1] ** 0.5 for w in weights]
        extremes = np.repeat(-np.round(largest, 1), 2)
    biases = [layer.bias.detach().numpy() for layer in layers]
    uneven = any(np.ptp(bias) > 0.0 for bias in biases)
    return np.array([*np.ravel(extremes), -1.0 if uneven else max(b.max() for b in biases)])


def _log_std(inputs: Inputs) -> np.ndarray:
    policy = instantiated.Settings([16], "elu", 1, 1).policy(stochastic=True)
    for layer in linear_layers(policy):
        fill([layer.bias], 0.0)
    logs = []
    for number in (0.0, float(inputs["observation"])):
        instantiated.called(policy)(torch.full((1, 1), number))
        logs.append(float(policy.distribution(role="policy").stddev.detach().log()))
    return np.array([logs[0], abs(logs[1] - logs[0]) > 1e-6])


def _acting(inputs: Inputs, mean: float, deviation: float = -20.0) -> Training:
    training = Training("ppo", Scripted(inputs["low"], inputs["high"]), rollouts=100)
    make_constant(training.models["policy"], mean)
    fill([training.models["policy"].log_std], deviation)
    return training


def _bounding(inputs: Inputs) -> np.ndarray:
    executed, stored = [], []
    for mean in inputs["samples"]:
        training = _acting(inputs, mean)
        training.run(1)
        executed.append(training.environments[0].received[-1].item())
        stored.append(float(training.stored("actions")[0]))
    return np.array(executed + stored)


def _distribution(inputs: Inputs) -> np.ndarray:
    executed = []
    for mean in inputs["means"]:
        training = _acting(inputs, mean, float(np.log(inputs["scale"])))
        training.trainer(1).eval()
        executed.append(training.environments[0].received[-1].item())
    return np.array(executed)


def _out_of_bounds(inputs: Inputs) -> np.ndarray:
    training = _acting(inputs, inputs["mean"])
    training.run(1)
    return training.environments[0].received[-1]


def _stored_log_prob(inputs: Inputs) -> np.ndarray:
    count = int(inputs["count"])
    training = train(
        count,
        rollouts=count,
        learning_rate=0.0,
        prepare=lambda made: make_constant(made.models["policy"], inputs["mean"]),
    )
    return np.array([np.mean(np.abs(np.concatenate(training.log_ratios)) > 0.01)])


PROBES: Mapping[str, Probe] = {
    "ppo.policy_loss.clip": _policy_loss,
    "ppo.advantage_normalisation": _normalisation,
    "ppo.advantage_normalisation.epsilon": lambda i: _estimated(i, 1),
    "ppo.advantage_normalisation.single": _normalisation_of_one,
    "ppo.value_loss.scale": _value_loss_scale,
    "ppo.value_loss.coefficient": _value_loss_coefficient,
    "ppo.value_loss.distance": _value_loss_distance,
    "ppo.value_clip": lambda i: _value_clip(i, value_clip=float(i["clip_range"])),
    "ppo.value_clip.default": _value_clip,
    "ppo.value_clip.range": _value_clip_range,
    "ppo.value_clip.gradient": _value_clip_gradient,
    "ppo.entropy.bonus": _entropy_bonus,
    "ppo.entropy.coefficient": _entropy_coefficient,
    "ppo.gradient_clip": _gradient_clip,
    "ppo.adam.epsilon": _adam_epsilon,
    "ppo.loss.sign": _loss_sign,
    "ppo.initialisation": _initialisation,
    "ppo.log_std": _log_std,
    "ppo.action.bounding": _bounding,
    "ppo.action.distribution": _distribution,
    "policy.out_of_bounds": _out_of_bounds,
    "policy.stored_log_prob": _stored_log_prob,
}
_WRITTEN_BY_USERS = "has no networks: users write models"
ABSENT: Mapping[str, str] = {
    "ppo.networks": _WRITTEN_BY_USERS,
    "ppo.adam.epsilon.custom": "has no options of the optimiser to set",
    "policy.centre.deterministic": _WRITTEN_BY_USERS,
    "policy.centre.gaussian": _WRITTEN_BY_USERS,
}
