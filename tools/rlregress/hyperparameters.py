"""Hyperparameter sets: ``baselines/hyperparameters/<name>.yaml``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rlregress import datafiles, suite
from rlregress.datafiles import Line, Value
from rlregress.errors import UserError, suggest_names


def list_hyperparameter_sets() -> list[str]:
    """List the names of all sets: those of frameworks, and those of papers."""
    folder = suite.locate_baselines() / "hyperparameters"
    return [file.stem for file in datafiles.list_files_by_name(folder, "*.yaml")]


def read_hyperparameters(set_name: str) -> Mapping[str, Mapping[str, Any]]:
    """Read a set: algorithm -> hyperparameter -> value.

    Raises:
        UserError: there is no such set, or its file is damaged.
    """
    names = list_hyperparameter_sets()
    if set_name not in names:
        raise UserError(
            f"unknown hyperparameter set '{set_name}'; {suggest_names(set_name, names)}"
        )
    sets: Mapping[str, Mapping[str, Any]] = datafiles.read_data_file_cached(
        suite.locate_baselines() / "hyperparameters" / f"{set_name}.yaml",
        Mapping[Line, Mapping[Line, Value]],
    )
    return sets
