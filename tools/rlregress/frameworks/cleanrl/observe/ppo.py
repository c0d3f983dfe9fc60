"""Probes of ``ppo_continuous_action.py``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from rlregress.frameworks.cleanrl.observe.drivers import make_probe_maker
from rlregress.frameworks.cleanrl.observe.helpers.rollouts import (
    ScriptUpdate,
    run_rollouts_of_constant_policies,
)
from rlregress.frameworks.cleanrl.script_sources import Source
from rlregress.frameworks.cleanrl.stubs import use_float64_by_default
from rlregress.measurements import ppo
from rlregress.probing.driven import fill_parameters
from rlregress.probing.interface import Inputs
from rlregress.probing.layers import (
    find_last_linear_layer,
    list_linear_layers,
    measure_ppo_initialisation,
    read_log10_adam_eps,
)


def _run_update(source: Source, settings: ppo.Settings) -> ppo.Effects:
    """Run the script's update with these settings; return its loss and derivatives."""
    flags = settings.map_to_framework_names(
        value_clip="clip_coef", value_coefficient="vf_coef", entropy_coefficient="ent_coef"
    )
    if settings.value_clip is not None:
        flags["clip_vloss"] = settings.value_clip > 0.0
    # one range clips the policy and the value
    flags.update(settings.map_to_framework_names(clip_range="clip_coef"))
    update = ScriptUpdate(source, settings.count, norm_adv=False, **flags)
    update.fix_output_of_value_network(settings.value)
    fill_parameters([update.agent.actor_logstd], settings.log_deviation)
    update.set_ratios(settings.ratios)
    update.set_batch(
        advantages=settings.advantages, returns=settings.returns, values=settings.old_values
    )
    loss = update.run_slice_of_quantity("total loss", "loss")["loss"]
    parameters = find_last_linear_layer(update.agent.critic).bias, update.agent.actor_logstd
    gradients = torch.autograd.grad(loss, parameters)
    # the norm at the optimiser's step: gradient_clip
    return ppo.Effects(float(loss), float("nan"), *map(float, gradients))


def _list_policy_losses(
    source: Source, inputs: Inputs, minibatch_size: int = 0, **flags: Any
) -> Sequence[float]:
    """Return the policy loss of each minibatch, with a learning rate of 0."""
    advantages = inputs["advantages"]
    update = ScriptUpdate(
        source, len(advantages), minibatch_size, vf_coef=0.0, ent_coef=0.0, **flags
    )
    update.set_learning_rate_to_zero()
    update.set_ratios(np.full(len(advantages), float(inputs["ratio"])))
    update.set_batch(advantages=advantages)
    return update.record_losses_and_gradient_norms()[0]


def measure_loss_with_normalised_advantages(source: Source, inputs: Inputs) -> np.ndarray:
    """Return the mean policy loss of minibatches, with the script's default normalisation."""
    return np.array([np.mean(_list_policy_losses(source, inputs, int(inputs["minibatch_size"])))])


def measure_loss_of_similar_advantages(source: Source, inputs: Inputs) -> np.ndarray:
    """Return the policy loss of one minibatch whose nearly equal advantages are normalised."""
    with use_float64_by_default():
        losses = _list_policy_losses(source, inputs, norm_adv=True)
    return np.array(losses)


def measure_initialisation(source: Source, inputs: Inputs) -> np.ndarray:
    """Return singular values of the layers of policy and value network, and the largest bias."""
    agent = ScriptUpdate(
        source,
        2,
        observations=int(inputs["observation_dimensions"]),
        dimensions=int(inputs["action_dimensions"]),
    ).agent.double()
    return np.array(
        measure_ppo_initialisation(
            list_linear_layers(agent.actor_mean) + list_linear_layers(agent.critic)
        )
    )


def measure_action_bounding(source: Source, inputs: Inputs) -> np.ndarray:
    """Return actions that the environment received, then those that are stored."""
    received, stored = [], []
    for environment, rollout in run_rollouts_of_constant_policies(
        source, inputs, inputs["samples"]
    ):
        received.append(environment.received[-1].item())
        stored.append(rollout.get_vector("actions").item())
    return np.array(received + stored)


def measure_clipped_gradient_norm(source: Source, inputs: Inputs) -> np.ndarray:
    """Return the gradient norm at the optimiser's step, or ``inputs["cap"]`` if that is less."""
    update = ScriptUpdate(source, 8, norm_adv=False)
    large = 100.0 * float(inputs["raw_norm"])
    update.names["b_actions"] = torch.full((8, 1), 3.0)
    update.set_ratios(np.ones(8))
    update.set_batch(advantages=np.full(8, large), returns=np.full(8, large))
    return np.array([min(update.record_losses_and_gradient_norms()[1][0], float(inputs["cap"]))])


def measure_adam_epsilon(source: Source, inputs: Inputs) -> np.ndarray:
    """Return log10 of the epsilon of the script's optimiser."""
    names = ScriptUpdate(source, 2).names
    return np.array([read_log10_adam_eps(names["optimizer"], names["agent"].parameters())])


_measured = make_probe_maker(_run_update)
PROBES: dict[str, Callable[[Source, Inputs], np.ndarray]] = {
    **{id: _measured(measure) for id, measure in ppo.MEASUREMENTS.items()},
    "ppo.advantage_normalisation": measure_loss_with_normalised_advantages,
    "ppo.advantage_normalisation.epsilon": measure_loss_of_similar_advantages,
    "ppo.gradient_clip": measure_clipped_gradient_norm,
    "ppo.initialisation": measure_initialisation,
    "ppo.action.bounding": measure_action_bounding,
    "ppo.adam.epsilon": measure_adam_epsilon,
}
