"""The evidence of a session: one plain entry for each test, stored as JSON."""

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
from rlregress.datafiles import Component, Line, Natural, Number, Value, expect_value
from rlregress.inside.run_record import write_text_atomically
from rlregress.model.replay_result import Replay
from rlregress.training import recorded_runs
from rlregress.training.cell import Seed

SCHEMA = 1
#: property of a test that ended in a user error or an error of the suite: it judged no framework
USER_ERROR = "could_not_judge"
#: property of a skipped test: a sentence that names the missing package
LACKING = "lacking"
#: keys of an entry that name the subject of its verdict
JUDGED = ("cell", "group", "training", "critic")
#: test folder -> tier
TIERS = {"tests_unit": "unit", "tests_behavior": "behavior", "tests_performance": "performance"}


def convert_to_plain_data(value: Any) -> Any:
    """Return ``value`` as JSON data: arrays are lists, dataclasses dicts, NaN and infinity None."""
    if is_dataclass(value) and not isinstance(value, type):
        value = asdict(value)
    if isinstance(value, dict):
        return {str(key): convert_to_plain_data(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [convert_to_plain_data(inner) for inner in value]
    if isinstance(value, np.ndarray | np.generic):
        return convert_to_plain_data(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _parse_property_of_test(property_value: Any) -> Any:
    try:
        return json.loads(property_value)
    except (TypeError, ValueError):
        return property_value


def _split_test_id_and_tier(nodeid: str) -> tuple[str, str]:
    """Return the id of a test, relative to the root of the suite, and its tier.

    Pytest prefixes ids with a path if it was started in another folder.
    """
    file, *names = nodeid.split("::")
    parts = file.split("/")
    below = next((n for n, part in enumerate(parts) if part in TIERS), 0)
    return "::".join(["/".join(parts[below:]), *names]), TIERS.get(parts[below], parts[below])


def find_tier(nodeid: str) -> str:
    """Return the tier of a test; its first folder if it has none."""
    return _split_test_id_and_tier(nodeid)[1]


def build_entry_of_report(report: Any) -> dict[str, Any]:
    """Build the plain entry of one pytest report.

    Returns:
        ``test`` (node id), ``tier``, ``outcome`` (passed, failed, skipped, or error where the test
        could not be set up), ``seconds``, ``message``, and properties of the test:
        ``framework``, one of ``JUDGED``, ``detail``, ``scope``, ``found``, ``lacking``, ``record``,
        ``verdict``, ``diagnostics``, ``replay``, ``not_judged``, ``throughput``, ``old_files``.
    """
    test, tier = _split_test_id_and_tier(report.nodeid)
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
        **{name: _parse_property_of_test(value) for name, value in report.user_properties},
    }


def collect_verdicts(entries: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the verdicts of judged subjects and of their diagnostics by name.

    A verdict without a subject has the name of its test.
    """
    judged = {}
    for entry in sorted(entries, key=lambda entry: entry["test"]):
        if isinstance(entry.get("verdict"), dict):
            names = [entry[kind] for kind in JUDGED if entry.get(kind)]
            judged[names[0] if names else entry["test"]] = entry["verdict"]
            judged.update(entry.get("diagnostics", {}))
    return judged


def collect_unjudged_quantities(entries: list[dict[str, Any]]) -> dict[str, dict[str, str]]:
    """Return cell -> secondary quantities that were not judged -> reason."""
    return {entry["cell"]: entry["not_judged"] for entry in entries if entry.get("not_judged")}


def collect_replays(entries: list[dict[str, Any]]) -> dict[str, Replay]:
    """Return cell -> its replay, by name."""
    replays = [Replay(**e["replay"]) for e in entries if isinstance(e.get("replay"), dict)]
    return {replay.cell: replay for replay in sorted(replays, key=lambda replay: replay.cell)}


def list_reproduced_cells(entries: list[dict[str, Any]]) -> set[str]:
    """List the ids of the cells whose replay has the stored numbers."""
    return {cell for cell, replay in collect_replays(entries).items() if replay.is_reproduced}


def collect_loading_outcomes_of_old_files(
    entries: list[dict[str, Any]],
) -> dict[str, dict[str, list[str]]]:
    """Return framework -> kind of file of past releases -> outcomes of loading it, as clauses."""
    outcomes: dict[str, dict[str, list[str]]] = {}
    for entry in sorted(entries, key=lambda entry: entry["test"]):
        if isinstance(loaded := entry.get("old_files"), dict):
            outcomes.setdefault(entry["framework"], {})[loaded["kind"]] = loaded["found"]
    return outcomes


def collect_failures_of_old_files(
    entries: list[dict[str, Any]],
) -> dict[str, dict[str, list[str]]]:
    """Return framework -> kind of which no past file could be loaded -> outcomes, as clauses."""
    return collect_loading_outcomes_of_old_files(
        [entry for entry in entries if entry["outcome"] == "skipped"]
    )


def list_measured_details_and_scopes(
    entries: list[dict[str, Any]], framework: str
) -> set[tuple[str, str]]:
    """List each (detail, scope) whose probe measured something of a framework."""
    return {
        (entry["detail"], entry["scope"])
        for entry in entries
        if entry.get("framework") == framework and "found" in entry
    }


def collect_throughput(entries: list[dict[str, Any]]) -> dict[tuple[str, str], dict[str, Any]]:
    """Return (framework, algorithm) -> recorded ``processes``, ``verdicts`` by quantity."""
    by_pair: dict[tuple[str, str], dict[str, Any]] = {}
    for entry in entries:
        if isinstance(entry.get("throughput"), dict):
            fields = dict(entry["throughput"])
            by_pair.setdefault((entry["framework"], fields.pop("algorithm")), {}).update(fields)
    return by_pair


def build_uncollected_entry(report: Any) -> dict[str, Any]:
    """Build the entry of a file whose tests could not be collected."""
    test, tier = _split_test_id_and_tier(report.nodeid)
    return {
        "test": test,
        "tier": tier,
        "outcome": "error",
        "seconds": 0.0,
        "message": f"could not be collected: {str(report.longrepr)[-1000:]}",
    }


def write_evidence(path: Path, entries: list[dict[str, Any]]) -> None:
    """Write all entries, sorted by test."""
    path.parent.mkdir(parents=True, exist_ok=True)
    ordered = sorted(entries, key=lambda e: e["test"])
    text = json.dumps({"schema": SCHEMA, "tests": ordered}, indent=1, allow_nan=False)
    write_text_atomically(path, text + "\n")


@dataclass(frozen=True, kw_only=True)
class _RunSummary(recorded_runs.RunResult):
    """The fields of a run (``pytest_plugin.subjects.SessionRun``) that an entry stores."""

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
        # the key that readers group these by
        for key, needed_key in (
            ("throughput", "framework"),
            ("not_judged", "cell"),
            ("old_files", "framework"),
        ):
            if getattr(self, key) and not getattr(self, needed_key):
                raise ValueError(f"'{self.test}' has '{key}' and no '{needed_key}'")


@dataclass(frozen=True, kw_only=True)
class _File:
    """The fields that are read; other fields of tests and of later versions are ignored."""

    __pydantic_config__ = ConfigDict(strict=True, extra="ignore")

    schema: Annotated[int, expect_value(str(SCHEMA), lambda number: number == SCHEMA)]
    tests: tuple[_Entry, ...]


def read_evidence_file(path: Path) -> list[dict[str, Any]]:
    """Read the entries of a file; UserError if it is missing or damaged."""
    remedy = "the tests did not finish, or another program has written the file; run them again"
    content: dict[str, Any] = datafiles.read_data_file(path, Mapping[str, Any], remedy)
    datafiles.validate_content(content, _File, path, remedy)
    return content["tests"]
