"""A manifest: a list of runs in one file, written once and never changed.

The first line is a header, every other one a run, all of them equally long, so that a run is found
by its index without reading the others: thousands of tasks that each read one line do not read a
large file from a shared file system. A line holds the whole job, whose key is the digest of it.
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
from rlregress.datafiles import Count, expected
from rlregress.errors import UserError
from rlregress.training.cell import Job

SCHEMA = 1
#: of the digest, so much is in the name of the file and in those of jobs of Slurm.
NAMED = 12
#: separates what is known of a run at a glance from its job.
_JOB = b', "job": '
_BUFFER = 1 << 20
#: of a line, in bytes, and of what a run is expected to take.
_SHORTEST_LINE, _LONGEST_LINE, _LONGEST_SECONDS = 100, 1 << 20, 1e9
_REMEDY = "expected a file that rlregress runs launch wrote; write another one with it"


class ManifestRun(NamedTuple):
    """A run of a manifest, at a glance.

    Attributes:
        number: its index.
        name: as ``Job.name`` has it.
        group: as ``Cell.group`` has it.
        seconds: expected CPU seconds; 0 if no stored run tells.
    """

    number: int
    name: str
    group: str
    seconds: float


@dataclass(frozen=True)
class _Header:
    schema: Annotated[int, expected(str(SCHEMA), lambda of: of == SCHEMA)]
    runs: Count
    width: Annotated[int, Field(ge=_SHORTEST_LINE, le=_LONGEST_LINE)]
    digest: Annotated[str, expected("64 digits of a digest", re.compile("[0-9a-f]{64}").fullmatch)]

    def line(self) -> bytes:
        return json.dumps(asdict(self)).encode() + b"\n"


class Manifest:
    """A manifest that was written.

    Attributes:
        size: how many runs it lists.
        digest: of all of them (hexadecimal).
    """

    def __init__(self, path: Path) -> None:
        """UserError if the file is missing, or no manifest, or cut off."""
        self.path = path
        with self._opened() as stream:
            first = stream.readline(1000)
            there = stream.seek(0, 2) - len(first)
        try:
            content = json.loads(first)
        except (ValueError, RecursionError):
            content = None
        if not isinstance(content, dict):
            raise UserError(f"{path} is no manifest of runs; {_REMEDY}")
        header: _Header = datafiles.checked(content, _Header, path, _REMEDY, "JSON")
        if there != header.runs * header.width:
            raise UserError(
                f"the manifest {path} is damaged: found {there} bytes of runs, expected "
                f"{header.runs * header.width}; {_REMEDY}"
            )
        self.size, self.digest = header.runs, header.digest
        self._width, self._start = header.width, len(first)

    def job(self, index: int) -> Job:
        """The run of an index, from 0; UserError if there is none, or if it is damaged."""
        if not 0 <= index < self.size:
            raise UserError(
                f"--index is {index}, expected 0 to {self.size - 1}: the manifest {self.path} "
                f"lists {self.size} runs"
            )
        with self._opened() as stream:
            stream.seek(self._start + index * self._width)
            line = stream.read(self._width)
        try:
            content = json.loads(line)
            plain = Job.from_dict(content["job"]).as_dict()
            job: Job = datafiles.checked(plain, Job, self.path, kind="JSON")
            # what is listed, and what is done, are one run: of two keys "run" JSON takes the last
            run = _at_a_glance(index, line)
            same = run is not None and {run.name, content["run"]} == {job.name}
            if same and content["job"]["key"] == job.key:
                return job
            reason = "it does not match its key"
        except UserError as error:
            reason = str(error)
        except (ValueError, KeyError, TypeError, RecursionError):
            reason = "it is none"
        raise self._damaged(f"the run of index {index}: {reason}")

    def runs(self) -> Iterator[ManifestRun]:
        """All runs, in their order; UserError after the last one if the file is damaged."""
        digest = hashlib.sha256()
        with self._opened() as stream:
            stream.seek(self._start)
            for index in range(self.size):
                line = stream.read(self._width)
                digest.update(line)
                run = _at_a_glance(index, line)
                if run is None:
                    raise self._damaged(f"the run of index {index} is none")
                yield run
        if digest.hexdigest() != self.digest:
            raise self._damaged("its runs do not match its digest")

    def _opened(self) -> BinaryIO:
        try:
            return files.opened(self.path)
        except OSError as error:
            raise UserError(
                f"the manifest {self.path} cannot be read: {error.strerror}; {_REMEDY}"
            ) from None

    def _damaged(self, reason: str) -> UserError:
        return UserError(f"the manifest {self.path} is damaged: {reason}; {_REMEDY}")


def _at_a_glance(index: int, line: bytes) -> ManifestRun | None:
    """The run of a line, without its job; None if it says none."""
    try:
        glance: dict[str, Any] = json.loads(line[: line.index(_JOB)] + b"}")
        run = ManifestRun(index, glance["run"], glance["group"], glance["seconds"])
        cell, name = run.name.split("/")
        fits = all(map(files.is_component, (cell, name, run.group)))
        takes = isinstance(run.seconds, float | int) and math.isfinite(run.seconds)
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
        return None
    return run if fits and takes and 0 <= run.seconds <= _LONGEST_SECONDS else None


def write(jobs: Iterable[tuple[Job, float]], folder: Path) -> Manifest:
    """Write the manifest of runs, longest first, under a name that is its digest.

    Where it is there already, it stays as it is; what is no such list but has its name is set
    aside, as whoever may write to the folder can tell the name beforehand.

    Args:
        jobs: runs, each with its expected CPU seconds.
    """
    ordered = sorted(jobs, key=lambda pair: -pair[1])
    folder.mkdir(parents=True, exist_ok=True)
    lines = _Lines()
    width = max(len(lines.of(job, seconds)) for job, seconds in ordered) + 1
    digest = hashlib.sha256()
    # as long as the one that is written over it when the digest is known
    header = _Header(SCHEMA, len(ordered), width, digest.hexdigest())
    with tempfile.NamedTemporaryFile(dir=folder, delete=False, buffering=_BUFFER) as made:
        try:
            made.write(header.line())
            for job, seconds in ordered:
                # JSON may end in blanks
                line = lines.of(job, seconds).ljust(width - 1) + b"\n"
                digest.update(line)
                made.write(line)
            made.seek(0)
            made.write(replace(header, digest=digest.hexdigest()).line())
        except BaseException:
            Path(made.name).unlink()
            raise
    path = folder / f"{digest.hexdigest()[:NAMED]}.jsonl"
    return put(Path(made.name), path)


def put(made: Path, path: Path) -> Manifest:
    """Give a manifest that was just written its name, unless the same one has it already."""
    wanted = Manifest(made)
    if is_same(path, wanted):
        made.unlink()
    else:
        with suppress(FileNotFoundError):
            path.rename(path.with_suffix(f".{made.name}.damaged"))
        # readable by those who may read the folder
        made.chmod(0o644)
        made.replace(path)
    return Manifest(path)


def is_same(path: Path, wanted: Manifest) -> bool:
    """Whether the list in a file is another one's, to the last byte of its runs."""
    if path.is_symlink():
        # what it leads to may be another one tomorrow
        return False
    try:
        there = Manifest(path)
        if (there.size, there.digest) != (wanted.size, wanted.digest):
            return False
        # all of it is read, to see that none is damaged
        return sum(1 for _ in there.runs()) == wanted.size
    except UserError:
        return False


class _Lines:
    """The lines of runs as JSON, without their end; what runs have in common is written once."""

    def __init__(self) -> None:
        self._common: dict[tuple[int, ...], tuple[str, str, str, str]] = {}

    def of(self, job: Job, seconds: float) -> bytes:
        """The line of a run that is there for as long as this object is."""
        parts = (job.cell, job.protocol, job.hyperparameters, job.versions, job.sources)
        same = tuple(map(id, parts))
        if same not in self._common:
            self._common[same] = _shared_parts(job)
        name, group, begin, end = self._common[same]
        key, seed = job.key, job.seed
        line = f'{name}{seed:04d}-{key}{group}{round(seconds, 1)}{begin}{seed}{end}{key}"}}}}'
        return line.encode()


def _shared_parts(job: Job) -> tuple[str, str, str, str]:
    """What stands in a line before its run, its seconds, its seed and its key."""
    content = job.as_dict()
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
