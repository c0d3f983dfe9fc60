"""Published returns: ``baselines/paper/<name>.csv``, each with its protocol in ``<name>.toml``."""

from __future__ import annotations

import csv
from functools import cache

from rlregress import suite
from rlregress.errors import UserError
from rlregress.training.cell import Cell
from rlregress.verdicts.bands import Band, recover

_COLUMNS = ("algorithm", "hyperparameters", "framework", "environment", "mean", "half_width")
SEEDS = 5

#: (framework, algorithm, environment, hyperparameter set)
Key = tuple[str, str, str, str]


@cache
def table(name: str) -> dict[Key, Band]:
    """The bands of a published table; UserError that names file and line of what does not fit."""
    path = suite.baselines() / "paper" / f"{name}.csv"
    bands: dict[Key, Band] = {}
    try:
        with open(path, encoding="utf-8", newline="") as stream:
            for row in csv.DictReader(stream):
                values = [row.get(column) for column in _COLUMNS]
                algorithm, hyperparameters, framework, environment, mean, half = values
                key = (framework, algorithm, environment, hyperparameters)
                bands[key] = recover(float(mean), float(half), SEEDS)  # type: ignore[arg-type, index]
    except (OSError, UnicodeDecodeError, TypeError, ValueError) as error:
        raise UserError(
            f"{path}, line {len(bands) + 2}: {error}; expected the columns {', '.join(_COLUMNS)}"
        ) from None
    return bands


def band_of(cell: Cell, name: str) -> Band | None:
    """The published band of a cell, if the table has one."""
    key = (cell.framework, cell.algorithm, cell.environment, cell.hyperparameters)
    return table(name).get(key)


def ceiling_counts(cell: Cell, name: str) -> tuple[int, int]:
    """Published runs below the ceiling, and all of them, over the cells of an environment.

    A mean of five runs that is below the ceiling contains at least one run that failed; how many
    it contains beyond one is not published, so this is a lower bound.
    """
    means = [band.mean for key, band in table(name).items() if key[2] == cell.environment]
    failed = sum(mean < max(means) for mean in means)
    return failed, SEEDS * len(means)
