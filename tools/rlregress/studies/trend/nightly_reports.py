"""The nights that reports of gates hold: ``night.json``, and what was written before there was one.

Reports that have no ``night.json`` are read from ``evidence.json``, ``verdict.json`` and
``junit.xml``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

from pydantic import ConfigDict, Field

from rlregress import datafiles, evidence, files
from rlregress.datafiles import Component, Line, Natural, Number, Time, expected, one_of
from rlregress.errors import UserError
from rlregress.gate.nightly_record import FILE, NUMBERS, SCHEMA, contents
from rlregress.gate.stored_throughput import QUANTITIES
from rlregress.model.gate_result import EarlierRun, GateResult
from rlregress.model.verdict import EXIT_CODES
from rlregress.training import recorded_runs

#: what a folder with the report of a gate holds, of whatever age
_REPORTS = (FILE, "verdict.json")
#: reports lie below a folder in so many others at most
_DEEPEST = 50
_REMEDY = "leave this night out, or unpack its artifact again"
#: beyond it squares of numbers overflow
LARGEST = 1e100
#: of a file of JUnit, its date stands in so many bytes at its begin.
_HEAD = 2000

_Number = Annotated[Number, Field(ge=-LARGEST, le=LARGEST)]
_Numbers = tuple[_Number | None, ...]
_Pair = Annotated[
    Line, expected("a framework and an algorithm", lambda text: len(text.split(" ")) == 2)
]
_Measure = Annotated[str, one_of(tuple(QUANTITIES))]
_Measured = Annotated[tuple[_Number, ...], Field(min_length=1)]


@dataclass(frozen=True)
class NightlyCell:
    """The new runs of one cell, run by run.

    Attributes:
        group: framework and algorithm.
        verdict: of the gate on its returns; empty: it gave none.
        protocol: environment steps and evaluations; empty where an older report does not tell.
        hyperparameters: digest of them; empty where an older report does not tell.
        seeds: [n].
        parameters: beginning of the digest of the trained parameters [n]; empty of a failed run.
        returns, training, critic: what runs are judged by (``model.quantities``) [n]; None of a
            run that failed or has none.
        steps_per_cpu_second: environment steps [n].
        machines: place of each run's machine in the night's list of them [n].
    """

    framework: Component
    group: Component
    verdict: Line
    protocol: Mapping[Line, Natural]
    hyperparameters: Line
    seeds: tuple[Natural, ...]
    parameters: tuple[Line, ...]
    returns: _Numbers
    training: _Numbers
    critic: _Numbers
    steps_per_cpu_second: _Numbers
    machines: tuple[Natural, ...]

    def __post_init__(self) -> None:
        count = len(self.seeds)
        for name in ("parameters", *NUMBERS, "steps_per_cpu_second", "machines"):
            if len(getattr(self, name)) != count:
                raise ValueError(f"{len(getattr(self, name))} {name} of {count} seeds")


@dataclass(frozen=True)
class NightlyFramework:
    """One framework: verdict, versions, digests of the code under test."""

    verdict: Line
    versions: Mapping[Line, Line]
    sources: Mapping[Line, Line] = field(default_factory=dict)


@dataclass(frozen=True)
class NightlyRun:
    """One gate.

    Attributes:
        started: UTC.
        machines: descriptions (``inside.machine``) of the machines of the runs.
        throughput: "framework algorithm" -> quantity -> number of each process.
        unjudged: what no verdict was reached on.
    """

    schema: Annotated[int, expected(str(SCHEMA), lambda of: of == SCHEMA)]
    rlregress: Line
    started: Time
    exit_code: int
    budget: Line
    frameworks: Mapping[Component, NightlyFramework]
    machines: tuple[Mapping[Line, recorded_runs.Described], ...]
    cells: Mapping[Component, NightlyCell]
    throughput: Mapping[_Pair, Mapping[_Measure, _Measured]]
    unjudged: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        places = {place for cell in self.cells.values() for place in cell.machines}
        if places - set(range(len(self.machines))):
            raise ValueError(f"a run of machine {max(places)}, of {len(self.machines)} in all")


def read(folder: Path) -> NightlyRun:
    """The night whose report lies in a folder; UserError if it is damaged or has no date."""
    path = folder / FILE
    if path.exists():
        night: NightlyRun = datafiles.read(path, NightlyRun, remedy=_REMEDY)
        return night
    return _from_evidence(folder)


@dataclass(frozen=True, kw_only=True)
class _OfFramework:
    verdict: Line


@dataclass(frozen=True, kw_only=True)
class _Verdict:
    """What is read of ``verdict.json``."""

    __pydantic_config__ = ConfigDict(strict=True, extra="ignore")

    rlregress: Line
    exit_code: int
    budget: Line
    frameworks: Mapping[Component, _OfFramework]
    versions: Mapping[Component, Mapping[Line, Line]]
    sources: Mapping[Component, Mapping[Line, Line]] = field(default_factory=dict)
    unjudged: tuple[str, ...] = ()


def _from_evidence(folder: Path) -> NightlyRun:
    """A night from the files that every gate has written."""
    path = folder / "verdict.json"
    verdict: _Verdict = datafiles.read(path, _Verdict, remedy=_REMEDY)
    entries = evidence.read(folder / "evidence.json")
    if (folder / "throughput.json").exists():
        entries += evidence.read(folder / "throughput.json")
    content = {
        "schema": SCHEMA,
        "rlregress": verdict.rlregress,
        "started": _date(folder, entries),
        "exit_code": verdict.exit_code,
        "budget": verdict.budget,
        "frameworks": {
            name: {
                "verdict": verdict.frameworks[name].verdict,
                "versions": versions,
                "sources": verdict.sources.get(name, {}),
            }
            for name, versions in verdict.versions.items()
            if name in verdict.frameworks
        },
        "unjudged": verdict.unjudged,
        **contents(entries),
    }
    made: NightlyRun = datafiles.checked(content, NightlyRun, path, remedy=_REMEDY)
    return made


def _date(folder: Path, entries: Iterable[Mapping[str, Any]]) -> str:
    """When an older gate ran: as its JUnit file says, or else as its last run began.

    Raises:
        UserError: nothing says so.
    """
    path = folder / "junit.xml"
    try:
        with files.opened(path) as file:
            head = file.read(_HEAD).decode("utf-8", "replace")
    except OSError:
        head = ""
    if found := re.search(r'timestamp="([^"]+)"', head):
        try:
            moment = datetime.fromisoformat(found[1])
            # without an offset it is that of the machine that wrote it, which nothing tells
            moment = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
        except (ValueError, OverflowError) as error:
            raise UserError(f"{path} has no date: {error}; {_REMEDY}") from None
        return moment.strftime(datafiles.TIME)
    began = [
        entry["record"]["time"].get("started_at") or "" for entry in entries if entry.get("record")
    ]
    if not any(began):
        raise UserError(f"the report in {folder} does not say when it was made; {_REMEDY}")
    return max(began)


def below(folder: Path) -> list[Path]:
    """The folders that hold the report of a gate: this one and those below it, but for links.

    Raises:
        UserError: one may not be read, or lies deeper than a report does.
    """
    found, left = [], [(folder, 0)]
    while left:
        place, depth = left.pop()
        if depth > _DEEPEST:
            raise UserError(
                f"{folder} holds folders in more than {_DEEPEST} others; expected the folder of "
                "--report, or one that holds many of them"
            )
        there = datafiles.listed(place, "*")
        if any(path.name in _REPORTS for path in there):
            found.append(files.absolute(place))
        inside = [path for path in there if path.is_dir() and not path.is_symlink()]
        left += [(path, depth + 1) for path in reversed(inside)]
    return found


def folders(given: Iterable[Path]) -> list[Path]:
    """Every folder that holds the report of a gate: those given, and all below them, once each.

    Raises:
        UserError: a folder is not there, may not be read, or holds no report.
    """
    found: dict[Path, None] = {}
    for folder in given:
        if not folder.is_dir():
            raise UserError(f"{folder} is no folder; expected the reports of checks")
        there = below(folder)
        found.update(dict.fromkeys(there))
        if not there:
            raise UserError(
                f"{folder} holds no report of a check ({FILE} or verdict.json), nor does a folder "
                "below it; name the folder of --report, or one that holds many of them"
            )
    return list(found)


def with_earlier(result: GateResult, report: Path) -> GateResult:
    """The same gate with the nightly runs before it, the latest first.

    These are of the same budget and frameworks, and their reports lie in its folder or beside it.
    A report that cannot be read is left out: ``trend`` names it.
    """
    earlier = []
    own = {outcome.framework for outcome in result.outcomes}
    for path in sorted(files.absolute(report).parent.glob(f"*/{FILE}")):
        with suppress(UserError):
            night = read(path.parent)
            verdicts = {
                name: of.verdict
                for name, of in night.frameworks.items()
                if name in own and of.verdict in EXIT_CODES
            }
            if verdicts and night.budget == result.budget:
                earlier.append(EarlierRun(started=night.started, verdicts=verdicts))
    earlier.sort(key=lambda run: run.started, reverse=True)
    return replace(result, report_data=replace(result.report_data, earlier=tuple(earlier)))
