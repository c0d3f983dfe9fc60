"""A whole small training of PPO, watched from outside."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch

from rlregress.frameworks.skrl import compat
from rlregress.frameworks.skrl.agents import (
    AgentSetup,
    Layers,
    call_after_model,
    make_falling_rate_settings,
    make_scaler_settings,
)
from rlregress.frameworks.skrl.train.sampling import note_minibatches_of_rollouts
from rlregress.measurements.ppo_loop import RecordedTraining
from rlregress.measurements.ppo_trainings import Settings
from rlregress.probing.driven import fill_parameters
from rlregress.probing.journal import run_and_record_steps
from rlregress.probing.layers import find_last_linear_layer, make_output_constant
from rlregress.probing.samples import copy_to_flat_array
from rlregress.probing.scripted import Scripted

#: name -> tensor of the memory, whose numbers a training may replace
_STORED = {
    "advantages": "advantages",
    "returns": "returns",
    "values": "values",
    "log_probs": "log_prob",
}
#: Where V(s) = s, the value network outputs scaled values, which have to be scaled back wherever
#: they are added to rewards. The statistics have so many rows that a rollout does not move them.
_MEAN, _DEVIATION, _ROWS = 1.0, 2.0, 1e12
_SCALED = {"layers": Layers(sizes=()), **make_scaler_settings("value", clip_threshold=float("inf"))}


@dataclass
class AgentTraining(RecordedTraining):
    """The record of a training.

    Attributes:
        training: the agent and its environments.
    """

    training: Any = None

    def note_optimizer_step(self, _: str) -> None:
        """Record what the optimiser is about to step by."""
        policy, value = (self.training.models[name] for name in ("policy", "value"))
        self.entropies.append(policy.get_entropy(role="policy").mean().item())
        self.rates.append(float(self.training.optimizers["policy"].param_groups[0]["lr"]))
        self.log_std_gradients.append(float(policy.log_std.grad.sum()))
        self.value_gradients.append(float(value.net[-1].bias.grad))


def _set_scaled_value(training: AgentSetup, slope: float, offset: float = 0.0) -> None:
    """Set the value to slope * observation + offset, in the units of rewards."""
    layer = find_last_linear_layer(training.models["value"])
    fill_parameters([layer.weight], slope / _DEVIATION)
    fill_parameters([layer.bias], (offset - _MEAN) / _DEVIATION)


def _fix_outputs(training: AgentSetup, settings: Settings) -> None:
    """Make the models of an agent output what the settings say."""
    policy, value = (training.models[name] for name in ("policy", "value"))
    if settings.value_is_observation:
        scaler = training.agent.checkpoint_modules["value_preprocessor"]
        scaler.running_mean[:], scaler.running_variance[:] = _MEAN, _DEVIATION**2
        scaler.current_count.fill_(_ROWS)
        _set_scaled_value(training, 1.0)
    if settings.value is not None:
        make_output_constant(value, settings.value)
    if settings.mean is not None:
        make_output_constant(policy, settings.mean)
    if settings.log_deviation is not None:
        fill_parameters([policy.log_std], settings.log_deviation)
    if settings.forgets == 0:
        fill_parameters(policy.recurrent.parameters(), 0.0)
    if settings.estimated_value is not None:
        # an update puts its models in the mode of training first
        mode, estimated = value.train, settings.estimated_value

        def change_values_and_set_mode(enabled: bool = True) -> Any:
            if enabled:
                _set_scaled_value(training, 0.0, estimated)
            return mode(enabled)

        value.train = change_values_and_set_mode


def _record_rollouts(training: AgentTraining, settings: Settings) -> None:
    """Record each rollout before the update samples it, and replace what is stored."""
    own, means = training.training, list[np.ndarray]()
    sampling = compat.name_method_that_samples(own.agent)
    sample, update = getattr(own.memory, sampling), getattr(own.agent, compat.UPDATE)

    def note_means(inputs: Any, acted: Any) -> None:
        if "taken_actions" not in inputs:
            means.append(acted[-1]["mean_actions"][:, 0].detach().numpy().copy())

    def record_and_update(*arguments: Any, **keywords: Any) -> None:
        stored = own.read_stored_tensor("observations")[:, 0, 0].numpy().copy()
        training.stored.append(stored)
        update(*arguments, **keywords)

    def record_and_sample(**arguments: Any) -> Any:
        if len(training.stored) > len(training.rollouts):
            arrays = {name: x.numpy().copy() for name, x in own.memory.tensors.items()}
            if settings.value_is_observation:
                for name in ("values", "returns"):
                    arrays[name] = _MEAN + _DEVIATION * arrays[name].astype(np.float64)
            # those that are stored have been normalised
            arrays["advantages"] = arrays["returns"] - arrays["values"]
            stored = {name: own.read_stored_tensor(x)[..., 0] for name, x in _STORED.items()}
            named = {name: tensor.numpy() for name, tensor in stored.items()}
            for name, new in settings.replace_stored(len(training.rollouts), named).items():
                stored[name][:] = torch.as_tensor(new)
            training.rollouts.append(SimpleNamespace(**arrays, means=np.array(means)))
            means.clear()
            if len(training.rollouts) == settings.forgets:
                fill_parameters(own.models["policy"].recurrent.parameters(), 0.0)
        return sample(**arguments)

    call_after_model(own.models["policy"], note_means)
    setattr(own.memory, sampling, record_and_sample)
    setattr(own.agent, compat.UPDATE, record_and_update)


def _make_options(settings: Settings) -> dict[str, Any]:
    """Return the settings of an agent that are not default, by skrl's names."""
    return {
        **(_SCALED if settings.value_is_observation else {}),
        **({} if settings.gradients_clipped else {"grad_norm_clip": 0.0}),
        **settings.map_to_framework_names(
            epochs="learning_epochs",
            minibatches="mini_batches",
            learning_rate="learning_rate",
            discount="discount_factor",
            gae_lambda="gae_lambda",
            clip_range="ratio_clip",
            value_clip="value_clip",
            value_coefficient="value_loss_scale",
            entropy_coefficient="entropy_loss_scale",
            target="kl_threshold",
        ),
    }


def train(
    settings: Settings, prepare: Callable[[AgentSetup], Any] = lambda training: None, **options: Any
) -> AgentTraining:
    """Train PPO with these settings, and return the record.

    Args:
        prepare: called with the agent before its outputs are fixed.
        options: further settings of the agent.
    """
    options = {**_make_options(settings), **options}
    steps = settings.total or settings.rollouts * settings.steps
    if "learning_rate" in settings.falling:
        # it is stepped after each epoch
        options.update(make_falling_rate_settings(steps // settings.steps))
    environments = [Scripted(**script) for script in settings.scripts]
    size = settings.steps
    own = AgentSetup("ppo", *environments, rows=size, rollouts=size, **options)
    training = AgentTraining(environments, training=own)
    value, minibatches = own.models["value"], list[Any]()
    prepare(own)
    _fix_outputs(own, settings)
    note_minibatches_of_rollouts(own, minibatches)

    def note_evaluated_values(inputs: Any, acted: Any) -> None:
        # behind the policy of the same minibatch
        if value.training and len(training.value_changes) < len(minibatches):
            outputs = copy_to_flat_array(acted[0])
            training.value_changes.append(outputs - minibatches[-1].values)

    call_after_model(value, note_evaluated_values)
    _record_rollouts(training, settings)
    journal = run_and_record_steps(
        lambda: own.run_steps(steps), own.optimizers, training.note_optimizer_step
    )
    for minibatch in minibatches:
        training.evaluated.append(minibatch.observations[:, 0])
        training.advantages.append(minibatch.advantages)
        training.log_ratios.append(minibatch.policy_log_probs - minibatch.log_probs)
    training.losses = journal.losses["policy"]
    training.gradient_norms = journal.gradient_norms["policy"]
    return training
