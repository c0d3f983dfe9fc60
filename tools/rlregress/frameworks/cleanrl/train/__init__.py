"""Trainings of CleanRL: its scripts, from their beginning to their end."""

from __future__ import annotations

from typing import Any

from rlregress.frameworks.cleanrl.script_sources import Source
from rlregress.probing.families import make_lazy_getattr
from rlregress.probing.interface import RunningStatistics, Trained, Unsupported

__getattr__ = make_lazy_getattr(
    __name__,
    training=["train"],
    collection=["collect_transitions"],
    sampling=["collect_minibatches"],
    seeded=["train_seeded", "describe_sources_of_chance"],
    builtin_trainings=["list_builtin_trainings"],
)


def explain_why_not_resumable(source: Source) -> str:
    """Return the reason why no training is resumed: a script is one program."""
    return "a script is one program whose variables cannot be set from outside while it runs"


def train_and_resume(request: Any, restored: bool, source: Source) -> Trained:
    """Raise Unsupported: a script is started once and trains to its end."""
    raise Unsupported("a script trains once, from the beginning to its end")


def collect_running_statistics(
    request: Any, environments: int, source: Source
) -> RunningStatistics:
    """Raise Unsupported: a script ends with its training."""
    raise Unsupported("a script ends before its running statistics can be read")
