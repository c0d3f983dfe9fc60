"""The run store: a folder of run records, found by the digest of their inputs."""

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
RUN_SUFFIXES = (_RECORD, _LEASE, _FAILED, _CHECKPOINT, _DUPLICATE, _DAMAGED)
#: file name of a run: seed, key and, for some files, a distinguishing suffix
RUN_NAME = re.compile(r"\d{4,10}-\w{1,64}(\.[\w.+@:=~-]+)?$")
#: stored characters of the reason why a run failed
_REASON = 300
_MAX_REASON_BYTES = 10_000  # bytes


@dataclass
class RunsByState:
    """The runs of a store by state, according to its file names. Runs are named by ``Job.name``.

    Attributes:
        done: runs that have a record.
        failed: the ``done`` runs whose training ended in an error.
        leases: runs that are in progress or were abandoned.
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
    """Progress of a training in environment steps and seconds."""

    steps: Annotated[int, Field(ge=0, le=10**12)]
    total_steps: Annotated[int, Field(ge=1, le=10**12)]
    wall_seconds: Annotated[Number, Field(ge=0, le=1e9)]


class Attempt:
    """One attempt at a run, in its own folder. As a context it holds the lease of the run.

    Attributes:
        id: unique among all attempts.
        job, log, record: files of the worker.
        checkpoint: checkpoint file of the run; it remains when the attempt ends.
        begun_anew: why the training ignored its checkpoint; empty if it continued from it or there
            was none.
    """

    def __init__(self, store: Path, folder: Path, taken_lease: Lease, checkpoint: Path) -> None:
        """Make an attempt with a lease that is held already and a folder inside the store."""
        self._store, self.checkpoint, self.begun_anew = store, checkpoint, ""
        self.id, self.lease, self.folder = taken_lease.holder.attempt, taken_lease, folder
        self.job, self.log = folder / "job.json", folder / "log"
        self.record = folder / f"record{_RECORD}"

    def convert_to_plain_data(self) -> dict[str, Any]:
        """Return the description of the attempt for its record."""
        holder = self.lease.holder
        return {
            "id": holder.attempt,
            "host": holder.host,
            "slurm": holder.slurm,
            "restarts": holder.restarts,
        }

    def __enter__(self) -> Attempt:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        with suppress(OSError, UserError):
            # clean-up must not hide the error that ended the attempt
            files.remove_inside(self._store, self.folder)
            # fails while another attempt has a folder there
            self.folder.parent.rmdir()
        # last, so that the next attempt starts after the clean-up
        self.lease.release_lease("" if kind is None else str(error) or kind.__name__)


class Store:
    """Records of finished and failed runs under one folder.

    A record lies at ``<cell>/<seed>-<key>.json``. Its key is the digest of everything that
    determines the run. A damaged record is never judged, and its run counts as not done. When the
    run is done again, the record is renamed to ``*.damaged`` with a warning. Other files of a run
    have the name of its record:

    - ``.lease`` names the attempt that does the run
    - ``.attempts`` holds a folder for each attempt in progress
    - ``.checkpoint`` is where the next attempt continues
    - ``.failed`` holds the error of a failed run
    """

    def __init__(self, folder: Path) -> None:
        """Raise UserError if ``folder`` cannot be a folder. Nothing is created yet."""
        self.folder = folder
        try:
            existing = next(path for path in (folder, *folder.parents) if path.exists())
        except OSError as error:
            raise UserError(
                f"{folder} cannot be a folder of run records: {error.strerror}; name another one "
                "with --store"
            ) from None
        if not existing.is_dir():
            raise UserError(
                f"{folder} cannot be a folder of run records: {existing} is no folder; name "
                "another one with --store"
            )

    def locate_record(self, job: Job) -> Path:
        """Return the path of the record of ``job``; never outside of the store."""
        return files.join_inside(self.folder, *f"{job.name}{_RECORD}".split("/"))

    def claim_run(self, job: Job) -> Attempt | None:
        """Return an attempt at ``job``, or None while another attempt holds its lease."""
        path = self.locate_record(job)
        run_lease = Lease(path.with_suffix(_LEASE))
        attempts = path.with_suffix(_ATTEMPTS)
        folder = files.join_inside(path.parent, attempts.name, run_lease.holder.attempt)
        while True:
            # an attempt that ends here removes the common folder if it is empty
            with suppress(FileNotFoundError):
                attempts.mkdir(parents=True, exist_ok=True)
                folder.mkdir()
                break
        # the empty folder is removed whatever goes wrong
        is_taken = False
        try:
            is_taken = run_lease.take_if_free()
        finally:
            if not is_taken:
                folder.rmdir()
        if not is_taken:
            return None
        # one that was only silent may still run, and write to its folder
        if run_lease.replaced is not None and lease.explain_ended_attempt(run_lease.replaced):
            with suppress(OSError):
                files.remove_inside(
                    self.folder, files.join_inside(attempts, run_lease.replaced.attempt)
                )
        return Attempt(self.folder, folder, run_lease, path.with_suffix(_CHECKPOINT))

    def is_in_progress(self, job: Job) -> bool:
        """Return whether an attempt at the run of ``job`` is in progress."""
        path = self.locate_record(job).with_suffix(_LEASE)
        return path.exists() and not lease.is_lease_over(path)

    def read_lease_holder(self, job_name: str) -> tuple[Holder | None, float]:
        """Return the present or last holder of a run's lease, and the time of its last heartbeat.

        Args:
            job_name: see ``Job.name``.

        Returns:
            The holder, None if the lease is not readable, and seconds since 1970.

        Raises:
            OSError: the lease is gone.
        """
        path = self.folder / f"{job_name}{_LEASE}"
        return lease.read_holder(path), path.stat().st_mtime

    def read_progress_of_attempt(self, job_name: str, attempt: str) -> Progress | None:
        """Return the progress that an attempt's worker reports; None before its first report."""
        path = self.folder / f"{job_name}{_ATTEMPTS}" / attempt / f"record{_PROGRESS}"
        try:
            report: Progress = datafiles.read_data_file(path, Progress)
        except UserError:
            return None
        return report

    def read_checkpoint_progress(self, job_name: str) -> Progress | None:
        """Return the progress in the checkpoint of a run; None without a usable checkpoint."""
        path = self.folder / f"{job_name}{_CHECKPOINT}"
        head = checkpoint.read_checkpoint_head(path)
        values = {key: head[key] for key in Progress.__dataclass_fields__ if key in head}
        try:
            report: Progress = datafiles.validate_content(values, Progress, path)
        except UserError:
            return None
        # a training that cannot be continued leaves such a checkpoint
        return None if head.get("unable") else report

    def remove_checkpoint_of_recorded_run(self, job: Job) -> None:
        """Remove the checkpoint of a run that has its record."""
        path = self.locate_record(job)
        # without a record, the next attempt continues from the checkpoint
        if path.exists():
            with suppress(OSError):
                path.with_suffix(_CHECKPOINT).unlink(missing_ok=True)

    def read_failure_reason(self, job_name: str) -> str:
        """Return the last line of the error of a failed run."""
        try:
            text = files.read_regular_file(
                self.folder / f"{job_name}{_FAILED}", largest=_MAX_REASON_BYTES
            )
        except OSError:
            return ""
        return (text.decode("utf-8", "replace").strip().splitlines() or [""])[-1]

    def put_record_of_attempt(self, job: Job, content: Mapping[str, Any], attempt: str) -> bool:
        """Put the record of a run in its place. Return whether there was none.

        An existing record stays. A new one with another result is written next to it as
        ``*.duplicate``. So a run has one record, however many attempts finished it.

        Args:
            attempt: id of the attempt that made the record.
        """
        path = self.locate_record(job)
        path.parent.mkdir(parents=True, exist_ok=True)
        source = path.with_name(f".{path.stem}.{attempt}")
        run_record.write_record_with_checksum(source, content)
        mark = path.with_suffix(_FAILED)
        # before the record, so that every failed run has its reason; an error here loses no result
        with suppress(IsADirectoryError):
            if content["status"] == "failed":
                reason = (str(content["failure"]).strip().splitlines() or ["?"])[-1]
                run_record.write_text_atomically(mark, reason[:_REASON] + "\n")
            elif not path.exists():
                mark.unlink(missing_ok=True)
        # the rename decides among attempts that finish at once; a damaged record is moved away,
        # and the rename tried again
        while not lease.rename_if_free(source, path):
            existing = self.find_record(job)
            if existing is None:
                if path.is_symlink() and not path.exists():
                    raise UserError(
                        f"the run record {path} cannot be written: a link with a missing target "
                        "is in its place; remove it"
                    )
                self.set_aside_damaged_record(job)
                continue
            if existing["status"] != "failed":
                with suppress(IsADirectoryError):
                    mark.unlink(missing_ok=True)
            if run_record.select_result_of_run(existing) == run_record.select_result_of_run(
                content
            ) or _has_duplicate_with_same_result(path, content):
                source.unlink()
            else:
                rename_to_free_name(source, f"{path.stem}.{attempt}", _DUPLICATE)
            return False
        return True

    def list_runs_by_state(self) -> RunsByState:
        """List the runs in the store by state. Reads file names only."""
        contents = RunsByState()
        if self.folder.is_dir():
            for name, suffix in _list_run_files(self.folder):
                if suffix == _RECORD:
                    contents.done.add(name)
                elif suffix == _FAILED:
                    contents.failed.add(name)
                elif suffix == _LEASE:
                    contents.leases.add(name)
                elif suffix == _CHECKPOINT:
                    contents.checkpoints.add(name)
                elif suffix == _DUPLICATE:
                    contents.duplicates.append(name + suffix)
                elif suffix == _DAMAGED:
                    contents.damaged.append(name + suffix)
        # a worker that was killed between two steps leaves a mark or a lease that means nothing
        contents.failed &= contents.done
        contents.leases -= contents.done
        return contents

    def find_record(self, job: Job) -> dict[str, Any] | None:
        """Return the record of ``job``, or None if the run is not done or its record is damaged."""
        try:
            return self._read_record(job)
        except UserError:
            return None

    def describe_damaged_record(self, job: Job) -> str:
        """Describe the damage of the record of ``job``; empty if it is intact or absent."""
        try:
            self._read_record(job)
        except UserError as error:
            return str(error)
        return ""

    def set_aside_damaged_record(self, job: Job) -> None:
        """Rename the record of ``job`` if it is damaged, with a warning."""
        problem = self.describe_damaged_record(job)
        if not problem:
            return
        aside = rename_as_damaged(self.locate_record(job))
        warnings.warn(
            f"{problem}; it is now called {aside.name}, and the run is done again",
            DamagedRecord,
            stacklevel=2,
        )

    def _read_record(self, job: Job) -> dict[str, Any] | None:
        path = self.locate_record(job)
        try:
            if not path.exists():
                return None
        except OSError as error:
            raise UserError(f"the run record {path} cannot be read: {error.strerror}") from None
        _, stored = recorded_runs.read_run_and_record(path)
        # tuples become lists, as in the record
        expected = json.loads(json.dumps({**job.convert_to_plain_data(), "key": job.key}))
        if stored["key"] != job.key or stored["job"] != expected:
            differing = [
                name for name, value in expected.items() if stored["job"].get(name) != value
            ]
            raise UserError(
                f"the run record {path} belongs to another run: found key {stored['key']}, "
                f"expected {job.key}; they differ in {', '.join(differing)}, so that it is not used"
            )
        return stored


def rename_as_damaged(path: Path) -> Path:
    """Rename a record so that its run counts as not done. Return the new path."""
    return rename_to_free_name(path, path.stem, _DAMAGED)


def _has_duplicate_with_same_result(path: Path, content: Mapping[str, Any]) -> bool:
    """Return whether a duplicate of a record has this result already."""
    for duplicate in datafiles.list_files_by_name(path.parent, f"*{_DUPLICATE}"):
        if duplicate.name.startswith(f"{path.stem}."):
            with suppress(UserError):
                if run_record.select_result_of_run(
                    run_record.read_record_content(duplicate)
                ) == run_record.select_result_of_run(content):
                    return True
    return False


def rename_to_free_name(source: Path, stem: str, ending: str) -> Path:
    """Rename a file to the first free name with this suffix. Return the new path."""
    # tried until one is free: other attempts may take names at the same time
    for number in itertools.count():
        target = source.with_name(f"{stem}.{number}{ending}" if number else f"{stem}{ending}")
        if lease.rename_if_free(source, target):
            return target
    raise AssertionError


def open_store_of_option(folder: str) -> Store:
    """Return the store of ``--store``; if the option is empty, the folder ``runs`` of the suite."""
    return Store(
        files.resolve_real_path(folder or suite.locate_checkout_or_current_folder() / "runs")
    )


def _list_run_files(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield ("cell/run", suffix) of every file of runs in the folders of cells.

    Links are not followed: their targets are neither counted nor renamed.
    """
    with os.scandir(folder) as cells:
        for cell in cells:
            if cell.is_dir(follow_symlinks=False) and files.is_plain_name(cell.name):
                with os.scandir(cell) as entries:
                    for entry in entries:
                        name, dot, ending = entry.name.rpartition(".")
                        is_run_file = dot + ending in RUN_SUFFIXES and RUN_NAME.match(name)
                        if is_run_file and not entry.is_dir(follow_symlinks=False):
                            yield f"{cell.name}/{name}", dot + ending
