"""Probes of proximal policy optimisation: the trainer and the program around the loss."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from rlregress.frameworks.torchrl import programs
from rlregress.frameworks.torchrl.api import IndependentNormal
from rlregress.frameworks.torchrl.known_networks import Constant, Numbers, box, policy, v_network
from rlregress.frameworks.torchrl.observe.helpers import tiny_trainers
from rlregress.frameworks.torchrl.quiet import Raw
from rlregress.probing.interface import Inputs
from rlregress.probing.layers import log_epsilon
from rlregress.probing.scripted import Scripted

#: gradients are this many times larger than those of a plain Gaussian policy and critic.
_STEEP = 1e6


class _Steep(torch.nn.Module):
    """A Gaussian, or a value, with an enormous derivative with respect to its parameter."""

    def __init__(self, *scale: float) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(1))
        self._scale = scale

    def forward(self, observation: torch.Tensor) -> Any:
        output = (_STEEP * self.weight).expand(*observation.shape[:-1], 1)
        if not self._scale:
            return output
        return output, torch.full_like(output, self._scale[0])


def _bandit(rewards: Sequence[float]) -> dict[str, Any]:
    """Return episodes of one step: with values of 0 the advantages are the rewards."""
    return {"rewards": list(rewards), "terminated": [1.0] * len(rewards)}


def _gaussian(network: torch.nn.Module) -> Any:
    return policy(network, box(-1.0, 1.0, tiny_trainers.SINGLE), IndependentNormal)


def _plain() -> tuple[Any, Any]:
    actor = _gaussian(Numbers([0.0], [0.1], tiny_trainers.SINGLE))
    return actor, v_network(Constant(0.0, dtype=tiny_trainers.SINGLE))


def _steep() -> tuple[Any, Any]:
    return _gaussian(_Steep(1.0)), v_network(_Steep())


def _trainer_losses(rewards: Sequence[float], minibatch: int, ratio: float) -> list[float]:
    losses: list[float] = []

    def before_training(trainer: Any, loss: Any) -> None:
        def lower(batch: Any) -> Any:
            batch["action_log_prob"] = batch["action_log_prob"] - np.log(ratio)
            return batch

        def note(module: Any, arguments: Any, output: Any) -> None:
            losses.append(float(output["loss_objective"].detach()))

        trainer.register_op("batch_process", lower)
        loss.register_forward_hook(note)

    environment = Scripted(**_bandit(rewards))
    tiny_trainers.run_ppo_trainer(environment, *_plain(), len(rewards), minibatch, before_training)
    return losses


def _script_losses(rewards: Sequence[float], minibatch: int, ratio: float) -> list[float]:
    return programs.run_ppo(_bandit(rewards), _plain(), len(rewards), minibatch, ratio).losses


def _normalisation(losses: Any) -> Raw:
    return lambda i: np.mean(losses(i["advantages"], int(i["minibatch_size"]), i["ratio"]))


def _epsilon(losses: Any) -> Raw:
    return lambda i: np.mean(losses(i["advantages"], len(i["advantages"]), i["ratio"]))


def _clip_norm(norm: float, i: Inputs) -> float:
    return min(norm, i["cap"])


def _trainer_gradient_clip(i: Inputs) -> float:
    environment = Scripted(**_bandit([1.0, -3.0]))
    _, _, optimizer = tiny_trainers.run_ppo_trainer(environment, *_steep(), 2, 2)
    return _clip_norm(optimizer.norms[0], i)


def _script_gradient_clip(i: Inputs) -> float:
    run = programs.run_ppo(_bandit([1.0, -3.0]), _steep(), 2, 2)
    return _clip_norm(run.gradient_norms[0], i)


def _script_adam_epsilon(i: Inputs) -> float:
    models = _plain()
    run = programs.run_ppo(_bandit([1.0, -3.0]), models, 2, 2)
    return log_epsilon(run.optimizer, [p for model in models for p in model.parameters()])


PROBES: dict[tuple[str, str], Raw] = {
    ("ppo.advantage_normalisation", "trainer"): _normalisation(_trainer_losses),
    ("ppo.advantage_normalisation", "script"): _normalisation(_script_losses),
    ("ppo.advantage_normalisation.epsilon", "trainer"): _epsilon(_trainer_losses),
    ("ppo.gradient_clip", "trainer"): _trainer_gradient_clip,
    ("ppo.gradient_clip", "script"): _script_gradient_clip,
    ("ppo.adam.epsilon", "script"): _script_adam_epsilon,
}
