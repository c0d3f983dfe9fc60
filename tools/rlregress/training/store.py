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


class DamagedRecord(UserWarning):
    """A run record was damaged, and its run is done again."""


def warn_in_words() -> None:
    """Show a damaged record as its sentence, without the line of code that warns."""
    usual = warnings.formatwarning

    def format(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        line: str | None = None,
    ) -> str:
        if issubclass(category, DamagedRecord):
            return f"rlregress: {message}\n"
        return usual(message, category, filename, lineno, line)

    warnings.formatwarning = format


class Store:
    """Records of finished and failed runs under one folder.

    A record lies at ``<cell>/<seed>-<key>.json``; its key is the digest of everything that
    determines the run. A damaged record is never judged, and its run counts as not done; when the
    run is done again, the record is renamed to ``*.damaged`` with a warning.
    """

    def __init__(self, folder: Path) -> None:
        """UserError if nothing can be written to ``folder``; nothing is made there yet."""
        self.folder = folder
        there = next(path for path in (folder, *folder.parents) if path.exists())
        if not there.is_dir() or not os.access(there, os.W_OK):
            why = "you may not write there" if there.is_dir() else f"{there} is no folder"
            raise UserError(
                f"run records cannot be written to {folder}: {why}; name another folder with "
                "--store"
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
        """The record of ``job``, or None if the run is not done or its record is damaged."""
        try:
            return self._read(job)
        except UserError:
            return None

    def damage(self, job: Job) -> str:
        """What is wrong with the record of ``job``; empty if nothing is, or if there is none."""
        try:
            self._read(job)
        except UserError as error:
            return str(error)
        return ""

    def set_aside(self, job: Job) -> None:
        """Rename the record of ``job`` if it is damaged, with a warning."""
        damage = self.damage(job)
        if not damage:
            return
        path = self.path(job)
        number = sum(1 for _ in path.parent.glob(f"{path.stem}*.damaged"))
        aside = path.with_suffix(f".{number}.damaged" if number else ".damaged")
        path.replace(aside)
        warnings.warn(
            f"{damage}; it is now called {aside.name}, and the run is done again",
            DamagedRecord,
            stacklevel=2,
        )

    def _read(self, job: Job) -> dict[str, Any] | None:
        path = self.path(job)
        if not path.exists():
            return None
        stored = record.read(path)
        expected = json.loads(json.dumps({**job.as_dict(), "key": job.key}))
        if stored["key"] != job.key or stored["job"] != expected:
            raise UserError(
                f"the run record {path} belongs to another run: found key {stored['key']}, "
                f"expected {job.key}"
            )
        return stored
