"""Helpers of drivers: a deterministic policy, and draws that are fixed."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from rlregress.frameworks.torchrl.api import (
    TanhModule,
    TensorDictModule,
    TensorDictSequential,
)


def make_tanh_policy(layer: nn.Module, spec: Any) -> Any:
    """Return a policy whose actions a tanh brings from a layer's outputs between the bounds."""
    return TensorDictSequential(
        TensorDictModule(layer, in_keys=["observation"], out_keys=["param"]),
        TanhModule(in_keys=["param"], out_keys=["action"], spec=spec),
    )


def fix_exploration_noise(noise: Any, number: float | None) -> None:
    """Fix the exploration noise to ``number``; None leaves it random."""
    if number is not None:
        # not in place: where the mean is given as an integer, the buffer is one
        noise.mean, noise.std = torch.tensor(float(number)), torch.tensor(0.0)
