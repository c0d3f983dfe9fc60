"""Trainings of skrl, by its own trainers."""

from __future__ import annotations

from typing import Any

from rlregress.probing.families import find_in
from rlregress.probing.interface import RunningStatistics, Unsupported

__getattr__ = find_in(
    __name__,
    training=["train"],
    collection=["transitions"],
    sampling=["minibatches"],
    resume=["train_and_resume"],
    seeded=["train_seeded", "sources_of_chance"],
    builtin_trainings=["trainings"],
)


def no_resume_reason() -> str:
    """Return the reason: its trainer begins with a reset."""
    return "its trainer counts its steps from 0, and begins with a reset"


def running_statistics(request: Any, environments: int) -> RunningStatistics:
    """Raise Unsupported: the normaliser is a part of the agent."""
    raise Unsupported("its scaler is updated from minibatches, not from observations")
