"""Minibatches of TorchRL's trainers, on their way into the loss."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import torch

from rlregress.frameworks.torchrl.compat import LOG_PROBS
from rlregress.frameworks.torchrl.train.collection import make_trainer_and_loss
from rlregress.probing.interface import Minibatch, TrainingRequest, TrainingVariant
from rlregress.probing.samples import copy_to_array, note_compared_targets


def collect_minibatches(
    request: TrainingRequest, environments: int, variant: TrainingVariant
) -> Sequence[Minibatch]:
    """Train on ``environments`` copies; return the minibatches of all updates."""
    trainer, loss = make_trainer_and_loss(request, environments, variant)
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
