"""Trainings of SB3-Contrib, by the code that trains and watches agents of SB3."""

from __future__ import annotations

from rlregress.probing.families import find_in

__getattr__ = find_in(
    __name__,
    training=[
        "train",
        "transitions",
        "minibatches",
        "train_and_resume",
        "train_seeded",
        "sources_of_chance",
        "running_statistics",
    ],
    builtin_trainings=["trainings"],
)
