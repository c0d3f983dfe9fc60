"""The evidence of a session: one plain entry per test, kept as JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, is_dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import ConfigDict

from rlregress import datafiles
from rlregress.datafiles import Component, Line, Natural, Number, Value, expected
from rlregress.inside.run_record import write_atomically
from rlregress.model.replay_result import Replay
from rlregress.training import recorded_runs
from rlregress.training.cell import Seed

SCHEMA = 1
#: property of a test that ended in a user error: it says nothing about the framework
USER_ERROR = "could_not_judge"
#: property of a test that was skipped: the package that it needs, in a sentence
LACKING = "lacking"
#: what a verdict is about, as the keys of an entry
JUDGED = ("cell", "group", "training", "critic")
#: test folder -> tier
TIERS = {"tests_unit": "unit", "tests_behavior": "behavior", "tests_performance": "performance"}


def plain(value: Any) -> Any:
    """``value`` as JSON knows it: arrays are lists, dataclasses tables, NaN and infinity null."""
    if is_dataclass(value) and not isinstance(value, type):
        value = asdict(value)
    if isinstance(value, dict):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _value(text: Any) -> Any:
    try:
        return json.loads(text)
    except (TypeError, ValueError):
        return text


def _test_and_tier(nodeid: str) -> tuple[str, str]:
    """A test as it is called in a checkout, and its tier, whatever folder pytest began in."""
    file, *names = nodeid.split("::")
    parts = file.split("/")
    below = next((n for n, part in enumerate(parts) if part in TIERS), 0)
    return "::".join(["/".join(parts[below:]), *names]), TIERS.get(parts[below], parts[below])


def tier_of(nodeid: str) -> str:
    """The tier of a test; its first folder if that is none."""
    return _test_and_tier(nodeid)[1]


def entry(report: Any) -> dict[str, Any]:
    """The plain entry of one pytest report.

    Returns:
        ``test`` (node id), ``tier``, ``outcome`` (passed, failed, skipped, or error where the test
        could not be set up), ``seconds``, ``message``, and whatever the test attached:
        ``framework``, one of ``JUDGED``, ``detail``, ``scope``, ``found``, ``lacking``, ``record``,
        ``verdict``, ``diagnostics``, ``replay``, ``not_judged``, ``throughput``, ``old_files``.
    """
    test, tier = _test_and_tier(report.nodeid)
    message = ""
    if report.outcome == "failed":
        crash = getattr(report.longrepr, "reprcrash", None)
        message = crash.message if crash is not None else str(report.longrepr)
    elif report.outcome == "skipped" and isinstance(report.longrepr, tuple):
        message = report.longrepr[2]
    properties = dict(report.user_properties)
    stopped = report.outcome == "failed" and (report.when != "call" or USER_ERROR in properties)
    return {
        "test": test,
        "tier": tier,
        "outcome": "error" if stopped else report.outcome,
        "seconds": round(report.duration, 2),
        "message": message.removeprefix("AssertionError: "),
        **{name: _value(value) for name, value in report.user_properties},
    }


def verdicts(entries: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return name of the judged subject, or test without one -> verdict, by test.

    And diagnostic -> the verdict that was given beside that of the returns.
    """
    judged = {}
    for entry in sorted(entries, key=lambda entry: entry["test"]):
        if isinstance(entry.get("verdict"), dict):
            names = [entry[kind] for kind in JUDGED if entry.get(kind)]
            judged[names[0] if names else entry["test"]] = entry["verdict"]
            judged.update(entry.get("diagnostics", {}))
    return judged


def not_judged(entries: list[dict[str, Any]]) -> dict[str, dict[str, str]]:
    """Return cell -> secondary quantities that were not judged -> reason."""
    return {entry["cell"]: entry["not_judged"] for entry in entries if entry.get("not_judged")}


def replays(entries: list[dict[str, Any]]) -> dict[str, Replay]:
    """Cell -> what its replay came to."""
    all_replays = [
        Replay(**entry["replay"]) for entry in entries if isinstance(entry.get("replay"), dict)
    ]
    return {
        entry_replay.cell: entry_replay
        for entry_replay in sorted(all_replays, key=lambda entry_replay: entry_replay.cell)
    }


def reproduced(entries: list[dict[str, Any]]) -> set[str]:
    """Ids of the cells of which a replay has the stored numbers."""
    return {cell for cell, replay in replays(entries).items() if replay.is_reproduced}


def old_files(entries: list[dict[str, Any]]) -> dict[str, dict[str, list[str]]]:
    """Framework -> kind of file that past releases wrote -> what became of it, in clauses."""
    outcomes: dict[str, dict[str, list[str]]] = {}
    for entry in sorted(entries, key=lambda entry: entry["test"]):
        if isinstance(loaded := entry.get("old_files"), dict):
            outcomes.setdefault(entry["framework"], {})[loaded["kind"]] = loaded["found"]
    return outcomes


def not_loaded(entries: list[dict[str, Any]]) -> dict[str, dict[str, list[str]]]:
    """As ``old_files``, of the kinds of which nothing could be loaded here."""
    return old_files([entry for entry in entries if entry["outcome"] == "skipped"])


def answered(entries: list[dict[str, Any]], framework: str) -> set[tuple[str, str]]:
    """Every (detail, scope) that a framework has answered in some test."""
    return {
        (entry["detail"], entry["scope"])
        for entry in entries
        if entry.get("framework") == framework and "found" in entry
    }


def measured(entries: list[dict[str, Any]]) -> list[tuple[str, float]]:
    """Id of the cell and wall-clock seconds of every run that these tests have trained to its end.

    One whose record was in the store already took no time now.
    """
    return [
        (entry["record"]["cell"], entry["seconds"])
        for entry in entries
        if entry.get("record")
        and entry["record"]["status"] == recorded_runs.FINISHED
        and entry["seconds"] >= entry["record"]["time"].get("wall_seconds", 0.0)
    ]


def throughput(entries: list[dict[str, Any]]) -> dict[tuple[str, str], dict[str, Any]]:
    """(framework, algorithm) -> ``processes`` and ``verdicts`` of its throughput, where there are.

    ``processes`` are measurements, ``verdicts`` are by quantity.
    """
    by_pair: dict[tuple[str, str], dict[str, Any]] = {}
    for entry in entries:
        if isinstance(entry.get("throughput"), dict):
            fields = dict(entry["throughput"])
            by_pair.setdefault((entry["framework"], fields.pop("algorithm")), {}).update(fields)
    return by_pair


def uncollected(report: Any) -> dict[str, Any]:
    """The entry of a file whose tests could not be collected."""
    test, tier = _test_and_tier(report.nodeid)
    return {
        "test": test,
        "tier": tier,
        "outcome": "error",
        "seconds": 0.0,
        "message": f"could not be collected: {str(report.longrepr)[-1000:]}",
    }


def write(path: Path, entries: list[dict[str, Any]]) -> None:
    """Write all entries, sorted by test."""
    path.parent.mkdir(parents=True, exist_ok=True)
    ordered = sorted(entries, key=lambda e: e["test"])
    text = json.dumps({"schema": SCHEMA, "tests": ordered}, indent=1, allow_nan=False)
    write_atomically(path, text + "\n")


@dataclass(frozen=True, kw_only=True)
class _RunSummary(recorded_runs.RunResult):
    """What an entry keeps of a run (``pytest_plugin.subjects.SessionRun``)."""

    cell: Component
    seed: Seed
    protocol: Mapping[Line, Natural] = field(default_factory=dict)
    hyperparameters: Mapping[Line, Value] = field(default_factory=dict)
    platform: Mapping[Line, recorded_runs.MachineFact | None] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class _Verdict:
    verdict: Line
    interval: tuple[Number | None, Number | None] | None = None


@dataclass(frozen=True, kw_only=True)
class _Process:
    ratio: Number | None = None
    peak_mib: Number | None = None


@dataclass(frozen=True, kw_only=True)
class _Throughput:
    algorithm: Component
    processes: tuple[_Process, ...] = ()
    verdicts: Mapping[Line, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class _OldFiles:
    kind: Line
    found: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class _Entry:
    test: str
    tier: Line
    outcome: Line
    seconds: Number
    message: str
    framework: Line = ""
    cell: Line | None = None
    group: Line | None = None
    training: Line | None = None
    critic: Line | None = None
    detail: Line | None = None
    scope: Line | None = None
    verdict: _Verdict | None = None
    diagnostics: Mapping[Line, _Verdict] = field(default_factory=dict)
    not_judged: Mapping[Line, str] = field(default_factory=dict)
    replay: Replay | None = None
    throughput: _Throughput | None = None
    old_files: _OldFiles | None = None
    record: _RunSummary | None = None

    def __post_init__(self) -> None:
        # which what is said is filed under
        for key, needed_key in (
            ("throughput", "framework"),
            ("not_judged", "cell"),
            ("old_files", "framework"),
        ):
            if getattr(self, key) and not getattr(self, needed_key):
                raise ValueError(f"'{self.test}' has '{key}' and no '{needed_key}'")


@dataclass(frozen=True, kw_only=True)
class _File:
    """What is read of a file; tests may attach more, and later versions do."""

    __pydantic_config__ = ConfigDict(strict=True, extra="ignore")

    schema: Annotated[int, expected(str(SCHEMA), lambda of: of == SCHEMA)]
    tests: tuple[_Entry, ...]


def read(path: Path) -> list[dict[str, Any]]:
    """The entries of a file; UserError if it is missing or damaged."""
    remedy = "the tests did not run to their end, or something else has written it"
    content: dict[str, Any] = datafiles.read(path, Mapping[str, Any], remedy)
    datafiles.checked(content, _File, path, remedy)
    return content["tests"]
