"""The run store: a folder of run records, found by what was run, not by a name someone gave."""

from __future__ import annotations

import itertools
import json
import os
import re
import warnings
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Annotated, Any

from pydantic import Field

from rlregress import datafiles, files, suite
from rlregress.datafiles import Number
from rlregress.errors import DamagedRecord, UserError
from rlregress.inside import checkpoint, run_record
from rlregress.training import lease, recorded_runs
from rlregress.training.cell import Job
from rlregress.training.lease import Holder, Lease

#: folders of a store that hold no records.
MANIFESTS, SLURM = "manifests", "slurm"
_RECORD, _LEASE, _FAILED, _ATTEMPTS = ".json", ".lease", ".failed", ".attempts"
_CHECKPOINT, _PROGRESS = ".checkpoint", ".progress"
_DUPLICATE, _DAMAGED = ".duplicate", ".damaged"
_OF_RUNS = (_RECORD, _LEASE, _FAILED, _CHECKPOINT, _DUPLICATE, _DAMAGED)
#: how the files of a run are named: its seed and its key, and of some what tells them apart
_RUN = re.compile(r"\d{4,10}-\w{1,64}(\.[\w.+@:=~-]+)?$")
#: of why a run failed, so many characters are kept beside its record.
_REASON = 300
_LONGEST_REASON = 10_000  # bytes


@dataclass
class Contents:
    """What the names of a store's files say; runs are called as ``Job.name`` has it.

    Attributes:
        done: runs that have a record.
        failed: those of them whose training ended in an error.
        leases: runs that somebody does, or has left undone.
        checkpoints: runs that can be continued.
        duplicates, damaged: files, relative to the store.
    """

    done: set[str] = field(default_factory=set)
    failed: set[str] = field(default_factory=set)
    leases: set[str] = field(default_factory=set)
    checkpoints: set[str] = field(default_factory=set)
    duplicates: list[str] = field(default_factory=list)
    damaged: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Progress:
    """How far a training has come: environment steps, and seconds by the wall."""

    steps: Annotated[int, Field(ge=0, le=10**12)]
    total_steps: Annotated[int, Field(ge=1, le=10**12)]
    wall_seconds: Annotated[Number, Field(ge=0, le=1e9)]


class Attempt:
    """One attempt at a run, in a folder of its own; a context, in which it holds the run's lease.

    Attributes:
        id: unlike that of any other attempt.
        job, log, record: files of the worker.
        checkpoint: of the run; it stays when the attempt ends.
        begun_anew: why the training was not continued although there was a checkpoint; empty: it
            was, or there was none.
    """

    def __init__(self, store: Path, folder: Path, held: Lease, checkpoint: Path) -> None:
        """``held`` is held already; ``folder`` lies in the folder of the store."""
        self._store, self.checkpoint, self.begun_anew = store, checkpoint, ""
        self.id, self.lease, self.folder = held.holder.attempt, held, folder
        self.job, self.log = folder / "job.json", folder / "log"
        self.record = folder / f"record{_RECORD}"

    def as_dict(self) -> dict[str, Any]:
        """What its record says of it."""
        of = self.lease.holder
        return {"id": of.attempt, "host": of.host, "slurm": of.slurm, "restarts": of.restarts}

    def __enter__(self) -> Attempt:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        _: TracebackType | None,
    ) -> None:
        with suppress(OSError, UserError):
            files.remove(self._store, self.folder)
            self.folder.parent.rmdir()
        self.lease.give_back("" if kind is None else str(error) or kind.__name__)


class Store:
    """Records of finished and failed runs under one folder.

    A record lies at ``<cell>/<seed>-<key>.json``; its key is the digest of everything that
    determines the run. A damaged record is never judged, and its run counts as not done; when the
    run is done again, the record is renamed to ``*.damaged`` with a warning. Beside a record lie,
    under the same name, the lease of who does the run (``.lease``), the folders of those who try
    (``.attempts``), what the next of them continues from (``.checkpoint``), and why it failed
    (``.failed``).
    """

    def __init__(self, folder: Path) -> None:
        """UserError if ``folder`` can be no folder; nothing is made or written there yet."""
        self.folder = folder
        try:
            there = next(path for path in (folder, *folder.parents) if path.exists())
        except OSError as error:
            raise UserError(
                f"{folder} cannot be a folder of run records: {error.strerror}; name another one "
                "with --store"
            ) from None
        if not there.is_dir():
            raise UserError(
                f"{folder} cannot be a folder of run records: {there} is no folder; name another "
                "one with --store"
            )

    def path(self, job: Job) -> Path:
        """Where the record of ``job`` lies or will lie; never outside of the store."""
        return files.inside(self.folder, *f"{job.name}{_RECORD}".split("/"))

    def claim(self, job: Job) -> Attempt | None:
        """An attempt at ``job``, or None while another one holds its lease."""
        path = self.path(job)
        held = Lease(path.with_suffix(_LEASE))
        attempts = path.with_suffix(_ATTEMPTS)
        folder = files.inside(path.parent, attempts.name, held.holder.attempt)
        while True:
            with suppress(FileNotFoundError):  # somebody who ended has removed what he left empty
                attempts.mkdir(parents=True, exist_ok=True)
                folder.mkdir()
                break
        # whatever goes wrong, an empty folder is not left
        taken = False
        try:
            taken = held.take()
        finally:
            if not taken:
                folder.rmdir()
        if not taken:
            return None
        if held.before is not None and lease.why_over(held.before):
            with suppress(OSError):
                files.remove(self.folder, files.inside(attempts, held.before.attempt))
        return Attempt(self.folder, folder, held, path.with_suffix(_CHECKPOINT))

    def in_flight(self, job: Job) -> bool:
        """Whether somebody does the run of ``job`` now."""
        path = self.path(job).with_suffix(_LEASE)
        return path.exists() and not lease.is_over(path)

    def holder(self, name: str) -> tuple[Holder | None, float]:
        """Who holds, or held, the lease of a run, and when it was last touched (s since 1970).

        Args:
            name: as ``Job.name`` has it.

        Raises:
            OSError: there is none any more.
        """
        path = self.folder / f"{name}{_LEASE}"
        return lease.holder(path), path.stat().st_mtime

    def progress(self, name: str, attempt: str) -> Progress | None:
        """How far an attempt has come, as its worker reports it; None while it reports nothing."""
        path = self.folder / f"{name}{_ATTEMPTS}" / attempt / f"record{_PROGRESS}"
        try:
            report: Progress = datafiles.read(path, Progress)
        except UserError:
            return None
        return report

    def checkpoint(self, name: str) -> Progress | None:
        """What the checkpoint of a run says of itself; None if there is none that says it."""
        path = self.folder / f"{name}{_CHECKPOINT}"
        head = checkpoint.head(path)
        values = {key: head[key] for key in Progress.__dataclass_fields__ if key in head}
        try:
            report: Progress = datafiles.checked(values, Progress, path)
        except UserError:
            return None
        return None if head.get("unable") else report

    def drop_checkpoint(self, job: Job) -> None:
        """Remove what a run could be continued from, if it has its record."""
        path = self.path(job)
        if path.exists():
            with suppress(OSError):
                path.with_suffix(_CHECKPOINT).unlink(missing_ok=True)

    def why_failed(self, name: str) -> str:
        """The last line of what a failed run said."""
        try:
            text = files.read(self.folder / f"{name}{_FAILED}", largest=_LONGEST_REASON)
        except OSError:
            return ""
        return (text.decode("utf-8", "replace").strip().splitlines() or [""])[-1]

    def put(self, job: Job, content: Mapping[str, Any], attempt: str) -> bool:
        """Put the record of a run in its place; whether there was none.

        Where there is one, it stays. A second one is kept beside it, as ``*.duplicate``, if it has
        another result; so a run has one record, however many attempts have ended it.

        Args:
            attempt: whose record it is.
        """
        path = self.path(job)
        path.parent.mkdir(parents=True, exist_ok=True)
        source = path.with_name(f".{path.stem}.{attempt}")
        run_record.write(source, content)
        mark = path.with_suffix(_FAILED)
        # before the record, so that no failed run is without it; a result is not lost for it
        with suppress(IsADirectoryError):
            if content["status"] == "failed":
                reason = (str(content["failure"]).strip().splitlines() or ["?"])[-1]
                run_record.write_atomically(mark, reason[:_REASON] + "\n")
            elif not path.exists():
                mark.unlink(missing_ok=True)
        while not lease.put_once(source, path):
            there = self.find(job)
            if there is None:
                if path.is_symlink() and not path.exists():
                    raise UserError(
                        f"the run record {path} cannot be written: there is a link to what is not "
                        "there; remove it"
                    )
                self.set_aside(job)
                continue
            if there["status"] != "failed":
                with suppress(IsADirectoryError):
                    mark.unlink(missing_ok=True)
            if run_record.outcome(there) == run_record.outcome(content) or _has_duplicate(
                path, content
            ):
                source.unlink()
            else:
                _set_aside(source, f"{path.stem}.{attempt}", _DUPLICATE)
            return False
        return True

    def contents(self) -> Contents:
        """What is in the store, as far as the names of its files say; reads none of them."""
        found = Contents()
        if self.folder.is_dir():
            for name, suffix in _names(self.folder):
                if suffix == _RECORD:
                    found.done.add(name)
                elif suffix == _FAILED:
                    found.failed.add(name)
                elif suffix == _LEASE:
                    found.leases.add(name)
                elif suffix == _CHECKPOINT:
                    found.checkpoints.add(name)
                elif suffix == _DUPLICATE:
                    found.duplicates.append(name + suffix)
                elif suffix == _DAMAGED:
                    found.damaged.append(name + suffix)
        found.failed &= found.done
        found.leases -= found.done
        return found

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
        aside = renamed_as_damaged(self.path(job))
        warnings.warn(
            f"{damage}; it is now called {aside.name}, and the run is done again",
            DamagedRecord,
            stacklevel=2,
        )

    def _read(self, job: Job) -> dict[str, Any] | None:
        path = self.path(job)
        try:
            if not path.exists():
                return None
        except OSError as error:
            raise UserError(f"the run record {path} cannot be read: {error.strerror}") from None
        _, stored = recorded_runs.read(path)
        expected = json.loads(json.dumps({**job.as_dict(), "key": job.key}))
        if stored["key"] != job.key or stored["job"] != expected:
            other = [name for name, of in expected.items() if stored["job"].get(name) != of]
            raise UserError(
                f"the run record {path} belongs to another run, of another {', '.join(other)}: "
                f"found key {stored['key']}, expected {job.key}"
            )
        return stored


def renamed_as_damaged(path: Path) -> Path:
    """Rename a record so that its run counts as not done; its new name."""
    return _set_aside(path, path.stem, _DAMAGED)


def _has_duplicate(path: Path, content: Mapping[str, Any]) -> bool:
    """Whether a duplicate of a record has this result already."""
    for duplicate in datafiles.listed(path.parent, f"*{_DUPLICATE}"):
        if duplicate.name.startswith(f"{path.stem}."):
            with suppress(UserError):
                if run_record.outcome(run_record.read(duplicate)) == run_record.outcome(content):
                    return True
    return False


def _set_aside(source: Path, stem: str, ending: str) -> Path:
    """Rename a file of a store to the first name with this ending that is free; that name."""
    for number in itertools.count():
        target = source.with_name(f"{stem}.{number}{ending}" if number else f"{stem}{ending}")
        if lease.put_once(source, target):
            return target
    raise AssertionError


def store_in(given: str) -> Store:
    """The store that ``--store`` names; the suite's own, ``runs``, if it is empty."""
    return Store(files.absolute(given or suite.workplace() / "runs"))


def _names(folder: Path) -> Iterator[tuple[str, str]]:
    """("cell/run", ending) of every file of runs in the folders of cells.

    A link is no folder of the store: what it leads to is neither counted nor renamed.
    """
    with os.scandir(folder) as cells:
        for cell in cells:
            if cell.is_dir(follow_symlinks=False) and files.is_component(cell.name):
                with os.scandir(cell) as entries:
                    for entry in entries:
                        name, dot, ending = entry.name.rpartition(".")
                        of_run = dot + ending in _OF_RUNS and _RUN.match(name)
                        if of_run and not entry.is_dir(follow_symlinks=False):
                            yield f"{cell.name}/{name}", dot + ending
