"""Trainings of Stable-Baselines3, by its own ``learn``."""

from __future__ import annotations

from rlregress.probing.families import make_lazy_getattr
from rlregress.probing.installed_metadata import map_installed_versions

__getattr__ = make_lazy_getattr(
    __name__,
    training=["train"],
    collection=["collect_transitions"],
    sampling=["collect_minibatches"],
    resume=["train_and_resume"],
    seeded=["train_seeded", "describe_sources_of_chance"],
    normalised=["collect_running_statistics"],
    builtin_trainings=["list_trainings"],
)


def explain_no_resume() -> str:
    """Return no reason from 2.0 on: between rollouts the model holds all state of ``learn``."""
    (version,) = map_installed_versions(("stable-baselines3",)).values()
    before = int(version.partition(".")[0]) < 2
    return "that versions before 2.0 go on exactly is not known" if before else ""
