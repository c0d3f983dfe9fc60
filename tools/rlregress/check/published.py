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
from rlregress.verdicts.bands import recover_band_from_printed_numbers

PUBLISHED_SEEDS = 5

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


def locate_published_table(table: str) -> Path:
    """Return the file of a published table."""
    return suite.locate_baselines() / "paper" / f"{table}.csv"


def _check_keys_are_distinct(path: Path, keys: Sequence[tuple[str, ...]]) -> None:
    """Raise UserError if two lines of a table share a key."""
    for key, count in Counter(keys).items():
        if count > 1:
            raise UserError(
                f"{path} has {count} lines of {' '.join(key)}; expected one: remove the others"
            )


@cache
def load_published_bands(table: str) -> dict[Key, Band]:
    """Return the bands of a published table; UserError names file and line of bad input."""
    rows: tuple[_Row, ...] = datafiles.read_data_file(
        locate_published_table(table), tuple[_Row, ...]
    )
    keys = [(row.framework, row.algorithm, row.environment, row.hyperparameters) for row in rows]
    _check_keys_are_distinct(locate_published_table(table), keys)
    bands = [
        recover_band_from_printed_numbers(row.mean, row.half_width, PUBLISHED_SEEDS) for row in rows
    ]
    return dict(zip(keys, bands, strict=True))


def find_published_band(cell: Cell, table: str) -> Band | None:
    """Return the published band of a cell, if the table has one."""
    key = (cell.framework, cell.algorithm, cell.environment, cell.hyperparameters)
    return load_published_bands(table).get(key)


def count_failed_published_runs(cell: Cell, table: str) -> tuple[int, int]:
    """Return (runs known to have failed, all runs) of the published results of an environment.

    The ceiling is the highest published mean. A mean of five runs below it contains at least one
    failed run. More are possible but not published, so this is a lower bound.
    """
    means = [
        band.mean for key, band in load_published_bands(table).items() if key[2] == cell.environment
    ]
    failed = sum(mean < max(means) for mean in means)
    return failed, PUBLISHED_SEEDS * len(means)


@dataclass(frozen=True)
class _Original:
    algorithm: Text
    environment: Text
    mean: Number
    sd: Annotated[Number, Field(ge=0)]
    seeds: Annotated[int, Field(ge=2)]


@cache
def load_bands_of_original_papers() -> dict[tuple[str, str], Band]:
    """Return (algorithm, environment without version) -> the band in the paper of the algorithm.

    The bands are read from ``baselines/paper/originals.csv``. The papers do not state the divisor
    of their standard deviations. ``sd_high`` is the sample standard deviation if they divided by
    the number of seeds.
    """
    path = locate_published_table("originals")
    rows: tuple[_Original, ...] = datafiles.read_data_file(path, tuple[_Original, ...])
    keys = [(row.algorithm, row.environment.partition("-v")[0]) for row in rows]
    _check_keys_are_distinct(path, keys)
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
