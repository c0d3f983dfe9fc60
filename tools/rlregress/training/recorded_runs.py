"""Reads the run records of a folder, and the runs in them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Annotated, Any

from pydantic import ConfigDict, Field

from rlregress import datafiles
from rlregress.datafiles import Component, Line, Natural, Number, Time, expect_one_of, expect_value
from rlregress.errors import UserError
from rlregress.inside import run_record
from rlregress.inside.critic import CriticAccuracy, compute_negative_log_error
from rlregress.model.quantities import CRITIC, RETURNS, TRAINING, Quantity
from rlregress.training.cell import Job

FINISHED, FAILED = "finished", "failed"
#: more than three years
_Seconds = Annotated[Number, Field(ge=0, lt=1e8)]
#: a fact about a machine: one line of text, or a number of threads
MachineFact = Annotated[
    Any,
    expect_value(
        "text in one line or a whole number",
        lambda value: type(value) is int or (isinstance(value, str) and value.isprintable()),
    ),
]


@dataclass(frozen=True, kw_only=True)
class Times:
    """Start time and duration of a run."""

    started_at: Time | None = None
    wall_seconds: _Seconds = 0.0
    cpu_seconds: _Seconds = 0.0
    evaluation_cpu_seconds: _Seconds = 0.0
    checkpoint_cpu_seconds: _Seconds = 0.0
    steps_per_cpu_second: _Seconds | None = None


@dataclass(frozen=True, kw_only=True)
class Trail:
    """Digests of the state of a training at its updates (``inside.trail.Trail``).

    Attributes:
        lines: file of the algorithm -> number of executed lines of its functions, and of all lines
            (a script counts as a whole).
    """

    updates: Natural
    names: tuple[str, ...]
    rows: tuple[Line, ...]
    lines: Mapping[Line, tuple[Natural, Natural]]


@dataclass(frozen=True, kw_only=True)
class RunResult:
    """The result of one run, as stored in records, in files of stored runs and in evidence.

    Attributes:
        failure: the error of a failed run.
        final_return: mean return of the last evaluation; None where the run failed.
        episode_returns: returns of the last evaluation; None for values that are not finite.
        steps: environment steps.
        training_return: mean return of the training episodes that ended in its last third; None
            if the run failed or it was not recorded.
        critic: how well the critic predicts the returns of its policy; None as above.
        diagnostics: name -> number at the end of the training (``inside/diagnostics.py``), for
            those that the framework exposes; None as above.
        learning_curve: (steps, mean return) of the training episodes that ended in each twentieth
            of the training.
        trail: only of runs in portable arithmetic.
    """

    status: Annotated[str, expect_one_of((FINISHED, FAILED))]
    failure: str = ""
    final_return: Number | None = None
    episode_returns: tuple[Number | None, ...] = ()
    steps: Natural = 0
    parameters_sha256: Line | None = None
    training_return: Number | None = None
    critic: CriticAccuracy | None = None
    diagnostics: Mapping[Line, Number | None] | None = None
    learning_curve: tuple[tuple[Number, Number], ...] = ()
    trail: Trail | None = None
    time: Times = field(default_factory=Times)

    def __post_init__(self) -> None:
        if (self.status == FINISHED) == (self.final_return is None):
            raise ValueError(
                f"the record contradicts itself: status '{self.status}' with the return "
                f"{self.final_return}"
            )
        if self.critic is not None:
            _check_accuracy_of_critic(self.critic)

    @classmethod
    def make_from_record(cls, content: Mapping[str, Any]) -> RunResult:
        """Return the run of a record, or of its summary in the evidence."""
        values = {
            spec.name: content[spec.name] for spec in fields(RunResult) if spec.name in content
        }
        for name, kind in (("critic", CriticAccuracy), ("time", Times), ("trail", Trail)):
            if values.get(name) is not None:
                # a later version may write more
                known = {spec.name for spec in fields(kind)} & set(values[name])
                values[name] = kind(**{key: values[name][key] for key in known})
        return cls(**values)

    def get_value_of(self, quantity: Quantity) -> float:
        """Return the value of a quantity; nan if the run has none or failed."""
        if self.status != FINISHED:
            return math.nan
        if quantity is CRITIC:
            return compute_negative_log_error(self.critic)
        if quantity is RETURNS:
            number = self.final_return
        elif quantity is TRAINING:
            number = self.training_return
        else:
            number = (self.diagnostics or {}).get(quantity.name)
        return math.nan if number is None else number

    def has_value_of(self, quantity: Quantity) -> bool:
        """Return whether the run recorded this quantity. Some stored runs lack it."""
        if quantity is TRAINING:
            return self.training_return is not None
        return (self.critic if quantity is CRITIC else self.diagnostics) is not None


def _check_accuracy_of_critic(critic: CriticAccuracy) -> None:
    """Raise ValueError if ``inside.critic`` cannot have returned this accuracy of a critic."""
    explained, bias = critic.explained_variance, critic.bias
    for name, fits, expectation in (
        ("states", critic.states >= 1, "a number of at least 1"),
        ("bootstrapped", 0 <= critic.bootstrapped <= 1, "a number from 0 to 1"),
        (
            "explained_variance",
            explained is None or -math.inf < explained <= 1,
            "a finite number of at most 1",
        ),
        ("bias", bias is None or math.isfinite(bias), "a finite number"),
    ):
        if not fits:
            value = getattr(critic, name)
            raise ValueError(f"key 'critic.{name}' is {value}, expected {expectation}")
    if (explained is None) != (bias is None):
        raise ValueError(
            "key 'critic' has one of 'explained_variance' and 'bias', expected both or none"
        )
    if critic.finite and None in (critic.mean, critic.spread):
        raise ValueError("key 'critic' lacks 'mean' or 'spread'")


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
class _Record(RunResult):
    """A run record: the result and everything else that its worker writes.

    Unknown keys are kept and ignored: later versions may have written them, and a rejected record
    would be set aside and its run repeated.
    """

    __pydantic_config__ = ConfigDict(strict=True, extra="ignore")

    schema: Annotated[
        int, expect_value(str(run_record.SCHEMA), lambda schema: schema == run_record.SCHEMA)
    ]
    job: Job
    key: str
    curve: tuple[tuple[Natural, tuple[Number | None, ...]], ...]
    platform: Mapping[Line, MachineFact]
    memory: _Memory | None = None
    attempt: _Attempt | None = None
    curve_cpu_seconds: tuple[tuple[_Seconds, _Seconds], ...] = ()
    episodes: tuple[tuple[Natural, Number | None, Natural], ...] = ()


def list_record_files(folder: Path) -> list[Path]:
    """List the records of a store by cell and seed; empty if there is no store.

    Raises:
        UserError: the store, or the folder of a cell, may not be read.
    """
    cells = (path for path in datafiles.list_files_by_name(folder, "*") if path.is_dir())
    return [path for cell in cells for path in datafiles.list_files_by_name(cell, "*.json")]


def read_run_and_record(path: Path) -> tuple[Job, dict[str, Any]]:
    """Return the run of a record, and the record. UserError names what is wrong with it."""
    content = run_record.read_record_content(path)
    try:
        record: _Record = datafiles.validate_content(content, _Record, path)
    except UserError as error:
        raise UserError(f"the run record {error}") from None
    job = record.job
    if content["job"] != {**job.convert_to_plain_data(), "key": job.key} or record.key != job.key:
        raise UserError(
            f"the run record {path} is damaged: its 'job' does not fit its key, which would be "
            f"{job.key}; delete the record and run the job again"
        )
    return job, content
