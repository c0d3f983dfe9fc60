"""Trainings of CleanRL: its scripts, from their beginning to their end."""

from __future__ import annotations

from typing import Any

from rlregress.frameworks.cleanrl.script_sources import Source
from rlregress.probing.families import find_in
from rlregress.probing.interface import RunningStatistics, Trained, Unsupported

__getattr__ = find_in(
    __name__,
    training=["train"],
    collection=["transitions"],
    sampling=["minibatches"],
    seeded=["train_seeded", "sources_of_chance"],
    builtin_trainings=["trainings"],
)


def no_resume_reason(source: Source) -> str:
    """Return the reason: a script is one program."""
    return "a script is one program, and nothing from outside can set its variables amid it"


def train_and_resume(request: Any, restored: bool, source: Source) -> Trained:
    """Raise Unsupported: a script is started once and trains to its end."""
    raise Unsupported("a script trains once, from the beginning to its end")


def running_statistics(request: Any, environments: int, source: Source) -> RunningStatistics:
    """Raise Unsupported: a script ends with its training."""
    raise Unsupported("a script ends before its running statistics can be read")
