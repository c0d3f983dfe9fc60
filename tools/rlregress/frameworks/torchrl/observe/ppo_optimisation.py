"""Probes of proximal policy optimisation: the trainer and the program around the loss."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import torch

from rlregress.frameworks.torchrl.api import IndependentNormal
from rlregress.frameworks.torchrl.known_networks import (
    Constant,
    FixedLocScale,
    make_action_box,
    make_stochastic_policy,
    make_v_network,
)
from rlregress.frameworks.torchrl.observe.helpers import tiny_trainers
from rlregress.frameworks.torchrl.observe.helpers.ppo_trainings import (
    LossTraining,
    Models,
    make_change_of_ratios,
    run_ppo_program,
    run_trainer,
)
from rlregress.frameworks.torchrl.quiet import Raw
from rlregress.probing.interface import Inputs
from rlregress.probing.layers import read_log10_adam_eps
from rlregress.probing.scripted import Scripted

#: gradients are this many times larger than those of a plain Gaussian policy and critic.
_STEEP = 1e6


class _SteepNetwork(torch.nn.Module):
    """A network of a Gaussian, or of a value, with an enormous derivative by its parameter."""

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
    """Return a script of episodes of one step; with values of 0, rewards are advantages."""
    return {"rewards": list(rewards), "terminated": [1.0] * len(rewards)}


def _make_gaussian_policy(network: torch.nn.Module) -> Any:
    return make_stochastic_policy(
        network, make_action_box(-1.0, 1.0, tiny_trainers.SINGLE), IndependentNormal
    )


def _make_plain_models() -> Models:
    actor = _make_gaussian_policy(FixedLocScale([0.0], [0.1], tiny_trainers.SINGLE))
    return Models(actor, make_v_network(Constant(0.0, dtype=tiny_trainers.SINGLE)))


def _make_steep_models() -> Models:
    return Models(_make_gaussian_policy(_SteepNetwork(1.0)), make_v_network(_SteepNetwork()))


def _run_trainer(rewards: Sequence[float], minibatch: int, **options: Any) -> LossTraining:
    environments = [Scripted(**_make_one_step_script(rewards))]
    return run_trainer(environments, len(rewards), len(rewards), minibatch, **options)


def _run_script(rewards: Sequence[float], minibatch: int, **options: Any) -> LossTraining:
    make_environment = partial(Scripted, **_make_one_step_script(rewards))
    return run_ppo_program(make_environment, len(rewards), len(rewards), minibatch, **options)


def _measure_loss_with_normalised_advantages(run: Any, inputs: Inputs) -> Any:
    rewards = inputs["advantages"]
    minibatch = int(inputs.get("minibatch_size", len(rewards)))
    change = make_change_of_ratios(inputs["ratio"])
    return np.mean(run(rewards, minibatch, models=_make_plain_models(), change=change).losses)


def _measure_capped_gradient_norm(run: Any, inputs: Inputs) -> float:
    norms = run([1.0, -3.0], 2, models=_make_steep_models()).gradient_norms
    return min(norms[0], inputs["cap"])


def _measure_adam_epsilon_of_script(inputs: Inputs) -> float:
    models = _make_plain_models()
    optimizer = _run_script([1.0, -3.0], 2, models=models).optimizer
    return read_log10_adam_eps(optimizer, [p for model in models[:2] for p in model.parameters()])


PROBES: dict[tuple[str, str], Raw] = {
    ("ppo.advantage_normalisation", "trainer"): partial(
        _measure_loss_with_normalised_advantages, _run_trainer
    ),
    ("ppo.advantage_normalisation", "script"): partial(
        _measure_loss_with_normalised_advantages, _run_script
    ),
    ("ppo.advantage_normalisation.epsilon", "trainer"): partial(
        _measure_loss_with_normalised_advantages, _run_trainer
    ),
    ("ppo.gradient_clip", "trainer"): partial(_measure_capped_gradient_norm, _run_trainer),
    ("ppo.gradient_clip", "script"): partial(_measure_capped_gradient_norm, _run_script),
    ("ppo.adam.epsilon", "script"): _measure_adam_epsilon_of_script,
}
