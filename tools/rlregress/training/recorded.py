"""The run records of a folder, each with the run that it is of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rlregress import datafiles
from rlregress.errors import UserError
from rlregress.training import record
from rlregress.training.cell import Job


def paths(folder: Path) -> list[Path]:
    """The records of a store, by cell and seed; none if it is not there.

    Raises:
        UserError: it, or the folder of a cell, may not be read.
    """
    cells = (path for path in datafiles.listed(folder, "*") if path.is_dir())
    return [path for cell in cells for path in datafiles.listed(cell, "*.json")]


def read(path: Path) -> tuple[Job, dict[str, Any]]:
    """The run that a record is of, and the record; UserError that says what is wrong with it."""
    content = record.read(path)
    try:
        plain = Job.of(content["job"]).as_dict()
    except (KeyError, TypeError, ValueError):
        raise UserError(
            f"the run record {path} does not say what was run; expected in its 'job' the cell, "
            "seed, protocol, hyperparameters, versions and sources"
        ) from None
    return datafiles.checked(plain, Job, path), content
