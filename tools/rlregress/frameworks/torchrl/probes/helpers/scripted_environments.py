"""Scripted environments as TorchRL sees them."""

from __future__ import annotations

import gymnasium

from rlregress.frameworks.torchrl.api import GymWrapper


def wrapped(environment: gymnasium.Env) -> GymWrapper:
    """As TorchRL sees it."""
    return GymWrapper(environment, device="cpu")
