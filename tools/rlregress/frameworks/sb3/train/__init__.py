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
    builtin_trainings=["list_builtin_trainings"],
)


def explain_why_not_resumable() -> str:
    """Return why versions before 2.0 resume no training; empty for 2.0 and later, which do."""
    (version,) = map_installed_versions(("stable-baselines3",)).values()
    before = int(version.partition(".")[0]) < 2
    return "versions before 2.0 are not known to continue with the same result" if before else ""
