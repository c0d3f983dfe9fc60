"""A whole small training of PPO, watched from outside."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

import numpy as np
import torch

from rlregress.frameworks.skrl import compat
from rlregress.frameworks.skrl.agents import AgentSetup, call_after_model
from rlregress.measurements.ppo_loop import RecordedTraining
from rlregress.probing import watched_updates
from rlregress.probing.recorded_update import record_losses_and_steps
from rlregress.probing.scripted import Scripted

#: name in skrl 2 -> tensor of the memory [rows, environments, 1], which a probe may change
Change = Callable[[dict[str, torch.Tensor]], Any]

_CHANGED = ("advantages", "returns", "values", "log_prob")


@dataclass
class AgentTraining(RecordedTraining):
    """The record of a training.

    Attributes:
        training: the agent and its environments.
        value_gradients: derivative of each loss with respect to the last bias of the value network.
        gradient_norms: at each step of the optimiser.
        entropies: mean entropy of the policy at each of these steps.
        changed: an entry for each rollout that a probe has changed.
    """

    training: Any = None
    value_gradients: list[float] = field(default_factory=list)
    gradient_norms: list[float] = field(default_factory=list)
    entropies: list[float] = field(default_factory=list)
    changed: list[bool] = field(default_factory=list)


def make_change_of_tensors(
    advantages: Any = 0.0, returns: Any = 0.0, old_values: Any = 0.0, ratios: Any = 1.0
) -> Change:
    """Return a function that overwrites tensors of an update: one number for all rows, or [n].

    Ratios are set by lowering the stored log probabilities by their logarithms.
    """

    def change_tensors(tensors: dict[str, torch.Tensor]) -> None:
        new = {"advantages": advantages, "returns": returns, "values": old_values}
        for name, numbers in new.items():
            tensors[name][:, 0, 0] = torch.as_tensor(np.asarray(numbers), dtype=torch.float32)
        tensors["log_prob"][:, 0, 0] -= torch.as_tensor(np.log(ratios), dtype=torch.float32)

    return change_tensors


def train_and_record(
    steps: int,
    *environments: Scripted,
    rollouts: int,
    change: Change | None = None,
    prepare: Callable[[AgentSetup], Any] = lambda training: None,
    **settings: Any,
) -> AgentTraining:
    """Train PPO, by default with one epoch of one minibatch, and return the record.

    Args:
        steps: of each environment.
        rollouts: steps of each rollout.
        change: called with the rollout before an update reads it.
        prepare: called with the agent before the training.
    """
    settings = {"learning_epochs": 1, "mini_batches": 1, **settings}
    own_training = AgentSetup("ppo", *environments, rows=rollouts, rollouts=rollouts, **settings)
    recorded = AgentTraining(training=own_training)
    policy, value = (own_training.models[name] for name in ("policy", "value"))
    optimizer, last_bias = own_training.optimizers["policy"], value.net[-1].bias
    batches: list[dict[str, Any]] = []

    def record_and_update(*arguments: Any, **keywords: Any) -> None:
        recorded.stored.append(
            own_training.read_stored_tensor("observations")[:, 0, 0].numpy().copy()
        )
        update(*arguments, **keywords)

    def change_and_sample(names: Any, **keywords: Any) -> Any:
        if change is not None and len(recorded.stored) > len(recorded.changed):
            recorded.changed.append(True)
            change({name: own_training.read_stored_tensor(name) for name in _CHANGED})
        minibatches = sample(names=names, **keywords)
        if "log_prob" in names:
            # states of memory are read apart
            batches[:] = [dict(zip(names, batch, strict=False)) for batch in minibatches]
        return minibatches

    def note_evaluated_policy(inputs: Any, acted: Any) -> None:
        if "taken_actions" not in inputs:
            return
        batch = batches[len(recorded.evaluated) % len(batches)]
        old, advantages = batch["log_prob"][:, 0], batch["advantages"][:, 0]
        recorded.evaluated.append(compat.read_observations(inputs)[:, 0].detach().numpy().copy())
        recorded.advantages.append(advantages.numpy().copy())
        recorded.log_ratios.append(
            (compat.read_log_prob(acted)[:, 0].detach() - old).numpy().copy()
        )

    def note_evaluated_values(inputs: Any, acted: Any) -> None:
        # behind the policy of the same minibatch
        if value.training and len(recorded.value_changes) < len(recorded.evaluated):
            batch = batches[(len(recorded.evaluated) - 1) % len(batches)]
            change = (acted[0] - batch["values"])[:, 0].detach()
            recorded.value_changes.append(change.numpy().copy())

    def note_optimizer_step() -> None:
        recorded.entropies.append(policy.get_entropy(role="policy").mean().item())
        recorded.rates.append(float(optimizer.param_groups[0]["lr"]))
        recorded.log_std_gradients.append(float(policy.log_std.grad.sum()))
        recorded.value_gradients.append(float(last_bias.grad))

    prepare(own_training)
    call_after_model(policy, note_evaluated_policy)
    call_after_model(value, note_evaluated_values)
    sampling, method = compat.name_method_that_samples(own_training.agent), compat.UPDATE
    sample, update = getattr(own_training.memory, sampling), getattr(own_training.agent, method)
    with ExitStack() as stack:
        stack.enter_context(mock.patch.object(own_training.memory, sampling, change_and_sample))
        stack.enter_context(mock.patch.object(own_training.agent, method, record_and_update))
        whole = stack.enter_context(record_losses_and_steps(own_training.optimizers))
        stack.enter_context(watched_updates.call_before_steps(optimizer, note_optimizer_step))
        own_training.run_steps(steps)
    recorded.losses += whole.losses["policy"]
    recorded.gradient_norms += whole.gradient_norms["policy"]
    return recorded
