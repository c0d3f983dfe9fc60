"""Probes of proximal policy optimisation: the trainer and the program around the loss."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from rlregress.frameworks.torchrl import programs
from rlregress.frameworks.torchrl.api import IndependentNormal
from rlregress.frameworks.torchrl.known_networks import (
    Constant,
    Numbers,
    make_action_box,
    make_stochastic_policy,
    make_v_network,
)
from rlregress.frameworks.torchrl.observe.helpers import tiny_trainers
from rlregress.frameworks.torchrl.quiet import Raw
from rlregress.probing.interface import Inputs
from rlregress.probing.layers import read_log_epsilon
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


def _make_one_step_script(rewards: Sequence[float]) -> dict[str, Any]:
    """Return episodes of one step: with values of 0 the advantages are the rewards."""
    return {"rewards": list(rewards), "terminated": [1.0] * len(rewards)}


def _make_gaussian_policy(network: torch.nn.Module) -> Any:
    return make_stochastic_policy(
        network, make_action_box(-1.0, 1.0, tiny_trainers.SINGLE), IndependentNormal
    )


def _make_plain_models() -> tuple[Any, Any]:
    actor = _make_gaussian_policy(Numbers([0.0], [0.1], tiny_trainers.SINGLE))
    return actor, make_v_network(Constant(0.0, dtype=tiny_trainers.SINGLE))


def _make_steep_models() -> tuple[Any, Any]:
    return _make_gaussian_policy(_Steep(1.0)), make_v_network(_Steep())


def _list_losses_of_trainer(rewards: Sequence[float], minibatch: int, ratio: float) -> list[float]:
    losses: list[float] = []

    def watch_trainer(trainer: Any, loss: Any) -> None:
        def lower_log_prob(batch: Any) -> Any:
            batch["action_log_prob"] = batch["action_log_prob"] - np.log(ratio)
            return batch

        def note_loss(module: Any, arguments: Any, output: Any) -> None:
            losses.append(float(output["loss_objective"].detach()))

        trainer.register_op("batch_process", lower_log_prob)
        loss.register_forward_hook(note_loss)

    environment = Scripted(**_make_one_step_script(rewards))
    tiny_trainers.run_ppo_trainer_once(
        environment, *_make_plain_models(), len(rewards), minibatch, watch_trainer
    )
    return losses


def _list_losses_of_script(rewards: Sequence[float], minibatch: int, ratio: float) -> list[float]:
    return programs.run_ppo_program(
        _make_one_step_script(rewards), _make_plain_models(), len(rewards), minibatch, ratio
    ).losses


def _make_probe_of_normalisation(losses: Any) -> Raw:
    return lambda i: np.mean(losses(i["advantages"], int(i["minibatch_size"]), i["ratio"]))


def _make_probe_of_epsilon(losses: Any) -> Raw:
    return lambda i: np.mean(losses(i["advantages"], len(i["advantages"]), i["ratio"]))


def _clip_norm_to_cap(norm: float, inputs: Inputs) -> float:
    return min(norm, inputs["cap"])


def _measure_gradient_clip_of_trainer(inputs: Inputs) -> float:
    environment = Scripted(**_make_one_step_script([1.0, -3.0]))
    _, _, optimizer = tiny_trainers.run_ppo_trainer_once(environment, *_make_steep_models(), 2, 2)
    return _clip_norm_to_cap(optimizer.norms[0], inputs)


def _measure_gradient_clip_of_script(inputs: Inputs) -> float:
    run = programs.run_ppo_program(_make_one_step_script([1.0, -3.0]), _make_steep_models(), 2, 2)
    return _clip_norm_to_cap(run.gradient_norms[0], inputs)


def _measure_adam_epsilon_of_script(inputs: Inputs) -> float:
    models = _make_plain_models()
    run = programs.run_ppo_program(_make_one_step_script([1.0, -3.0]), models, 2, 2)
    return read_log_epsilon(run.optimizer, [p for model in models for p in model.parameters()])


PROBES: dict[tuple[str, str], Raw] = {
    ("ppo.advantage_normalisation", "trainer"): _make_probe_of_normalisation(
        _list_losses_of_trainer
    ),
    ("ppo.advantage_normalisation", "script"): _make_probe_of_normalisation(_list_losses_of_script),
    ("ppo.advantage_normalisation.epsilon", "trainer"): _make_probe_of_epsilon(
        _list_losses_of_trainer
    ),
    ("ppo.gradient_clip", "trainer"): _measure_gradient_clip_of_trainer,
    ("ppo.gradient_clip", "script"): _measure_gradient_clip_of_script,
    ("ppo.adam.epsilon", "script"): _measure_adam_epsilon_of_script,
}
