"""Trainings of RSL-RL, by the ``learn`` of its runners."""

from __future__ import annotations

from rlregress.probing.families import make_lazy_getattr

__getattr__ = make_lazy_getattr(
    __name__,
    training=["train"],
    collection=["collect_transitions"],
    sampling=["collect_minibatches"],
    resume=["train_and_resume"],
    builtin_trainings=["list_builtin_trainings"],
)
