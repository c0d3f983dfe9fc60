"""Probes of ``ppo_continuous_action.py``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from rlregress.frameworks.cleanrl.observe.helpers.rollouts import Optimiser, constant_rollouts
from rlregress.frameworks.cleanrl.script_sources import Source
from rlregress.frameworks.cleanrl.stubs import precise
from rlregress.probing.interface import Inputs
from rlregress.probing.layers import log_epsilon


def policy_loss(source: Source, inputs: Inputs) -> np.ndarray:
    """The loss of the ratios and advantages of one minibatch."""
    part = Optimiser(
        source, len(inputs["ratios"]), norm_adv=False, clip_coef=float(inputs["clip_range"])
    )
    part.feed_ratio(inputs["ratios"])
    part.feed(advantages=inputs["advantages"])
    return np.array([part.value("policy loss", "pg_loss").number("pg_loss")])


def _losses_of_policy(
    source: Source, inputs: Inputs, minibatch: int = 0, **flags: Any
) -> Sequence[float]:
    """The loss of each minibatch, which is the policy's alone, nothing moves."""
    advantages = inputs["advantages"]
    part = Optimiser(source, len(advantages), minibatch, vf_coef=0.0, ent_coef=0.0, **flags)
    part.freeze()
    part.feed_ratio(np.full(len(advantages), float(inputs["ratio"])))
    part.feed(advantages=advantages)
    return part.optimise()[0]


def normalisation(source: Source, inputs: Inputs) -> np.ndarray:
    """Mean over minibatches of the policy loss, normalised as by default."""
    return np.array([np.mean(_losses_of_policy(source, inputs, int(inputs["minibatch_size"])))])


def normalisation_epsilon(source: Source, inputs: Inputs) -> np.ndarray:
    """The policy loss of one minibatch of nearly equal advantages."""
    with precise():
        losses = _losses_of_policy(source, inputs, norm_adv=True)
    return np.array(losses)


def _value_loss(
    source: Source, value: float, returns: Any, old_values: Any = 0.0, **flags: Any
) -> float:
    part = Optimiser(source, len(returns), **flags)
    part.fix_value(value)
    part.feed(returns=returns, values=old_values)
    return part.value("value loss", "v_loss").number("v_loss")


def value_loss_scale(source: Source, inputs: Inputs) -> np.ndarray:
    """The value loss before its coefficient."""
    returns = np.full(int(inputs["batch_size"]), float(inputs["return"]))
    return np.array([_value_loss(source, inputs["value"], returns, clip_vloss=False)])


def _total_loss(source: Source, **terms: float) -> float:
    """The total loss where each term is a number."""
    names = {"pg_loss": 0.0, "v_loss": 0.0, "entropy_loss": 0.0, **terms}
    variables = {name: torch.tensor(number) for name, number in names.items()}
    return Optimiser(source, 2).value("total loss", "loss", **variables).number("loss")


def value_loss_coefficient(source: Source, inputs: Inputs) -> np.ndarray:
    """The total loss of a value loss of 1."""
    return np.array([_total_loss(source, v_loss=1.0)])


def value_loss_distance(source: Source, inputs: Inputs) -> np.ndarray:
    """The value loss at each error over that at the first."""
    returns = np.full(int(inputs["batch_size"]), float(inputs["return"]))
    losses = np.array(
        [
            _value_loss(source, float(inputs["return"]) + error, returns, clip_vloss=False)
            for error in inputs["errors"]
        ]
    )
    return losses[1:] / losses[0]


def _value_clip(source: Source, inputs: Inputs, **flags: Any) -> np.ndarray:
    losses = [
        _value_loss(source, inputs["value"], returns, old_values, **flags)
        for returns, old_values in zip(inputs["returns"], inputs["old_values"], strict=False)
    ]
    return np.array([losses[0] / losses[2], losses[1] / losses[2]])


def value_clip(source: Source, inputs: Inputs) -> np.ndarray:
    """Value losses with the clip switched on."""
    clip = float(inputs["clip_range"])
    return _value_clip(source, inputs, clip_vloss=True, clip_coef=clip)


def value_clip_default(source: Source, inputs: Inputs) -> np.ndarray:
    """Value losses as by default."""
    return _value_clip(source, inputs)


def initialisation(source: Source, inputs: Inputs) -> np.ndarray:
    """Singular values of the layers of policy and value network, and the largest bias."""
    agent = Optimiser(
        source,
        2,
        observations=int(inputs["observation_dimensions"]),
        dimensions=int(inputs["action_dimensions"]),
    ).agent
    layers = [
        layer
        for network in (agent.actor_mean, agent.critic)
        for layer in network.modules()
        if isinstance(layer, torch.nn.Linear)
    ]
    extremes = []
    for layer in layers:
        singular = torch.linalg.svdvals(layer.weight.detach().double())
        extremes += [float(singular.min()), float(singular.max())]
    biases = [float(layer.bias.detach().abs().max()) for layer in layers]
    return np.array([*extremes, max(biases)])


def action_bounding(source: Source, inputs: Inputs) -> np.ndarray:
    """Actions that the environment received, then those that are stored."""
    received, stored = [], []
    for environment, rollout in constant_rollouts(source, inputs, inputs["samples"]):
        received.append(environment.received[-1].item())
        stored.append(rollout.vector("actions").item())
    return np.array(received + stored)


def entropy_bonus(source: Source, inputs: Inputs) -> np.ndarray:
    """Derivative of the total loss with respect to the log standard deviation."""
    part = Optimiser(source, 8, norm_adv=False, ent_coef=float(inputs["coefficient"]))
    part.fix_value(0.0)
    part.feed_ratio(np.ones(8))
    loss = part.value("total loss", "loss")["loss"]
    return torch.autograd.grad(loss, part.agent.actor_logstd)[0].numpy().reshape(1)


def entropy_coefficient(source: Source, inputs: Inputs) -> np.ndarray:
    """How much an entropy of 1 takes from the total loss."""
    return np.array([-_total_loss(source, entropy_loss=1.0)])


def gradient_clip(source: Source, inputs: Inputs) -> np.ndarray:
    """The norm of all gradients at the optimiser's step."""
    part = Optimiser(source, 8, norm_adv=False)
    large = 100.0 * float(inputs["raw_norm"])
    part.names["b_actions"] = torch.full((8, 1), 3.0)
    part.feed_ratio(np.ones(8))
    part.feed(advantages=np.full(8, large), returns=np.full(8, large))
    return np.array([min(part.optimise()[1][0], float(inputs["cap"]))])


def adam_epsilon(source: Source, inputs: Inputs) -> np.ndarray:
    """log10 of the epsilon of the script's optimiser."""
    names = Optimiser(source, 2).names
    return np.array([log_epsilon(names["optimizer"], names["agent"].parameters())])


PROBES: dict[str, Callable[[Source, Inputs], np.ndarray]] = {
    "ppo.policy_loss.clip": policy_loss,
    "ppo.advantage_normalisation": normalisation,
    "ppo.advantage_normalisation.epsilon": normalisation_epsilon,
    "ppo.value_loss.scale": value_loss_scale,
    "ppo.value_loss.coefficient": value_loss_coefficient,
    "ppo.value_loss.distance": value_loss_distance,
    "ppo.value_clip": value_clip,
    "ppo.value_clip.default": value_clip_default,
    "ppo.initialisation": initialisation,
    "ppo.action.bounding": action_bounding,
    "ppo.entropy.bonus": entropy_bonus,
    "ppo.entropy.coefficient": entropy_coefficient,
    "ppo.gradient_clip": gradient_clip,
    "ppo.adam.epsilon": adam_epsilon,
}
