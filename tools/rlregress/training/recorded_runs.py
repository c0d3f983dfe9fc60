"""The run records of a folder, each with the run that it is of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from pydantic import ConfigDict, Field

from rlregress import datafiles
from rlregress.datafiles import Component, Line, Natural, Number, Time, expected, one_of
from rlregress.errors import UserError
from rlregress.inside import run_record
from rlregress.inside.critic import CriticAccuracy
from rlregress.training.cell import Job

FINISHED, FAILED = "finished", "failed"
_Seconds = Annotated[Number, Field(ge=0)]
#: of a machine: text in one line, or how many threads
Described = Annotated[
    Any,
    expected(
        "text in one line or a whole number",
        lambda value: type(value) is int or (isinstance(value, str) and value.isprintable()),
    ),
]


@dataclass(frozen=True, kw_only=True)
class Times:
    """When a run was made, and how long it took."""

    started_at: Time | None = None
    wall_seconds: _Seconds = 0.0
    cpu_seconds: _Seconds = 0.0
    evaluation_cpu_seconds: _Seconds = 0.0
    checkpoint_cpu_seconds: _Seconds = 0.0
    steps_per_cpu_second: _Seconds | None = None


@dataclass(frozen=True, kw_only=True)
class _Memory:
    peak_mib: _Seconds | None = None


@dataclass(frozen=True, kw_only=True)
class _Continued:
    steps: Natural
    attempt: Component
    host: Line


@dataclass(frozen=True, kw_only=True)
class _Attempt:
    id: Component | None = None
    host: Line = ""
    slurm: Mapping[Line, Line] = field(default_factory=dict)
    restarts: Natural = 0
    continued: tuple[_Continued, ...] = ()
    begun_anew: str = ""


@dataclass(frozen=True, kw_only=True)
class _Record:
    """What ``inside.worker`` writes; what has a default came later, and older records lack it.

    Keys that are not known are kept and not read: a store may hold what later versions write, and
    a record that is refused is set aside and its run done again.
    """

    __pydantic_config__ = ConfigDict(strict=True, extra="ignore")

    schema: Annotated[int, expected(str(run_record.SCHEMA), lambda of: of == run_record.SCHEMA)]
    job: Job
    key: str
    status: Annotated[str, one_of((FINISHED, FAILED))]
    failure: str
    curve: tuple[tuple[Natural, tuple[Number | None, ...]], ...]
    final_return: Number | None
    episode_returns: tuple[Number | None, ...]
    steps: Natural
    parameters_sha256: Line | None
    platform: Mapping[Line, Described]
    time: Times
    training_return: Number | None = None
    critic: CriticAccuracy | None = None
    diagnostics: Mapping[Line, Number | None] | None = None
    memory: _Memory | None = None
    attempt: _Attempt | None = None
    curve_cpu_seconds: tuple[tuple[_Seconds, _Seconds], ...] = ()
    episodes: tuple[tuple[Natural, Number | None, Natural], ...] = ()

    def __post_init__(self) -> None:
        if (self.status == FINISHED) == (self.final_return is None):
            raise ValueError(
                f"it contradicts itself: status '{self.status}' with the return {self.final_return}"
            )


def paths(folder: Path) -> list[Path]:
    """The records of a store, by cell and seed; none if it is not there.

    Raises:
        UserError: it, or the folder of a cell, may not be read.
    """
    cells = (path for path in datafiles.listed(folder, "*") if path.is_dir())
    return [path for cell in cells for path in datafiles.listed(cell, "*.json")]


def read(path: Path) -> tuple[Job, dict[str, Any]]:
    """The run that a record is of, and the record; UserError that says what is wrong with it."""
    content = run_record.read(path)
    try:
        made: _Record = datafiles.checked(content, _Record, path)
    except UserError as error:
        raise UserError(f"the run record {error}") from None
    job = made.job
    if content["job"] != {**job.as_dict(), "key": job.key} or made.key != job.key:
        raise UserError(
            f"the run record {path} does not say what was run: its 'job' does not fit its key, "
            f"expected {job.key}"
        )
    return job, content
