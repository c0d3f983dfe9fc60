"""Trainings of Stable-Baselines3, by its own ``learn``."""

from __future__ import annotations

from rlregress.probing.families import find_in
from rlregress.probing.installed_metadata import versions

__getattr__ = find_in(
    __name__,
    training=["train"],
    collection=["transitions"],
    sampling=["minibatches"],
    resume=["train_and_resume"],
    seeded=["train_seeded", "sources_of_chance"],
    normalised=["running_statistics"],
    builtin_trainings=["trainings"],
)


def no_resume_reason() -> str:
    """Return no reason from 2.0 on: between rollouts the model holds all state of ``learn``."""
    (version,) = versions(("stable-baselines3",)).values()
    before = int(version.partition(".")[0]) < 2
    return "that versions before 2.0 go on exactly is not known" if before else ""
