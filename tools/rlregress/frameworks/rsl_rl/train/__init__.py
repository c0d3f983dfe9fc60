"""Trainings of RSL-RL, by the ``learn`` of its runners."""

from __future__ import annotations

from rlregress.probing.families import make_lazy_getattr

__getattr__ = make_lazy_getattr(
    __name__,
    training=["train", "train_and_resume"],
    collection=["collect_transitions", "collect_minibatches"],
    builtin_trainings=["list_builtin_trainings"],
)
