"""Probes of symmetries: the update of PPO with a mirror."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from rlregress.frameworks.rsl_rl import compat
from rlregress.frameworks.rsl_rl.observe.helpers import trainings
from rlregress.probing import watched_updates
from rlregress.probing.interface import Inputs, Probe
from rlregress.probing.scripted import Scripted


def _train_with_symmetry(
    inputs: Inputs, observation: float, change: Any, symmetry: Mapping[str, Any], **algorithm: Any
) -> trainings.AgentTraining:
    disabled = {"use_data_augmentation": False, "use_mirror_loss": False, "mirror_loss_coeff": 0.0}
    bias = float(inputs["bias"])

    def prepare_agent(agent: Any) -> None:
        trainings.make_network_linear(compat.find_layers_of_network(agent, "actor"), bias)
        compat.fix_network_output(agent, "critic", 0.0)

    return trainings.train_and_record(
        Scripted(observations=observation, next_observations=observation),
        1,
        steps=4,
        networks=trainings.LINEAR,
        prepare=prepare_agent,
        change=change,
        symmetry_cfg={
            "data_augmentation_func": compat.mirror_observations_and_actions,
            **disabled,
            **symmetry,
        },
        learning_rate=trainings.FROZEN,
        entropy_coef=0.0,
        max_grad_norm=trainings.NO_CLIP,
        **algorithm,
    )


def _measure_mirror_loss(inputs: Inputs) -> np.ndarray:
    weight = float(inputs["weight"])
    training = _train_with_symmetry(
        inputs,
        0.5,
        trainings.fill_storage_without_effect,
        {"use_mirror_loss": True, "mirror_loss_coeff": weight},
    )
    slope = trainings.get_gradient_of_trained_bias(
        compat.find_layers_of_network(training.algorithm, "actor")
    )
    return np.array([watched_updates.require_one_number(training.losses), slope]) / weight


def _measure_losses_with_mirrored_samples(inputs: Inputs) -> np.ndarray:
    action, mean = float(inputs["action"]), float(inputs["observation"]) + float(inputs["bias"])

    def change_storage(storage: Any) -> None:
        log_prob = torch.distributions.Normal(mean, 1.0).log_prob(torch.tensor(action)).item()
        trainings.fill_storage(storage, advantages=1.0, actions=action, actions_log_prob=log_prob)

    def set_stored_values(storage: Any) -> None:
        trainings.fill_storage(
            storage, advantages=0.0, returns=inputs["target"], values=inputs["old_value"]
        )

    def measure_loss(change: Any, adds_mirrored: bool, **algorithm: float) -> float:
        symmetry = {"use_data_augmentation": adds_mirrored}
        training = _train_with_symmetry(
            inputs, float(inputs["observation"]), change, symmetry, **algorithm
        )
        return watched_updates.require_one_number(training.losses)

    clip = float(inputs["clip_range"])
    policy = measure_loss(change_storage, True, value_loss_coef=0.0, clip_param=1e3)
    values = [
        measure_loss(set_stored_values, mirrored, value_loss_coef=1.0, clip_param=clip)
        for mirrored in (True, False)
    ]
    return np.array([-policy, values[0] / values[1]])


PROBES: Mapping[str, Probe] = {
    "symmetry.loss": _measure_mirror_loss,
    "symmetry.samples": _measure_losses_with_mirrored_samples,
}
