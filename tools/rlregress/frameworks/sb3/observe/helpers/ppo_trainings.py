"""A whole small training by PPO's own ``learn``, watched from outside."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from rlregress.frameworks.sb3.observe.helpers.on_policy import ProbedPPO
from rlregress.frameworks.sb3.train.collection import RolloutEndCallback
from rlregress.measurements.ppo_loop import RecordedTraining
from rlregress.probing.journal import run_and_record_steps


@dataclass
class AgentTraining(RecordedTraining):
    """The record of a training.

    Attributes:
        agent: after the training.
        entropies: mean entropy of the policy in each minibatch, where it is known.
    """

    agent: Any = None
    entropies: list[float] = field(default_factory=list)


def _select_first_part(observations: Any) -> Any:
    """Return observations, or the first entry of those that are a dictionary."""
    return next(iter(observations.values())) if isinstance(observations, dict) else observations


@contextlib.contextmanager
def _record_minibatches(agent: Any, training: AgentTraining) -> Iterator[None]:
    policy, buffer = agent.policy, agent.rollout_buffer
    evaluate, get = policy.evaluate_actions, buffer.get
    minibatch: list[Any] = []

    def record_and_get(*arguments: Any, **keywords: Any) -> Any:
        for sampled in get(*arguments, **keywords):
            minibatch[:] = [sampled]
            yield sampled

    def record_and_evaluate(observations: torch.Tensor, *arguments: Any, **named: Any) -> Any:
        values, log_prob, entropy = evaluate(observations, *arguments, **named)
        (sampled,) = minibatch
        # a step that only pads a sequence is none
        real = getattr(sampled, "mask", torch.ones_like(sampled.advantages)) > 0.0
        ratios = log_prob.detach() - sampled.old_log_prob
        read = _select_first_part(observations).detach().numpy()
        training.evaluated.append(read[real.numpy(), 0].copy())
        changes = values.detach().flatten() - sampled.old_values
        training.value_changes.append(changes[real].numpy())
        if entropy is not None:
            training.entropies.append(entropy.detach()[real].mean().item())
        training.log_ratios.append(ratios[real].numpy())
        training.advantages.append(sampled.advantages[real].numpy().copy())
        return values, log_prob, entropy

    policy.evaluate_actions, buffer.get = record_and_evaluate, record_and_get
    try:
        yield
    finally:
        policy.evaluate_actions, buffer.get = evaluate, get


def train_and_record(
    algorithm: ProbedPPO,
    environment: Any,
    total_steps: int,
    *,
    n_steps: int,
    change_buffer: Callable[[Any], None] | None = None,
    prepare_agent: Callable[[Any], None] | None = None,
    **arguments: Any,
) -> AgentTraining:
    """Train for ``total_steps``, by default with one epoch for each rollout; return the record.

    Args:
        change_buffer: called with each full rollout buffer before it is used.
        prepare_agent: called with the agent before the training.
    """
    training = AgentTraining()
    with warnings.catch_warnings():
        # a rollout that is no multiple of the minibatch is what some probes are about
        warnings.simplefilter("ignore")
        training.agent = algorithm.make_one_epoch_agent(environment, n_steps=n_steps, **arguments)
    if prepare_agent is not None:
        prepare_agent(training.agent)

    def note_rollout(agent: Any) -> None:
        buffer = agent.rollout_buffer
        stored = np.array(_select_first_part(buffer.observations))
        training.stored.append(stored.reshape(buffer.buffer_size, -1)[:, 0])
        if change_buffer is not None:
            change_buffer(buffer)

    policy = training.agent.policy

    def note_rate_and_log_std_gradient(_: str) -> None:
        training.rates.append(float(policy.optimizer.param_groups[0]["lr"]))
        gradient = getattr(getattr(policy, "log_std", None), "grad", None)
        training.log_std_gradients.append(0.0 if gradient is None else gradient.sum().item())

    with _record_minibatches(training.agent, training):
        journal = run_and_record_steps(
            lambda: training.agent.learn(total_steps, callback=RolloutEndCallback(note_rollout)),
            {"policy": policy.optimizer},
            note_rate_and_log_std_gradient,
        )
    training.losses = journal.losses["policy"]
    return training
