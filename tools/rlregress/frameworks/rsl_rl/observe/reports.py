"""Probes of the losses that an update reports."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from rsl_rl.algorithms import PPO

from rlregress.frameworks.rsl_rl import compat
from rlregress.frameworks.rsl_rl.observe.curiosity import freeze_predictor
from rlregress.frameworks.rsl_rl.observe.helpers import trainings
from rlregress.probing.interface import Inputs, Probe
from rlregress.probing.scripted import make_counting_environment


def _configure_curiosity_and_symmetry() -> dict[str, Any]:
    """Return new configurations of PPO's additional losses; PPO consumes them."""
    further = {
        "rnd_cfg": {"weight": 1.0, "num_outputs": 2, **compat.SMALL_CURIOSITY},
        "symmetry_cfg": {
            "data_augmentation_func": compat.mirror_observations_and_actions,
            "use_data_augmentation": False,
            "use_mirror_loss": True,
            "mirror_loss_coeff": 1.0,
        },
    }
    parameters = inspect.signature(PPO).parameters
    return {name: option for name, option in further.items() if name in parameters}


def _measure_ratios_of_reported_losses(inputs: Inputs) -> np.ndarray:
    steps = int(inputs["steps"])

    def prepare_agent(agent: Any) -> None:
        compat.fix_network_output(agent, "critic", 0.0)
        if getattr(agent, "rnd", None):
            freeze_predictor(agent)

    def list_reported_losses(epochs: int, minibatches: int) -> np.ndarray:
        # both have the same networks and actions
        with torch.random.fork_rng():
            training = trainings.train_and_record(
                make_counting_environment(steps),
                1,
                steps=steps,
                change=lambda storage: trainings.fill_storage(
                    storage, advantages=inputs["advantages"], returns=inputs["targets"]
                ),
                prepare=prepare_agent,
                num_learning_epochs=epochs,
                num_mini_batches=minibatches,
                learning_rate=trainings.FROZEN,
                **_configure_curiosity_and_symmetry(),
            )
        return training.reported[0]

    ratios = list_reported_losses(
        int(inputs["epochs"]), int(inputs["minibatches"])
    ) / list_reported_losses(1, 1)
    return np.array([ratios.min(), ratios.max()])


PROBES: Mapping[str, Probe] = {"logging.losses": _measure_ratios_of_reported_losses}
ABSENT: Mapping[str, str] = dict.fromkeys(
    ("logging.approx_kl", "logging.update_count", "logging.before_policy_update"),
    "logs neither divergence nor number of updates",
)
