"""The record of one nightly run: key ``night`` of the ``verdict.json`` of a check.

It holds runs, verdicts and versions in few numbers. ``evidence.json`` holds them too, but a
thousand such files take a minute to read. A check lists the records next to its own, and
``rlregress trend`` reads many of them.
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
from rlregress.check.baseline_runs import read_judged_numbers
from rlregress.check.stored_throughput import QUANTITIES
from rlregress.datafiles import Component, Line, Natural, Number, Time, expect_one_of, expect_value
from rlregress.errors import UserError
from rlregress.model.check_result import CheckResult, EarlierRun
from rlregress.model.quantities import CRITIC, RETURNS, TRAINING, get_quantity_of_verdict_name
from rlregress.model.replay_result import DIFFERS, NOT_REPLAYED
from rlregress.model.verdict import EXIT_CODES, REPRODUCED
from rlregress.training import recorded_runs

SCHEMA = 1
VERDICT_FILE = "verdict.json"
#: fields that identify a machine
MACHINE_FIELDS = ("cpu", "instructions", "machine", "system")
#: other fields that may differ between nights, apart from versions of packages
SOFTWARE_FIELDS = ("python", "libc", "blas", "torch_threads")
NUMBERS = {"returns": RETURNS, "training": TRAINING, "critic": CRITIC}
#: squares of larger numbers overflow
_LARGEST = 1e100

_Number = Annotated[Number, Field(ge=-_LARGEST, le=_LARGEST)]
_Numbers = tuple[_Number | None, ...]
_Pair = Annotated[
    Line, expect_value("a framework and an algorithm", lambda text: len(text.split(" ")) == 2)
]
_Verdict = Annotated[str, expect_one_of(tuple(EXIT_CODES))]


@dataclass(frozen=True)
class NightlyCell:
    """The new runs of one cell, run by run.

    Attributes:
        group: framework and algorithm.
        verdict: of the check on its returns; empty if there was none.
        protocol: environment steps and evaluations.
        hyperparameters: digest of them.
        seeds: [n].
        parameters: beginning of the digest of the trained parameters [n]; empty for a failed run.
        returns, training, critic: the judged quantities (``model.quantities``) [n]; None for a run
            that failed or has none.
        steps_per_cpu_second: environment steps [n].
        machines: index of each run's machine in ``NightlyRun.machines`` [n].
    """

    framework: Component
    group: Component
    verdict: Annotated[str, expect_one_of(("", *EXIT_CODES))]
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
            if (length := len(getattr(self, name))) != count:
                raise ValueError(f"{name} has {length} values, expected {count}, one per seed")


@dataclass(frozen=True)
class NightlyReplay:
    """The replay of one cell.

    Attributes:
        group: framework and algorithm.
        replayed: id of the cell that was trained.
        seed: of the stored run.
        state: see ``model.replay_result.Replay``.
        first: description of the first difference; empty if there is none.
    """

    framework: Component
    group: Component
    replayed: Component
    seed: Natural
    state: Annotated[str, expect_one_of((REPRODUCED, DIFFERS, NOT_REPLAYED))]
    first: str = ""


@dataclass(frozen=True)
class NightlyFramework:
    """One framework in a nightly run: verdict, versions, digests of the code under test."""

    verdict: _Verdict
    versions: Mapping[Line, Line]
    sources: Mapping[Line, Line] = field(default_factory=dict)


@dataclass(frozen=True)
class NightlyRun:
    """The record of one nightly check.

    Attributes:
        started: UTC.
        machines: descriptions (``inside.machine``) of the machines of the runs.
        throughput: "framework algorithm" -> quantity -> number of each process.
        verdicts: verdicts on everything but the returns of cells, by name: groups, training
            returns, critics, throughput.
        replays: cell -> its replay; one that is reproduced has no new runs.
        unjudged: names without a verdict.
    """

    schema: Annotated[int, expect_value(str(SCHEMA), lambda schema: schema == SCHEMA)]
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
            Annotated[str, expect_one_of(tuple(QUANTITIES))],
            Annotated[tuple[_Number, ...], Field(min_length=1)],
        ],
    ]
    verdicts: Mapping[Line, _Verdict] = field(default_factory=dict)
    replays: Mapping[Component, NightlyReplay] = field(default_factory=dict)
    unjudged: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        places = {place for cell in self.cells.values() for place in cell.machines}
        if places - set(range(len(self.machines))):
            last = len(self.machines) - 1
            raise ValueError(
                f"a run has machine number {max(places)}, but the record lists numbers 0 to {last}"
            )

    def list_reproduced_cells_and_groups(self) -> set[str]:
        """Return the cells that replays reproduced, and groups whose cells were all reproduced."""
        cells = {name for name, replay in self.replays.items() if replay.state == REPRODUCED}
        judged_groups = {cell.group for cell in self.cells.values()}
        judged_groups |= {
            replay.group for name, replay in self.replays.items() if name not in cells
        }
        return cells | {self.replays[name].group for name in cells} - judged_groups


@dataclass(frozen=True)
class _Report:
    __pydantic_config__ = ConfigDict(strict=True, extra="ignore")

    night: NightlyRun


def read_nightly_run(folder: Path) -> NightlyRun:
    """Return the nightly run of a report folder; UserError if its record is damaged."""
    remedy = "leave this night out, or unpack its artifact again"
    report: _Report = datafiles.read_data_file(folder / VERDICT_FILE, _Report, remedy=remedy)
    return report.night


def add_earlier_nightly_runs(result: CheckResult, report_folder: Path) -> CheckResult:
    """Return the same result with the nightly runs before it, the latest first.

    Earlier runs have the same budget and frameworks, and their reports lie in the same or a
    neighbouring folder. Unreadable reports are left out: ``trend`` names them.
    """
    earlier = []
    frameworks = {outcome.framework for outcome in result.outcomes}
    for path in sorted(files.resolve_real_path(report_folder).parent.glob(f"*/{VERDICT_FILE}")):
        with suppress(UserError):
            night = read_nightly_run(path.parent)
            verdicts = {
                n: framework_run.verdict
                for n, framework_run in night.frameworks.items()
                if n in frameworks
            }
            if verdicts and night.budget == result.budget:
                earlier.append(EarlierRun(started=night.started, verdicts=verdicts))
    earlier.sort(key=lambda run: run.started, reverse=True)
    return replace(result, report_data=replace(result.report_data, earlier=tuple(earlier)))


def build_nightly_record(
    result: CheckResult, entries: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Return the record of a check that has just ended.

    Args:
        entries: the entries of its evidence.
    """
    started = datetime.now(UTC) - timedelta(seconds=result.seconds)
    frameworks = {
        framework_outcome.framework: {
            "verdict": framework_outcome.verdict,
            "versions": dict(result.versions[framework_outcome.framework]),
            "sources": dict(result.sources[framework_outcome.framework]),
        }
        for framework_outcome in result.outcomes
        if framework_outcome.framework in result.versions
    }
    return {
        "schema": SCHEMA,
        "rlregress": __version__,
        "started": started.strftime(datafiles.TIME),
        "exit_code": result.exit_code,
        "budget": result.budget,
        "frameworks": frameworks,
        "unjudged": list(result.unjudged),
        **_summarize_evidence_by_framework(entries),
    }


def _summarize_evidence_by_framework(entries: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Summarize the evidence of a check by framework, for the nightly record."""
    machines: list[dict[str, Any]] = []
    cells: dict[str, dict[str, Any]] = {}
    verdicts = evidence.collect_verdicts([dict(entry) for entry in entries])
    records = [entry for entry in entries if isinstance(entry.get("record"), dict)]
    for entry in sorted(records, key=lambda entry: entry["record"]["seed"]):
        run_record, framework = entry["record"], str(entry.get("framework", ""))
        platform = {
            name: run_record.get("platform", {}).get(name)
            for name in (*MACHINE_FIELDS, *SOFTWARE_FIELDS)
        }
        run_machine = {name: value for name, value in platform.items() if value}
        if run_machine not in machines:
            machines.append(run_machine)
        cell = cells.setdefault(
            run_record["cell"], _make_cell_without_runs(run_record, framework, verdicts)
        )
        numbers = read_judged_numbers(run_record)
        cell["seeds"].append(run_record["seed"])
        cell["parameters"].append(
            (run_record.get("parameters_sha256") or "").removeprefix("sha256:")[:12]
        )
        for name, quantity in NUMBERS.items():
            value = numbers[quantity]
            cell[name].append(value if math.isfinite(value) else None)
        cell["steps_per_cpu_second"].append(run_record["time"].get("steps_per_cpu_second"))
        cell["machines"].append(machines.index(run_machine))
    # diagnostics are judged, and fail no check
    other_verdicts = {
        name: verdict["verdict"]
        for name, verdict in verdicts.items()
        if name not in cells and get_quantity_of_verdict_name(name) in NUMBERS.values()
    }
    throughput: dict[str, dict[str, list[float]]] = {}
    for pair, measured in evidence.collect_throughput([dict(entry) for entry in entries]).items():
        name = " ".join(pair)
        for measure, attribute in QUANTITIES.items():
            values = [process.get(attribute) for process in measured.get("processes", ())]
            if values and None not in values:
                throughput.setdefault(name, {})[measure] = values
        for measure, verdict in measured.get("verdicts", {}).items():
            other_verdicts[f"{name} {measure}"] = verdict["verdict"]
    return {
        "machines": machines,
        "cells": dict(sorted(cells.items())),
        "throughput": throughput,
        "verdicts": dict(sorted(other_verdicts.items())),
        "replays": {
            entry["replay"]["cell"]: _summarize_replay(
                entry["replay"], str(entry.get("framework", ""))
            )
            for entry in entries
            if isinstance(entry.get("replay"), dict)
        },
    }


def _summarize_replay(replay_entry: Mapping[str, Any], framework: str) -> dict[str, Any]:
    return {
        "framework": framework,
        "group": _name_group_of_cell(replay_entry["cell"], framework),
        **{name: replay_entry[name] for name in ("replayed", "seed", "state", "first")},
    }


def _name_group_of_cell(cell: str, framework: str) -> str:
    algorithm = cell.removeprefix(f"{framework}-").partition("-")[0]
    return f"{framework}-{algorithm}"


def _make_cell_without_runs(
    first_record: Mapping[str, Any], framework: str, verdicts: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """Return a cell without runs, described by its first record."""
    hyperparameters = first_record.get("hyperparameters")
    text = json.dumps(hyperparameters, sort_keys=True)
    return {
        "framework": framework,
        "group": _name_group_of_cell(str(first_record["cell"]), framework),
        "verdict": str(verdicts.get(first_record["cell"], {}).get("verdict", "")),
        "protocol": first_record.get("protocol") or {},
        "hyperparameters": hashlib.sha256(text.encode()).hexdigest()[:12]
        if hyperparameters
        else "",
        **{name: [] for name in ("seeds", "parameters", *NUMBERS)},
        "steps_per_cpu_second": [],
        "machines": [],
    }
