"""Trainings of TorchRL, by its own trainers and collectors."""

from __future__ import annotations

from rlregress.probing.families import make_lazy_getattr
from rlregress.probing.installed_metadata import map_installed_versions

__getattr__ = make_lazy_getattr(
    __name__,
    training=["train", "train_and_resume", "train_seeded", "describe_sources_of_chance"],
    collection=["collect_transitions", "collect_minibatches", "collect_running_statistics"],
    builtin_trainings=["list_builtin_trainings", "warm_up_before_fork"],
)


def explain_why_not_resumable() -> str:
    """Return why versions before 0.14 resume no training; empty for 0.14 and later, which do."""
    (version,) = map_installed_versions(("torchrl",)).values()
    parts = tuple(int(part) for part in version.split(".")[:2])
    before = parts < (0, 14)
    return "versions before 0.14 are not known to continue with the same result" if before else ""
