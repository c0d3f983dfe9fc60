"""Trainings of SB3-Contrib, by the code that trains and watches agents of SB3."""

from __future__ import annotations

from rlregress.probing.families import make_lazy_getattr

__getattr__ = make_lazy_getattr(
    __name__,
    training=[
        "train",
        "collect_transitions",
        "collect_minibatches",
        "train_and_resume",
        "train_seeded",
        "describe_sources_of_chance",
        "collect_running_statistics",
    ],
    builtin_trainings=["list_builtin_trainings"],
)
