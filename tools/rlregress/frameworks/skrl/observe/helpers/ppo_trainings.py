"""A whole small training of PPO, watched from outside."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from rlregress.frameworks.skrl import compat
from rlregress.frameworks.skrl.agents import AgentSetup, call_after_model
from rlregress.frameworks.skrl.train.sampling import note_minibatches_of_rollouts
from rlregress.measurements.ppo_loop import RecordedTraining
from rlregress.probing.journal import run_and_record_steps
from rlregress.probing.samples import copy_to_flat_array
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

    def note_optimizer_step(self, _: str) -> None:
        """Record what the optimiser is about to step by."""
        policy, value = (self.training.models[name] for name in ("policy", "value"))
        self.entropies.append(policy.get_entropy(role="policy").mean().item())
        self.rates.append(float(self.training.optimizers["policy"].param_groups[0]["lr"]))
        self.log_std_gradients.append(float(policy.log_std.grad.sum()))
        self.value_gradients.append(float(value.net[-1].bias.grad))


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
    value = own_training.models["value"]
    minibatches: list[Any] = []
    prepare(own_training)
    note_minibatches_of_rollouts(own_training, minibatches)
    sampling = compat.name_method_that_samples(own_training.agent)
    sample = getattr(own_training.memory, sampling)
    update = getattr(own_training.agent, compat.UPDATE)

    def record_and_update(*arguments: Any, **keywords: Any) -> None:
        recorded.stored.append(
            own_training.read_stored_tensor("observations")[:, 0, 0].numpy().copy()
        )
        update(*arguments, **keywords)

    def change_and_sample(**arguments: Any) -> Any:
        if change is not None and len(recorded.stored) > len(recorded.changed):
            recorded.changed.append(True)
            change({name: own_training.read_stored_tensor(name) for name in _CHANGED})
        return sample(**arguments)

    def note_evaluated_values(inputs: Any, acted: Any) -> None:
        # behind the policy of the same minibatch
        if value.training and len(recorded.value_changes) < len(minibatches):
            outputs = copy_to_flat_array(acted[0])
            recorded.value_changes.append(outputs - minibatches[-1].values)

    call_after_model(value, note_evaluated_values)
    setattr(own_training.memory, sampling, change_and_sample)
    setattr(own_training.agent, compat.UPDATE, record_and_update)
    journal = run_and_record_steps(
        lambda: own_training.run_steps(steps),
        own_training.optimizers,
        recorded.note_optimizer_step,
    )
    for minibatch in minibatches:
        recorded.evaluated.append(minibatch.observations[:, 0])
        recorded.advantages.append(minibatch.advantages)
        recorded.log_ratios.append(minibatch.policy_log_probs - minibatch.log_probs)
    recorded.losses = journal.losses["policy"]
    recorded.gradient_norms = journal.gradient_norms["policy"]
    return recorded
