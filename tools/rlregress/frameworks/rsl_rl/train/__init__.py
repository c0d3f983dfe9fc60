"""Trainings of RSL-RL, by the ``learn`` of its runners."""

from __future__ import annotations

from rlregress.probing.families import find_in

__getattr__ = find_in(
    __name__,
    training=["train"],
    collection=["transitions"],
    sampling=["minibatches"],
    resume=["train_and_resume"],
    builtin_trainings=["trainings"],
)
