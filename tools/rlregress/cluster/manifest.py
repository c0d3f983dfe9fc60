"""A manifest: a list of runs in one file, written once and never changed.

The first line is a header, every other one a run, all of them equally long, so that a run is found
by its index without reading the others: thousands of tasks that each read one line do not read a
large file from a shared file system. A line holds the whole job, whose key is the digest of it.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from rlregress.errors import UserError
from rlregress.training.cell import Job

SCHEMA = 1
#: of the digest, so much is in the name of the file and in those of jobs of Slurm.
NAMED = 12
#: separates what is known of a run at a glance from its job.
_JOB = b', "job": '
_BUFFER = 1 << 20
_REMEDY = "expected a file that rlregress launch wrote; write another one with it"


class Run(NamedTuple):
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
    schema: int
    runs: int
    width: int
    digest: str

    def line(self) -> bytes:
        return json.dumps(asdict(self)).encode() + b"\n"


class Manifest:
    """A manifest that was written.

    Attributes:
        size: how many runs it lists.
        digest: of all of them (hexadecimal).
    """

    def __init__(self, path: Path) -> None:
        """UserError if the file is missing, or something else, or cut off."""
        self.path = path
        try:
            with open(path, "rb") as stream:
                first = stream.readline(1000)
                there = stream.seek(0, 2) - len(first)
            header = _Header(**json.loads(first))
            numbers = (header.schema, header.runs, header.width)
            if not all(type(number) is int for number in numbers) or header.runs < 1:
                raise ValueError("its numbers are none")
        except OSError as error:
            raise UserError(
                f"the manifest {path} cannot be read: {error.strerror}; {_REMEDY}"
            ) from None
        except (ValueError, TypeError):
            raise UserError(f"{path} is no manifest of runs; {_REMEDY}") from None
        if header.schema != SCHEMA:
            raise UserError(
                f"the manifest {path} has schema {header.schema}, expected {SCHEMA}; {_REMEDY}"
            )
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
        with open(self.path, "rb") as stream:
            stream.seek(self._start + index * self._width)
            line = stream.read(self._width)
        try:
            content = json.loads(line)
            job = Job.of(content["job"])
            fits = content["job"]["key"] == job.key and content["run"] == job.name
        except (ValueError, KeyError, TypeError):
            fits = False
        else:
            if fits:
                return job
        raise UserError(
            f"the manifest {self.path} is damaged: the run of index {index} does not match its "
            f"key; {_REMEDY}"
        )

    def runs(self) -> Iterator[Run]:
        """All runs, in their order; UserError after the last one if the file is damaged."""
        digest = hashlib.sha256()
        with open(self.path, "rb", buffering=_BUFFER) as stream:
            stream.seek(self._start)
            for index in range(self.size):
                line = stream.read(self._width)
                digest.update(line)
                try:
                    glance: dict[str, Any] = json.loads(line[: line.index(_JOB)] + b"}")
                    run = Run(index, glance["run"], glance["group"], glance["seconds"])
                except (ValueError, KeyError, TypeError):
                    break
                yield run
        if digest.hexdigest() != self.digest:
            raise UserError(
                f"the manifest {self.path} is damaged: its runs do not match its digest; {_REMEDY}"
            )


def write(jobs: Iterable[tuple[Job, float]], folder: Path) -> Manifest:
    """Write the manifest of runs, longest first, under a name that is its digest.

    Where it is there already, it stays as it is.

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
    if path.exists():
        Path(made.name).unlink()
    else:
        # readable by those who may read the folder
        Path(made.name).chmod(0o644)
        Path(made.name).replace(path)
    return Manifest(path)


class _Lines:
    """The lines of runs as JSON, without their end; what runs have in common is written once."""

    def __init__(self) -> None:
        self._common: dict[tuple[int, ...], tuple[str, str, str, str]] = {}

    def of(self, job: Job, seconds: float) -> bytes:
        """The line of a run that is there for as long as this object is."""
        parts = (job.cell, job.protocol, job.hyperparameters, job.versions, job.sources)
        same = tuple(map(id, parts))
        if same not in self._common:
            self._common[same] = _around(job)
        name, group, begin, end = self._common[same]
        key, seed = job.key, job.seed
        line = f'{name}{seed:04d}-{key}{group}{round(seconds, 1)}{begin}{seed}{end}{key}"}}}}'
        return line.encode()


def _around(job: Job) -> tuple[str, str, str, str]:
    """What stands in a line before its run, its seconds, its seed and its key."""
    content = job.as_dict()
    cell = {"cell": content.pop("cell")}
    del content["seed"]
    name, group, begin, end = (
        json.dumps(each)[:-1]
        for each in ({"run": f"{job.cell.id}/"}, {"group": job.cell.group}, cell, content)
    )
    return (
        name[:-1],
        f'", {group[1:]}, "seconds": ',
        f', "job": {begin}, "seed": ',
        f', {end[1:]}, "key": "',
    )
