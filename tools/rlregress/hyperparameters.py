"""Hyperparameter sets: ``baselines/hyperparameters/<name>.yaml``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rlregress import datafiles, suite
from rlregress.datafiles import Line, Value
from rlregress.errors import UserError, nearest


def names() -> list[str]:
    """The names of all sets: of the frameworks' own ones, and of those of papers."""
    folder = suite.baselines() / "hyperparameters"
    return [file.stem for file in datafiles.list_files(folder, "*.yaml")]


def hyperparameter_set(name: str) -> Mapping[str, Mapping[str, Any]]:
    """A set: algorithm -> hyperparameter -> value.

    Raises:
        UserError: there is no such set, or its file is damaged.
    """
    if name not in names():
        raise UserError(f"unknown hyperparameter set '{name}'; {nearest(name, names())}")
    sets: Mapping[str, Mapping[str, Any]] = datafiles.remembered(
        suite.baselines() / "hyperparameters" / f"{name}.yaml", Mapping[Line, Mapping[Line, Value]]
    )
    return sets
