"""The run records of a folder, each with the run that it is of."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Annotated, Any

from pydantic import ConfigDict, Field

from rlregress import datafiles
from rlregress.datafiles import Component, Line, Natural, Number, Time, expected, one_of
from rlregress.errors import UserError
from rlregress.inside import run_record
from rlregress.inside.critic import CriticAccuracy, judged_number
from rlregress.model.quantities import CRITIC, RETURNS, TRAINING, Quantity
from rlregress.training.cell import Job

FINISHED, FAILED = "finished", "failed"
#: a year is below it
_Seconds = Annotated[Number, Field(ge=0, lt=1e8)]
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
class Trail:
    """Digests along a training (``inside.trail.Trail``).

    Attributes:
        lines: file of the algorithm -> lines of its functions (of a script: all) that ran, and how
            many there are.
    """

    updates: Natural
    names: tuple[str, ...]
    rows: tuple[Line, ...]
    lines: Mapping[Line, tuple[Natural, Natural]]


@dataclass(frozen=True, kw_only=True)
class RunResult:
    """The result of one run: in a record, in a file of stored runs, and in evidence.

    Attributes:
        failure: why it failed.
        final_return: mean return of the last evaluation; None where the run failed.
        episode_returns: of that evaluation; None where one is not finite.
        steps: environment steps.
        training_return: mean return of the training episodes that ended in its last third; None
            where the run failed, or nothing is known of it.
        critic: how well it predicts the returns of its policy; None as above.
        diagnostics: name -> number at the end of the training (``inside/diagnostics.py``), of
            those that the framework exposes; None as above.
        learning_curve: (steps, mean return) of the training episodes that ended in each twentieth
            of the training.
        trail: of a run in portable arithmetic; None of others.
    """

    status: Annotated[str, one_of((FINISHED, FAILED))]
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
                f"it contradicts itself: status '{self.status}' with the return {self.final_return}"
            )
        if self.critic is not None:
            _check_critic(self.critic)

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> RunResult:
        """Return the run that a record holds, or what evidence keeps of one."""
        held = {spec.name: content[spec.name] for spec in fields(RunResult) if spec.name in content}
        for name, kind in (("critic", CriticAccuracy), ("time", Times), ("trail", Trail)):
            if held.get(name) is not None:
                # a later version may write more
                known = {spec.name for spec in fields(kind)} & set(held[name])
                held[name] = kind(**{key: held[name][key] for key in known})
        return cls(**held)

    def number(self, quantity: Quantity) -> float:
        """Return the number that a quantity is; nan where there is none, or the run failed."""
        if self.status != FINISHED:
            return math.nan
        if quantity is CRITIC:
            return judged_number(self.critic)
        if quantity is RETURNS:
            number = self.final_return
        elif quantity is TRAINING:
            number = self.training_return
        else:
            number = (self.diagnostics or {}).get(quantity.name)
        return math.nan if number is None else number

    def has_number_of(self, quantity: Quantity) -> bool:
        """Whether it is known if there is such a number: some runs were stored without."""
        if quantity is TRAINING:
            return self.training_return is not None
        return (self.critic if quantity is CRITIC else self.diagnostics) is not None


def _check_critic(critic: CriticAccuracy) -> None:
    """Raise ValueError if a critic is none that ``inside.critic.assess`` can come to."""
    explained, bias = critic.explained_variance, critic.bias
    for name, fits, wanted in (
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
            found = getattr(critic, name)
            raise ValueError(f"key 'critic.{name}' is {found}, expected {wanted}")
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
    """A run with all that its worker writes beside the result.

    Keys that are not known are kept and not read: a store may hold what later versions write, and
    a record that is refused is set aside and its run done again.
    """

    __pydantic_config__ = ConfigDict(strict=True, extra="ignore")

    schema: Annotated[int, expected(str(run_record.SCHEMA), lambda of: of == run_record.SCHEMA)]
    job: Job
    key: str
    curve: tuple[tuple[Natural, tuple[Number | None, ...]], ...]
    platform: Mapping[Line, Described]
    memory: _Memory | None = None
    attempt: _Attempt | None = None
    curve_cpu_seconds: tuple[tuple[_Seconds, _Seconds], ...] = ()
    episodes: tuple[tuple[Natural, Number | None, Natural], ...] = ()


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
