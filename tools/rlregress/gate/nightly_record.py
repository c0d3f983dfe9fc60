"""The record of one nightly run: key ``night`` of the ``verdict.json`` of a check.

It holds runs, verdicts and versions in few numbers. ``evidence.json`` holds them among much else,
so that a thousand of those take a minute to read. A check lists the records that lie beside its
own, and ``rlregress trend`` reads many of them.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any

from pydantic import ConfigDict, Field

from rlregress import __version__, datafiles, evidence, files
from rlregress.datafiles import Component, Line, Natural, Number, Time, expected, one_of
from rlregress.errors import UserError
from rlregress.gate.baseline_runs import numbers_of
from rlregress.gate.stored_throughput import QUANTITIES
from rlregress.model.gate_result import EarlierRun, GateResult
from rlregress.model.quantities import CRITIC, RETURNS, TRAINING, quantity_of
from rlregress.model.replay_result import DIFFERS, NOT_REPLAYED
from rlregress.model.verdict import EXIT_CODES, REPRODUCED
from rlregress.training import recorded_runs

SCHEMA = 1
FILE = "verdict.json"
#: what of a record tells where it was made
MACHINE = ("cpu", "instructions", "machine", "system")
#: what else may differ between nights, beside the versions of packages
SURROUNDINGS = ("python", "libc", "blas", "torch_threads")
NUMBERS = {"returns": RETURNS, "training": TRAINING, "critic": CRITIC}
#: beyond it squares of numbers overflow
_LARGEST = 1e100

_Number = Annotated[Number, Field(ge=-_LARGEST, le=_LARGEST)]
_Numbers = tuple[_Number | None, ...]
_Pair = Annotated[
    Line, expected("a framework and an algorithm", lambda text: len(text.split(" ")) == 2)
]
_Verdict = Annotated[str, one_of(tuple(EXIT_CODES))]


@dataclass(frozen=True)
class NightlyCell:
    """The new runs of one cell, run by run.

    Attributes:
        group: framework and algorithm.
        verdict: of the check on its returns; empty: it gave none.
        protocol: environment steps and evaluations.
        hyperparameters: digest of them.
        seeds: [n].
        parameters: beginning of the digest of the trained parameters [n]; empty of a failed run.
        returns, training, critic: what runs are judged by (``model.quantities``) [n]; None of a
            run that failed or has none.
        steps_per_cpu_second: environment steps [n].
        machines: place of each run's machine in the night's list of them [n].
    """

    framework: Component
    group: Component
    verdict: Annotated[str, one_of(("", *EXIT_CODES))]
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
class NightlyReplay:
    """The replay of one cell.

    Attributes:
        group: framework and algorithm.
        replayed: id of the cell that was trained.
        seed: of the stored run.
        state: as of ``model.replay_result.Replay``.
        first: where it differs first, in words; empty: it does not.
    """

    framework: Component
    group: Component
    replayed: Component
    seed: Natural
    state: Annotated[str, one_of((REPRODUCED, DIFFERS, NOT_REPLAYED))]
    first: str = ""


@dataclass(frozen=True)
class NightlyFramework:
    """One framework: verdict, versions, digests of the code under test."""

    verdict: _Verdict
    versions: Mapping[Line, Line]
    sources: Mapping[Line, Line] = field(default_factory=dict)


@dataclass(frozen=True)
class NightlyRun:
    """One check.

    Attributes:
        started: UTC.
        machines: descriptions (``inside.machine``) of the machines of the runs.
        throughput: "framework algorithm" -> quantity -> number of each process.
        verdicts: name of what was judged beside the returns of cells -> verdict: groups, training
            returns, critics, throughput.
        replays: cell -> its replay; one that is reproduced has no new runs.
        unjudged: what no verdict was reached on.
    """

    schema: Annotated[int, expected(str(SCHEMA), lambda of: of == SCHEMA)]
    rlregress: Line
    started: Time
    exit_code: int
    budget: Line
    frameworks: Mapping[Component, NightlyFramework]
    machines: tuple[Mapping[Line, recorded_runs.MachineFact], ...]
    cells: Mapping[Component, NightlyCell]
    throughput: Mapping[
        _Pair,
        Mapping[
            Annotated[str, one_of(tuple(QUANTITIES))],
            Annotated[tuple[_Number, ...], Field(min_length=1)],
        ],
    ]
    verdicts: Mapping[Line, _Verdict] = field(default_factory=dict)
    replays: Mapping[Component, NightlyReplay] = field(default_factory=dict)
    unjudged: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        places = {place for cell in self.cells.values() for place in cell.machines}
        if places - set(range(len(self.machines))):
            raise ValueError(f"a run of machine {max(places)}, of {len(self.machines)} in all")

    def reproduced(self) -> set[str]:
        """Return the cells that a replay reproduced, and the groups without any other cell."""
        cells = {name for name, of in self.replays.items() if of.state == REPRODUCED}
        others = {cell.group for cell in self.cells.values()}
        others |= {of.group for name, of in self.replays.items() if name not in cells}
        return cells | {self.replays[name].group for name in cells} - others


@dataclass(frozen=True)
class _Report:
    __pydantic_config__ = ConfigDict(strict=True, extra="ignore")

    night: NightlyRun


def read(folder: Path) -> NightlyRun:
    """Return the nightly run whose report lies in a folder; UserError if its record is damaged."""
    remedy = "leave this night out, or unpack its artifact again"
    report: _Report = datafiles.read(folder / FILE, _Report, remedy=remedy)
    return report.night


def with_earlier(result: GateResult, report: Path) -> GateResult:
    """Return the same result with the nightly runs before it, the latest first.

    These are of the same budget and frameworks, and their reports lie in its folder or beside it.
    A report that cannot be read is left out: ``trend`` names it.
    """
    earlier = []
    own = {outcome.framework for outcome in result.outcomes}
    for path in sorted(files.absolute(report).parent.glob(f"*/{FILE}")):
        with suppress(UserError):
            night = read(path.parent)
            verdicts = {n: of.verdict for n, of in night.frameworks.items() if n in own}
            if verdicts and night.budget == result.budget:
                earlier.append(EarlierRun(started=night.started, verdicts=verdicts))
    earlier.sort(key=lambda run: run.started, reverse=True)
    return replace(result, report_data=replace(result.report_data, earlier=tuple(earlier)))


def of_gate(result: GateResult, entries: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the record of a check that ends now.

    Args:
        entries: of its evidence.
    """
    started = datetime.now(UTC) - timedelta(seconds=result.seconds)
    frameworks = {
        of.framework: {
            "verdict": of.verdict,
            "versions": dict(result.versions[of.framework]),
            "sources": dict(result.sources[of.framework]),
        }
        for of in result.outcomes
        if of.framework in result.versions
    }
    return {
        "schema": SCHEMA,
        "rlregress": __version__,
        "started": started.strftime(datafiles.TIME),
        "exit_code": result.exit_code,
        "budget": result.budget,
        "frameworks": frameworks,
        "unjudged": list(result.unjudged),
        **_results(entries),
    }


def _results(entries: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return all that a night's file holds of the entries of the evidence."""
    machines: list[dict[str, Any]] = []
    cells: dict[str, dict[str, Any]] = {}
    verdicts = evidence.verdicts([dict(entry) for entry in entries])
    records = [entry for entry in entries if isinstance(entry.get("record"), dict)]
    for entry in sorted(records, key=lambda entry: entry["record"]["seed"]):
        of, framework = entry["record"], str(entry.get("framework", ""))
        platform = {name: of.get("platform", {}).get(name) for name in (*MACHINE, *SURROUNDINGS)}
        here = {name: value for name, value in platform.items() if value}
        if here not in machines:
            machines.append(here)
        cell = cells.setdefault(of["cell"], _empty(of, framework, verdicts))
        numbers = numbers_of(of)
        cell["seeds"].append(of["seed"])
        cell["parameters"].append((of.get("parameters_sha256") or "").removeprefix("sha256:")[:12])
        for name, quantity in NUMBERS.items():
            value = numbers[quantity]
            cell[name].append(value if math.isfinite(value) else None)
        cell["steps_per_cpu_second"].append(of["time"].get("steps_per_cpu_second"))
        cell["machines"].append(machines.index(here))
    # diagnostics are judged, and fail no check
    others = {
        name: verdict["verdict"]
        for name, verdict in verdicts.items()
        if name not in cells and quantity_of(name) in NUMBERS.values()
    }
    throughput: dict[str, dict[str, list[float]]] = {}
    for pair, measured in evidence.throughput([dict(entry) for entry in entries]).items():
        name = " ".join(pair)
        for measure, attribute in QUANTITIES.items():
            values = [process.get(attribute) for process in measured.get("processes", ())]
            if values and None not in values:
                throughput.setdefault(name, {})[measure] = values
        for measure, verdict in measured.get("verdicts", {}).items():
            others[f"{name} {measure}"] = verdict["verdict"]
    return {
        "machines": machines,
        "cells": dict(sorted(cells.items())),
        "throughput": throughput,
        "verdicts": dict(sorted(others.items())),
        "replays": {
            entry["replay"]["cell"]: _replay(entry["replay"], str(entry.get("framework", "")))
            for entry in entries
            if isinstance(entry.get("replay"), dict)
        },
    }


def _replay(of: Mapping[str, Any], framework: str) -> dict[str, Any]:
    return {
        "framework": framework,
        "group": _group(of["cell"], framework),
        **{name: of[name] for name in ("replayed", "seed", "state", "first")},
    }


def _group(cell: str, framework: str) -> str:
    algorithm = cell.removeprefix(f"{framework}-").partition("-")[0]
    return f"{framework}-{algorithm}"


def _empty(
    of: Mapping[str, Any], framework: str, verdicts: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """Return a cell without runs, as its first record describes it."""
    given = of.get("hyperparameters")
    text = json.dumps(given, sort_keys=True)
    return {
        "framework": framework,
        "group": _group(str(of["cell"]), framework),
        "verdict": str(verdicts.get(of["cell"], {}).get("verdict", "")),
        "protocol": of.get("protocol") or {},
        "hyperparameters": hashlib.sha256(text.encode()).hexdigest()[:12] if given else "",
        **{name: [] for name in ("seeds", "parameters", *NUMBERS)},
        "steps_per_cpu_second": [],
        "machines": [],
    }
