"""Minibatches that skrl's memory yields to updates."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import gymnasium

from rlregress.frameworks.skrl import compat
from rlregress.frameworks.skrl.agents import AgentSetup, call_after_model
from rlregress.frameworks.skrl.train.training import make_training_of_request
from rlregress.probing.interface import Minibatch, TrainingRequest, TrainingVariant
from rlregress.probing.samples import copy_to_array, copy_to_flat_array, note_compared_targets


def collect_minibatches(
    request: TrainingRequest, environments: int, variant: TrainingVariant
) -> Sequence[Minibatch]:
    """Train on ``environments`` copies; return the minibatches of all updates."""
    variant.raise_if_unsupported("skrl", "autoreset")
    options = {}
    if variant.autoreset:
        mode = gymnasium.vector.AutoresetMode[variant.autoreset.upper()]
        options = {"vectorised": {"autoreset_mode": mode}}
    training = make_training_of_request(request, environments, **options)
    steps = request.total_steps // environments
    read: list[Minibatch] = []
    if request.algorithm == "ppo":
        note_minibatches_of_rollouts(training, read)
        training.run_steps(steps)
        return read
    _note_sampled_minibatches(training, read)
    with note_compared_targets(read):
        training.run_steps(steps)
    return read


def _note_sampled_minibatches(training: AgentSetup, minibatches: list[Minibatch]) -> None:
    """Note every minibatch that the memory hands out."""
    sample = training.memory.sample

    def sample_and_note(names: Any, **keywords: Any) -> Any:
        batches = sample(names=names, **keywords)
        rows = compat.name_tensors_of_memory(names, batches[0])
        minibatches.append(
            Minibatch(
                observations=copy_to_array(rows["observations"]),
                actions=copy_to_array(rows["actions"]),
                next_observations=copy_to_array(rows["next_observations"]),
                rewards=copy_to_flat_array(rows["rewards"]),
                terminated=copy_to_flat_array(rows["terminated"]).astype(bool),
            )
        )
        return batches

    training.memory.sample = sample_and_note


def note_minibatches_of_rollouts(training: AgentSetup, minibatches: list[Minibatch]) -> None:
    """Record every minibatch of an epoch, with the policy's outputs in the update."""
    sampling = compat.name_method_that_samples(training.agent)
    sample = getattr(training.memory, sampling)
    # agents read them once for all epochs, or once for each
    sampled: Iterator[dict[str, Any]] = iter(())

    def sample_and_note(names: Any, **keywords: Any) -> Any:
        nonlocal sampled
        batches = sample(names=names, **keywords)
        if "log_prob" in names:
            # states of memory are read apart
            named = [compat.name_tensors_of_memory(names, batch) for batch in batches]
            sampled = itertools.cycle(named)
        return batches

    def note_answers_of_policy(inputs: Any, acted: Any) -> None:
        if "taken_actions" not in inputs:
            return
        rows = next(sampled)
        minibatches.append(
            Minibatch(
                observations=copy_to_array(rows["observations"]),
                actions=copy_to_array(rows["actions"]),
                log_probs=copy_to_flat_array(rows["log_prob"]),
                policy_log_probs=copy_to_flat_array(compat.read_log_prob(acted)),
                values=copy_to_flat_array(rows["values"]),
                advantages=copy_to_flat_array(rows["advantages"]),
                returns=copy_to_flat_array(rows["returns"]),
            )
        )

    setattr(training.memory, sampling, sample_and_note)
    call_after_model(training.models["policy"], note_answers_of_policy)
