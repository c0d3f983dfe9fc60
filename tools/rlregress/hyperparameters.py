"""Hyperparameter sets: ``baselines/hyperparameters/<name>.yaml``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rlregress import datafiles, suite
from rlregress.errors import UserError, nearest


def hyperparameter_set(name: str) -> Mapping[str, Mapping[str, Any]]:
    """A set: algorithm -> hyperparameter -> value.

    Raises:
        UserError: there is no such set, or its file is damaged.
    """
    folder = suite.baselines() / "hyperparameters"
    known = [file.stem for file in folder.glob("*.yaml")]
    if name not in known:
        raise UserError(f"unknown hyperparameter set '{name}'; {nearest(name, known)}")
    found: Mapping[str, Mapping[str, Any]] = datafiles.read(
        folder / f"{name}.yaml", Mapping[str, Mapping[str, Any]]
    )
    return found
