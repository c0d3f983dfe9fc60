"""Manifests: a list of runs in one file, written once and never changed.

The first line is a header. Every other line is a run, and all are equally long, so that a run is
found by its index without reading the others: thousands of tasks read one line each from a shared
file system. A line holds the whole job with its key, the digest.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any, BinaryIO, NamedTuple

from pydantic import Field

from rlregress import datafiles, files
from rlregress.datafiles import Count, expect_value
from rlregress.errors import UserError
from rlregress.training.cell import Job

SCHEMA = 1
#: characters of the digest in file names and in names of Slurm jobs
NAME_LENGTH = 12
#: separates the summary of a run from its job
_JOB = b', "job": '
_BUFFER = 1 << 20
#: limits of the length of a line in bytes, and of the expected seconds of a run
_SHORTEST_LINE, _LONGEST_LINE, _MAX_SECONDS = 100, 1 << 20, 1e9
_REMEDY = "expected a file that rlregress runs launch wrote; write another one with it"


class ManifestRun(NamedTuple):
    """Summary of a run of a manifest.

    Attributes:
        number: its index.
        name: see ``Job.name``.
        group: see ``Cell.group``.
        seconds: expected CPU seconds; 0 without stored runs.
    """

    number: int
    name: str
    group: str
    seconds: float


@dataclass(frozen=True)
class _Header:
    schema: Annotated[int, expect_value(str(SCHEMA), lambda schema: schema == SCHEMA)]
    runs: Count
    width: Annotated[int, Field(ge=_SHORTEST_LINE, le=_LONGEST_LINE)]
    digest: Annotated[
        str, expect_value("64 digits of a digest", re.compile("[0-9a-f]{64}").fullmatch)
    ]

    def format_header_line(self) -> bytes:
        return json.dumps(asdict(self)).encode() + b"\n"


class Manifest:
    """A written manifest: a file that lists runs to do, from which single runs are read.

    Attributes:
        size: number of runs.
        digest: digest of all runs (hexadecimal).
    """

    def __init__(self, path: Path) -> None:
        """Raise UserError if the file is missing, no manifest, or truncated."""
        self.path = path
        with self._open_file() as stream:
            # limited, because another file may be one endless line
            first = stream.readline(1000)
            run_bytes = stream.seek(0, 2) - len(first)
        try:
            content = json.loads(first)
        except (ValueError, RecursionError):
            content = None
        if not isinstance(content, dict):
            raise UserError(f"{path} is not a manifest of runs; {_REMEDY}")
        header: _Header = datafiles.validate_content(content, _Header, path, _REMEDY, "JSON")
        if run_bytes != header.runs * header.width:
            raise UserError(
                f"the manifest {path} is damaged: found {run_bytes} bytes of runs, expected "
                f"{header.runs * header.width}; {_REMEDY}"
            )
        self.size, self.digest = header.runs, header.digest
        self._width, self._start = header.width, len(first)

    def read_job_at(self, index: int) -> Job:
        """Return the run at an index, from 0; UserError if there is none or it is damaged."""
        if not 0 <= index < self.size:
            raise UserError(
                f"--index is {index}, expected 0 to {self.size - 1}: the manifest {self.path} "
                f"lists {self.size} runs"
            )
        with self._open_file() as stream:
            stream.seek(self._start + index * self._width)
            line = stream.read(self._width)
        try:
            content = json.loads(line)
            plain = Job.make_from_plain_data(content["job"]).convert_to_plain_data()
            job: Job = datafiles.validate_content(plain, Job, self.path, syntax="JSON")
            # the summary and the job must be the same run: of two keys "run", JSON takes the last
            run = _parse_summary_of_run(index, line)
            is_same_run = run is not None and {run.name, content["run"]} == {job.name}
            if is_same_run and content["job"]["key"] == job.key:
                return job
            reason = "it does not match its key"
        except UserError as error:
            reason = str(error)
        except (ValueError, KeyError, TypeError, RecursionError):
            reason = "it is not a run"
        raise self._build_damage_error(f"line {index}: {reason}")

    def iterate_runs(self) -> Iterator[ManifestRun]:
        """Yield all runs in order; UserError after the last one if the file is damaged."""
        digest = hashlib.sha256()
        with self._open_file() as stream:
            stream.seek(self._start)
            for index in range(self.size):
                line = stream.read(self._width)
                digest.update(line)
                run = _parse_summary_of_run(index, line)
                if run is None:
                    raise self._build_damage_error(f"line {index} is not a run")
                yield run
        if digest.hexdigest() != self.digest:
            raise self._build_damage_error("its runs do not match its digest")

    def _open_file(self) -> BinaryIO:
        try:
            return files.open_regular_file(self.path)
        except OSError as error:
            raise UserError(
                f"the manifest {self.path} cannot be read: {error.strerror}; {_REMEDY}"
            ) from None

    def _build_damage_error(self, reason: str) -> UserError:
        return UserError(f"the manifest {self.path} is damaged: {reason}; {_REMEDY}")


def _parse_summary_of_run(index: int, line: bytes) -> ManifestRun | None:
    """Return the summary in a line; None if there is none."""
    try:
        # the job is most of the line, and is not parsed
        summary: dict[str, Any] = json.loads(line[: line.index(_JOB)] + b"}")
        run = ManifestRun(index, summary["run"], summary["group"], summary["seconds"])
        cell, name = run.name.split("/")
        has_valid_names = all(map(files.is_plain_name, (cell, name, run.group)))
        has_valid_seconds = isinstance(run.seconds, float | int) and math.isfinite(run.seconds)
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
        return None
    return (
        run if has_valid_names and has_valid_seconds and 0 <= run.seconds <= _MAX_SECONDS else None
    )


def write_manifest_of_jobs(jobs: Iterable[tuple[Job, float]], folder: Path) -> Manifest:
    """Write the manifest of runs, longest first; its name is its digest.

    An existing manifest stays. Another file of that name is set aside: anyone with access to the
    folder can predict the name.

    Args:
        jobs: runs, each with its expected CPU seconds.
    """
    # a long run that starts last would delay the end
    ordered = sorted(jobs, key=lambda pair: -pair[1])
    folder.mkdir(parents=True, exist_ok=True)
    lines = _LineFormatter()
    width = max(len(lines.format_line(job, seconds)) for job, seconds in ordered) + 1
    digest = hashlib.sha256()
    # same length as the final header, which replaces it once the digest is known
    header = _Header(SCHEMA, len(ordered), width, digest.hexdigest())
    with tempfile.NamedTemporaryFile(dir=folder, delete=False, buffering=_BUFFER) as file:
        try:
            file.write(header.format_header_line())
            for job, seconds in ordered:
                # JSON may end in blanks
                line = lines.format_line(job, seconds).ljust(width - 1) + b"\n"
                digest.update(line)
                file.write(line)
            file.seek(0)
            file.write(replace(header, digest=digest.hexdigest()).format_header_line())
        except BaseException:
            Path(file.name).unlink()
            raise
    path = folder / f"{digest.hexdigest()[:NAME_LENGTH]}.jsonl"
    return rename_new_manifest(Path(file.name), path)


def rename_new_manifest(new_path: Path, path: Path) -> Manifest:
    """Rename a new manifest to ``path``, unless a manifest with the same runs lies there."""
    new_manifest = Manifest(new_path)
    if has_same_runs(path, new_manifest):
        new_path.unlink()
    else:
        with suppress(FileNotFoundError):
            path.rename(path.with_suffix(f".{new_path.name}.damaged"))
        # readable by everyone who may read the folder
        new_path.chmod(0o644)
        new_path.replace(path)
    return Manifest(path)


def has_same_runs(path: Path, manifest: Manifest) -> bool:
    """Return whether the file is a manifest with the same runs, byte by byte."""
    if path.is_symlink():
        # the target of a link may change
        return False
    try:
        existing = Manifest(path)
        if (existing.size, existing.digest) != (manifest.size, manifest.digest):
            return False
        # reading all runs detects damage
        return sum(1 for _ in existing.iterate_runs()) == manifest.size
    except UserError:
        return False


class _LineFormatter:
    """Formats runs as JSON lines without their ends. Shared parts are formatted once."""

    def __init__(self) -> None:
        self._common: dict[tuple[int, ...], tuple[str, str, str, str]] = {}

    def format_line(self, job: Job, seconds: float) -> bytes:
        """Return the line of a run. The run must live as long as this object."""
        parts = (job.cell, job.protocol, job.hyperparameters, job.versions, job.sources)
        # runs of one cell share these objects; comparing their contents would take longer
        identities = tuple(map(id, parts))
        if identities not in self._common:
            self._common[identities] = _format_parts_between_changing_values(job)
        name, group, begin, end = self._common[identities]
        key, seed = job.key, job.seed
        line = f'{name}{seed:04d}-{key}{group}{round(seconds, 1)}{begin}{seed}{end}{key}"}}}}'
        return line.encode()


def _format_parts_between_changing_values(job: Job) -> tuple[str, str, str, str]:
    """Return the parts of a line before its run name, its seconds, its seed and its key."""
    content = job.convert_to_plain_data()
    cell = {"cell": content.pop("cell")}
    del content["seed"]
    name, group, begin, end = (
        json.dumps(part)[:-1]
        for part in ({"run": f"{job.cell.id}/"}, {"group": job.cell.group}, cell, content)
    )
    return (
        name[:-1],
        f'", {group[1:]}, "seconds": ',
        f', "job": {begin}, "seed": ',
        f', {end[1:]}, "key": "',
    )
