"""Trainings of skrl, by its own trainers."""

from __future__ import annotations

from typing import Any

from rlregress.probing.families import make_lazy_getattr
from rlregress.probing.interface import RunningStatistics, Unsupported

__getattr__ = make_lazy_getattr(
    __name__,
    training=["train", "train_and_resume"],
    collection=["collect_transitions"],
    sampling=["collect_minibatches"],
    seeded=["train_seeded", "describe_sources_of_chance"],
    builtin_trainings=["list_builtin_trainings"],
)


def explain_why_not_resumable() -> str:
    """Return the reason why no training is resumed: skrl's trainer begins with a reset."""
    return "its trainer counts its steps from 0, and begins with a reset"


def collect_running_statistics(request: Any, environments: int) -> RunningStatistics:
    """Raise Unsupported: skrl's normaliser is updated from minibatches."""
    raise Unsupported("its scaler is updated from minibatches, not from observations")
