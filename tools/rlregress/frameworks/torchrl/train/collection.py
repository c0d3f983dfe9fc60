"""What TorchRL's trainers store, sample and normalise in a training."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from rlregress.frameworks.torchrl.api import MultiStep, SerialEnv
from rlregress.frameworks.torchrl.compat import LOG_PROBS
from rlregress.frameworks.torchrl.train import trainers
from rlregress.frameworks.torchrl.train.training import make_policy_function
from rlregress.probing.interface import (
    PLAIN,
    Minibatch,
    RunningStatistics,
    TrainingRequest,
    TrainingVariant,
    Transitions,
)
from rlregress.probing.isolation import isolate_random_generators
from rlregress.probing.samples import copy_to_array, note_compared_targets

_RUNNING = TrainingVariant(running=True)


def _make_trainer_and_loss(
    request: TrainingRequest, environments: int, variant: TrainingVariant = PLAIN
) -> tuple[Any, Any]:
    """Return the framework's trainer and its loss; each environment has segments of full length."""
    settings = dict(request.hyperparameters)
    settings[_get_segment_length_name(request)] *= environments
    trainer, loss = trainers.make_trainer_and_loss(request, settings, environments, variant)
    if variant.n_steps > 1:
        trainer.collector.postproc = MultiStep(gamma=settings["discount"], n_steps=variant.n_steps)
    return trainer, loss


def _get_segment_length_name(request: TrainingRequest) -> str:
    """Return the hyperparameter that says how many steps a segment has."""
    return "rollout_steps" if request.algorithm == "ppo" else "steps_per_collection"


def collect_transitions(request: TrainingRequest, environments: int) -> Transitions:
    """Train on ``environments`` copies; return the transitions that the trainer collects."""
    trainer, _ = _make_trainer_and_loss(request, environments)
    on_policy = request.algorithm == "ppo"
    stored: list[Any] = []
    if on_policy:
        trainer.register_op("post_steps", lambda: stored.append(trainer.replay_buffer[:].clone()))
    trainer.train()
    if not on_policy:
        stored.append(trainer.replay_buffer[:].clone())
    # a batch is written environment by environment
    steps = request.hyperparameters[_get_segment_length_name(request)]
    rows: Any = torch.cat(stored).reshape(-1, environments, steps).transpose(1, 2)
    return Transitions(
        observations=rows["observation"].numpy(),
        next_observations=rows["next", "observation"].numpy(),
        rewards=rows["next", "reward"].squeeze(-1).numpy(),
        done=rows["next", "done"].squeeze(-1).numpy(),
        terminated=rows["next", "terminated"].squeeze(-1).numpy(),
    )


def collect_minibatches(
    request: TrainingRequest, environments: int, variant: TrainingVariant
) -> Sequence[Minibatch]:
    """Train on ``environments`` copies; return the minibatches of all updates."""
    trainer, loss = _make_trainer_and_loss(request, environments, variant)
    read: list[Minibatch] = []

    def note_batch(batch: Any) -> None:
        fields = {
            "observations": batch["observation"],
            "actions": _convert_to_choices(batch["action"]),
            "next_observations": batch["next", "observation"],
            "rewards": batch["next", "reward"].reshape(-1),
            "done": batch["next", "done"].reshape(-1),
            "terminated": batch["next", "terminated"].reshape(-1),
        }
        if variant.n_steps > 1:
            fields["discounts"] = batch["gamma"].reshape(-1)
        if request.algorithm == "ppo":
            fields.update(_read_fields_of_ppo_batch(batch, loss))
        read.append(Minibatch(**{name: copy_to_array(tensor) for name, tensor in fields.items()}))

    # the operations run in the order of their registration: this one after the sampling
    trainer.register_op("process_optim_batch", note_batch)
    with nullcontext() if request.algorithm == "ppo" else note_compared_targets(read):
        trainer.train()
    return read


def _convert_to_choices(actions: torch.Tensor) -> torch.Tensor:
    """Return the index of each one-hot action; continuous actions stay as they are."""
    is_number = actions.is_floating_point()
    return actions if is_number else actions.long().argmax(-1, keepdim=True).float()


def _read_fields_of_ppo_batch(batch: Any, loss: Any) -> Any:
    with torch.no_grad(), loss.actor_network_params.to_module(loss.actor_network):
        log_probs_now = loss.actor_network.get_dist(batch).log_prob(batch["action"])
    written = set(batch.keys())
    (log_probs,) = [batch[key] for key in LOG_PROBS if key in written]
    return {
        "log_probs": log_probs.reshape(-1),
        "policy_log_probs": log_probs_now.reshape(-1),
        "values": batch["state_value"].reshape(-1),
        "advantages": batch["advantage"].reshape(-1),
        "returns": batch["value_target"].reshape(-1),
    }


def collect_running_statistics(request: TrainingRequest, environments: int) -> RunningStatistics:
    """Return VecNorm's statistics: trained, after an evaluation, and loaded from a saved state."""
    # a collector that has handed out its last batch has closed its environments
    longer = replace(request, total_steps=2 * request.total_steps)
    trainer, loss = _make_trainer_and_loss(longer, environments, _RUNNING)
    statistics: dict[str, Any] = {}

    def note_statistics() -> None:
        if trainer.collected_frames >= request.total_steps:
            statistics["trained"] = _read_statistics(trainer)
            request.on_checkpoint(trainer.collected_frames, make_policy_function(loss))
            statistics["state"] = copy.deepcopy(trainer.state_dict())
            statistics["evaluated"] = _read_statistics_after_evaluation(trainer)
            trainer.request_stop()

    trainer.register_op("post_steps", note_statistics)
    trainer.train()
    with isolate_random_generators():
        frozen, _ = _make_trainer_and_loss(request, environments, _RUNNING)
        frozen.load_state_dict(statistics["state"])
    return RunningStatistics(
        statistics["trained"], statistics["evaluated"], _read_statistics(frozen)
    )


def _list_environments(trainer: Any) -> list[Any]:
    environment = trainer.collector.env
    return list(environment._envs) if isinstance(environment, SerialEnv) else [environment]


def _read_statistics(trainer: Any) -> np.ndarray:
    sets = []
    for environment in _list_environments(trainer):
        transform = environment.transform
        # alone, or behind the one that makes observations single precision
        normalising = transform if hasattr(transform, "loc") else transform[-1]
        sets.append([normalising.loc["observation"], normalising.scale["observation"] ** 2])
    return np.array([[part.numpy().copy() for part in values] for values in sets])


def _read_statistics_after_evaluation(trainer: Any) -> np.ndarray:
    for environment in _list_environments(trainer):
        environment.eval()
        environment.rollout(8)
    return _read_statistics(trainer)
