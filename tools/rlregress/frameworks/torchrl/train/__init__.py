"""Trainings of TorchRL, by its own trainers and collectors."""

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
    builtin_trainings=["trainings", "warm_up"],
)


def no_resume_reason() -> str:
    """Return no reason from 0.14 on: ``train`` of a trainer continues where its collector is."""
    (version,) = versions(("torchrl",)).values()
    parts = tuple(int(part) for part in version.split(".")[:2])
    return "that versions before 0.14 go on exactly is not known" if parts < (0, 14) else ""
