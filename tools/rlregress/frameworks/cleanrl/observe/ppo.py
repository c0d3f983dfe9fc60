"""Probes of ``ppo_continuous_action.py``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from rlregress.frameworks.cleanrl.observe.drivers import measured_by
from rlregress.frameworks.cleanrl.observe.helpers.rollouts import Optimiser, constant_rollouts
from rlregress.frameworks.cleanrl.script_sources import Source
from rlregress.frameworks.cleanrl.stubs import use_float64
from rlregress.measurements import ppo
from rlregress.probing.driven import fill_parameters
from rlregress.probing.interface import Inputs
from rlregress.probing.layers import (
    last_linear_layer,
    linear_layers,
    log_epsilon,
    measure_ppo_initialisation,
)


def _update(source: Source, settings: ppo.Settings) -> ppo.Effects:
    """See ``measurements.ppo.Update``."""
    flags = settings.named(
        value_clip="clip_coef", value_coefficient="vf_coef", entropy_coefficient="ent_coef"
    )
    if settings.value_clip is not None:
        flags["clip_vloss"] = settings.value_clip > 0.0
    # one range clips the policy and the value
    flags.update(settings.named(clip_range="clip_coef"))
    part = Optimiser(source, settings.count, norm_adv=False, **flags)
    part.fix_value(settings.value)
    fill_parameters([part.agent.actor_logstd], settings.log_deviation)
    part.feed_ratio(settings.ratios)
    part.feed(advantages=settings.advantages, returns=settings.returns, values=settings.old_values)
    loss = part.value("total loss", "loss")["loss"]
    parameters = last_linear_layer(part.agent.critic).bias, part.agent.actor_logstd
    gradients = torch.autograd.grad(loss, parameters)
    # the norm at the optimiser's step: gradient_clip
    return ppo.Effects(float(loss), float("nan"), *map(float, gradients))


def _losses_of_policy(
    source: Source, inputs: Inputs, minibatch: int = 0, **flags: Any
) -> Sequence[float]:
    """Return the loss of each minibatch, which is the policy's alone; no parameter moves."""
    advantages = inputs["advantages"]
    part = Optimiser(source, len(advantages), minibatch, vf_coef=0.0, ent_coef=0.0, **flags)
    part.freeze()
    part.feed_ratio(np.full(len(advantages), float(inputs["ratio"])))
    part.feed(advantages=advantages)
    return part.optimise()[0]


def normalisation(source: Source, inputs: Inputs) -> np.ndarray:
    """Return the mean over minibatches of the policy loss, normalised as by default."""
    return np.array([np.mean(_losses_of_policy(source, inputs, int(inputs["minibatch_size"])))])


def normalisation_epsilon(source: Source, inputs: Inputs) -> np.ndarray:
    """Return the policy loss of one minibatch of nearly equal advantages."""
    with use_float64():
        losses = _losses_of_policy(source, inputs, norm_adv=True)
    return np.array(losses)


def initialisation(source: Source, inputs: Inputs) -> np.ndarray:
    """Return singular values of the layers of policy and value network, and the largest bias."""
    agent = Optimiser(
        source,
        2,
        observations=int(inputs["observation_dimensions"]),
        dimensions=int(inputs["action_dimensions"]),
    ).agent.double()
    return np.array(
        measure_ppo_initialisation(linear_layers(agent.actor_mean) + linear_layers(agent.critic))
    )


def action_bounding(source: Source, inputs: Inputs) -> np.ndarray:
    """Return actions that the environment received, then those that are stored."""
    received, stored = [], []
    for environment, rollout in constant_rollouts(source, inputs, inputs["samples"]):
        received.append(environment.received[-1].item())
        stored.append(rollout.vector("actions").item())
    return np.array(received + stored)


def gradient_clip(source: Source, inputs: Inputs) -> np.ndarray:
    """Return the norm of all gradients at the optimiser's step."""
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


_measured = measured_by(_update)
PROBES: dict[str, Callable[[Source, Inputs], np.ndarray]] = {
    **{id: _measured(measure) for id, measure in ppo.MEASUREMENTS.items()},
    "ppo.advantage_normalisation": normalisation,
    "ppo.advantage_normalisation.epsilon": normalisation_epsilon,
    "ppo.gradient_clip": gradient_clip,
    "ppo.initialisation": initialisation,
    "ppo.action.bounding": action_bounding,
    "ppo.adam.epsilon": adam_epsilon,
}
