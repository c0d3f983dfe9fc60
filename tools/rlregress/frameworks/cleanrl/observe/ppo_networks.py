"""Probes of a PPO script's networks and of parts of its loss, for ``ppo_loop``."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from rlregress.frameworks.cleanrl.observe.helpers.rollouts import Optimiser, constant_rollouts
from rlregress.frameworks.cleanrl.script_sources import Source
from rlregress.probing.interface import Inputs
from rlregress.probing.layers import last_linear, linear_layers, ppo_architecture


def networks(source: Source, inputs: Inputs) -> np.ndarray:
    """Widths of policy and value network, shared layers, activation function."""
    agent: Any = Optimiser(source, 2).agent
    parts = [agent.actor_mean, agent.critic]
    return ppo_architecture(parts, 1, parts, torch.as_tensor(np.asarray(inputs["fed"])))


def log_std(source: Source, inputs: Inputs) -> np.ndarray:
    """The log standard deviation, from the entropy of the policy, at two observations."""
    agent: Any = Optimiser(source, 2).agent
    for layer in linear_layers(agent):
        torch.nn.init.zeros_(layer.bias)
    sample = getattr(agent, "get_action_and_value", None) or agent.get_action
    logs = []
    for x in (0.0, float(inputs["observation"])):
        with torch.no_grad():
            entropy = float(sample(torch.tensor([[x]]))[2])
        logs.append(entropy - 0.5 * (1.0 + math.log(2.0 * math.pi)))
    return np.array([logs[0], abs(logs[1] - logs[0]) > 1e-6])


def action_distribution(source: Source, inputs: Inputs) -> np.ndarray:
    """Actions received where the deviation vanishes."""
    rollouts = constant_rollouts(source, inputs, inputs["means"])
    return np.array([environment.received[-1].item() for environment, _ in rollouts])


def value_clip_range(source: Source, inputs: Inputs) -> np.ndarray:
    """The value loss with the clip, over that without anything to clip."""
    part = Optimiser(source, 8, clip_vloss=True, clip_coef=float(inputs["policy_clip_range"]))
    part.fix_value(float(inputs["value"]))
    losses = []
    for old in (inputs["old_value"], inputs["value"]):
        part.feed(returns=inputs["return"], values=old)
        losses.append(part.value("value loss", "v_loss").number("v_loss"))
    return np.array([losses[0] / losses[1]])


def _value_gradients(source: Source, inputs: Inputs, clip: bool) -> np.ndarray:
    part = Optimiser(source, 8, clip_vloss=clip, clip_coef=float(inputs["clip_range"]))
    agent: Any = part.agent
    bias = last_linear(agent.critic).bias
    gradients = []
    for value, expected in zip(inputs["values"], inputs["returns"], strict=False):
        part.fix_value(float(value))
        part.feed(returns=expected, values=inputs["old_value"])
        loss = part.value("value loss", "v_loss")["v_loss"]
        gradients.append(float(torch.autograd.grad(loss, bias)[0]))
    return np.array(gradients)


def value_clip_gradient(source: Source, inputs: Inputs) -> np.ndarray:
    """Derivative of the value loss with the clip, over that without."""
    return _value_gradients(source, inputs, True) / _value_gradients(source, inputs, False)


def loss_sign(source: Source, inputs: Inputs) -> np.ndarray:
    """How the total loss changes with its parts."""
    coefficient = float(inputs["coefficient"])
    part = Optimiser(source, 8, norm_adv=False, ent_coef=coefficient)
    agent: Any = part.agent
    part.fix_value(0.0)

    def loss(**feed: float) -> float:
        part.feed_ratio(np.ones(8))
        part.feed(**{"advantages": 0.0, "returns": 0.0, **feed})
        return part.value("total loss", "loss").number("loss")

    without = loss()
    changes = [loss(advantages=1.0) - without, np.sign(loss(returns=1.0) - without)]
    with torch.no_grad():
        agent.actor_logstd.fill_(1.0)
    return np.array([*changes, (loss() - without) / coefficient])


def kl_estimator(source: Source, inputs: Inputs) -> np.ndarray:
    """Return the divergence that the script compares with its threshold."""
    part = Optimiser(source, len(inputs["ratios"]))
    part.feed_ratio(inputs["ratios"])
    return np.array([part.value("divergence", "approx_kl").number("approx_kl")])


def normalisation_of_one(source: Source, inputs: Inputs) -> np.ndarray:
    """The policy loss of a minibatch of one sample, if it is a number."""
    part = Optimiser(source, 1, norm_adv=True)
    part.feed_ratio(np.ones(1))
    part.feed(advantages=inputs["advantage"])
    with warnings.catch_warnings():
        # PyTorch says that a deviation of one number has no degree of freedom
        warnings.simplefilter("ignore")
        loss = part.value("policy loss", "pg_loss").number("pg_loss")
    return np.array([1.0, loss] if np.isfinite(loss) else [0.0, 0.0])


PROBES: dict[str, Callable[[Source, Inputs], np.ndarray]] = {
    "ppo.networks": networks,
    "ppo.log_std": log_std,
    "ppo.action.distribution": action_distribution,
    "ppo.value_clip.range": value_clip_range,
    "ppo.value_clip.gradient": value_clip_gradient,
    "ppo.loss.sign": loss_sign,
    "ppo.advantage_normalisation.single": normalisation_of_one,
    "ppo.kl_estimator": kl_estimator,
}
