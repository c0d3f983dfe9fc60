"""Probes of ARS: one of its updates, with given returns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from sb3_contrib import ARS

from rlregress.probing.interface import Inputs, Probe
from rlregress.probing.scripted import Scripted

#: a coefficient that rounding leaves of none, relative to the largest.
_NONE = 1e-4


def _measure_steps_along_directions(inputs: Inputs, learning_rate: float = 1.0) -> np.ndarray:
    """Return how far an ARS update moves the policy along each random direction, [directions]."""
    count = len(inputs["plus"])
    agent: Any = ARS(
        "MlpPolicy",
        Scripted(),
        n_delta=count,
        n_top=inputs["count"],
        learning_rate=learning_rate,
        delta_std=1.0,
        # more parameters than directions
        policy_kwargs={"net_arch": [8]},
        device="cpu",
    )
    evaluated: list[torch.Tensor] = []

    def return_scripted_returns(candidates: torch.Tensor, *arguments: Any) -> torch.Tensor:
        evaluated.append(candidates)
        agent.num_timesteps += 1
        return torch.tensor(np.concatenate([inputs["plus"], inputs["minus"]]), dtype=torch.float32)

    agent.evaluate_candidates = return_scripted_returns
    agent.learn(1, log_interval=None)
    # the first policy is zero
    directions = evaluated[0][:count].numpy().astype(np.float64)
    change = agent.weights.numpy().astype(np.float64)
    return np.linalg.lstsq(directions.T, change, rcond=None)[0]


def _measure_used_directions(inputs: Inputs) -> np.ndarray:
    sizes = np.abs(_measure_steps_along_directions(inputs))
    return sizes > _NONE * sizes.max()


def _measure_step_factor(inputs: Inputs) -> float:
    coefficients = _measure_steps_along_directions(inputs, inputs["learning_rate"])
    largest = int(np.argmax(np.abs(coefficients)))
    return coefficients[largest] / (inputs["plus"] - inputs["minus"])[largest]


PROBES: Mapping[str, Probe] = {
    "ars.directions": _measure_used_directions,
    "ars.step": _measure_step_factor,
}
