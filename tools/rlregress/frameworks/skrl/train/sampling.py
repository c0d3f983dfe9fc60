"""Minibatches that skrl's memory yields to updates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rlregress.frameworks.skrl import compat
from rlregress.frameworks.skrl.agents import Training, watch_model
from rlregress.frameworks.skrl.train.training import make_training
from rlregress.probing.interface import Minibatch, TrainingRequest, TrainingVariant
from rlregress.probing.samples import as_array, as_flat_array, note_targets

_AUTORESET = {"next_step": "NextStep", "same_step": "SameStep", "disabled": "Disabled"}


def minibatches(
    request: TrainingRequest, environments: int, around: TrainingVariant
) -> Sequence[Minibatch]:
    """Train on ``environments`` copies; several are in gymnasium's ``SyncVectorEnv``."""
    around.require_supported("skrl", "autoreset")
    options = {}
    if around.autoreset:
        options = {"vectorised": {"autoreset_mode": _AUTORESET[around.autoreset]}}
    training = make_training(request, environments, **options)
    steps = request.total_steps // environments
    read: list[Minibatch] = []
    if request.algorithm == "ppo":
        _note_rollouts(training, read)
        training.run(steps)
        return read
    _note_samples(training, read)
    with note_targets(read):
        training.run(steps)
    return read


def _note_samples(training: Training, read: list[Minibatch]) -> None:
    """Note every minibatch that the memory hands out."""
    sample = training.memory.sample

    def noted_sample(names: Any, **keywords: Any) -> Any:
        batches = sample(names=names, **keywords)
        rows = compat.name_tensors(names, batches[0])
        read.append(
            Minibatch(
                observations=as_array(rows["observations"]),
                actions=as_array(rows["actions"]),
                next_observations=as_array(rows["next_observations"]),
                rewards=as_flat_array(rows["rewards"]),
                terminated=as_flat_array(rows["terminated"]).astype(bool),
            )
        )
        return batches

    training.memory.sample = noted_sample


def _note_rollouts(training: Training, read: list[Minibatch]) -> None:
    """Note every minibatch of an epoch, with the policy's answers to the update."""
    sample = getattr(training.memory, compat.name_sampling_method(training.agent))
    handed: list[dict[str, Any]] = []

    def noted_sample(names: Any, **keywords: Any) -> Any:
        batches = sample(names=names, **keywords)
        handed[:] = [compat.name_tensors(names, batch) for batch in batches]
        return batches

    def noted_act(inputs: Any, acted: Any) -> None:
        if "taken_actions" not in inputs:
            return
        rows = handed.pop(0)
        read.append(
            Minibatch(
                observations=as_array(rows["observations"]),
                actions=as_array(rows["actions"]),
                log_probs=as_flat_array(rows["log_prob"]),
                policy_log_probs=as_flat_array(compat.log_prob(acted)),
                values=as_flat_array(rows["values"]),
                advantages=as_flat_array(rows["advantages"]),
                returns=as_flat_array(rows["returns"]),
            )
        )

    setattr(training.memory, compat.name_sampling_method(training.agent), noted_sample)
    watch_model(training.models["policy"], noted_act)
