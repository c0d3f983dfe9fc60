"""Published returns: ``baselines/paper/<name>.csv``, each with its protocol in ``<name>.toml``."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated

from pydantic import Field

from rlregress import datafiles, suite
from rlregress.datafiles import Number, Text
from rlregress.errors import UserError
from rlregress.model.cells import Band
from rlregress.training.cell import Cell
from rlregress.verdicts.bands import recover_band

SEEDS = 5

#: (framework, algorithm, environment, hyperparameter set)
Key = tuple[str, str, str, str]


@dataclass(frozen=True)
class _Row:
    table: str
    algorithm: Text
    hyperparameters: Text
    framework: Text
    environment: Text
    mean: Number
    half_width: Annotated[Number, Field(ge=0)]


def path_of(name: str) -> Path:
    """The file of a published table."""
    return suite.baselines() / "paper" / f"{name}.csv"


def _check_distinct(path: Path, keys: Sequence[tuple[str, ...]]) -> None:
    """UserError if two lines of a table are about one thing."""
    for key, count in Counter(keys).items():
        if count > 1:
            raise UserError(
                f"{path} has {count} lines of {' '.join(key)}; expected one: remove the others"
            )


@cache
def table(name: str) -> dict[Key, Band]:
    """The bands of a published table; UserError that names file and line of what does not fit."""
    rows: tuple[_Row, ...] = datafiles.read(path_of(name), tuple[_Row, ...])
    keys = [(row.framework, row.algorithm, row.environment, row.hyperparameters) for row in rows]
    _check_distinct(path_of(name), keys)
    bands = [recover_band(row.mean, row.half_width, SEEDS) for row in rows]
    return dict(zip(keys, bands, strict=True))


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


@dataclass(frozen=True)
class _Original:
    algorithm: Text
    environment: Text
    mean: Number
    sd: Annotated[Number, Field(ge=0)]
    seeds: Annotated[int, Field(ge=2)]


@cache
def originals() -> dict[tuple[str, str], Band]:
    """(algorithm, environment without its version) -> what the paper of the algorithm printed.

    Read from ``baselines/paper/originals.csv``. The divisor of the printed standard deviations is
    not said: ``sd_high`` is the sample standard deviation if it was the number of seeds.
    """
    path = path_of("originals")
    rows: tuple[_Original, ...] = datafiles.read(path, tuple[_Original, ...])
    keys = [(row.algorithm, row.environment.partition("-v")[0]) for row in rows]
    _check_distinct(path, keys)
    bands = {}
    for key, row in zip(keys, rows, strict=True):
        half = 1.96 * row.sd / math.sqrt(row.seeds)
        largest = row.sd * math.sqrt(row.seeds / (row.seeds - 1))
        band = Band(
            mean=row.mean,
            half=half,
            seeds=row.seeds,
            rounding=0.005,
            sd=row.sd,
            sd_low=row.sd,
            sd_high=largest,
        )
        bands[key] = band
    return bands
