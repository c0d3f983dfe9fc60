"""The run store: a folder of run records, found by what was run, not by a name someone gave."""

from __future__ import annotations

import json
import os
import warnings
from pathlib import Path
from typing import Any

from filelock import FileLock

from rlregress.errors import UserError
from rlregress.training import record
from rlregress.training.cell import Job


class Store:
    """Records of finished and failed runs under one folder.

    A record lies at ``<cell>/<seed>-<key>.json``; its key is the digest of everything that
    determines the run. A damaged record is renamed to ``*.damaged`` with a warning and never
    judged; the run counts as not done.
    """

    def __init__(self, folder: Path) -> None:
        """UserError if nothing can be written to ``folder``."""
        self.folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(
                f"run records cannot be written to {folder}: {error}; name another folder with "
                "--store"
            ) from None
        if not os.access(folder, os.W_OK):
            raise UserError(
                f"run records cannot be written to {folder}: no permission; name another folder "
                "with --store"
            )

    def path(self, job: Job) -> Path:
        """Where the record of ``job`` lies or will lie."""
        return self.folder / job.cell.id / f"{job.seed:04d}-{job.key}.json"

    def lock(self, job: Job) -> FileLock:
        """Held by the process that does the run; the system frees it when that process dies."""
        path = self.path(job)
        path.parent.mkdir(parents=True, exist_ok=True)
        return FileLock(str(path.with_suffix(".lock")))

    def find(self, job: Job) -> dict[str, Any] | None:
        """The record of ``job``, or None if the run is not done."""
        path = self.path(job)
        if not path.exists():
            return None
        try:
            found = record.read(path)
            expected = json.loads(json.dumps({**job.as_dict(), "key": job.key}))
            if found["key"] != job.key or found["job"] != expected:
                raise UserError(
                    f"the run record {path} belongs to another run: found key {found['key']}, "
                    f"expected {job.key}"
                )
        except UserError as error:
            number = sum(1 for _ in path.parent.glob(f"{path.stem}*.damaged"))
            aside = path.with_suffix(f".{number}.damaged" if number else ".damaged")
            path.replace(aside)
            warnings.warn(
                f"{error}; it was set aside as {aside.name} and is not judged", stacklevel=2
            )
            return None
        return found
