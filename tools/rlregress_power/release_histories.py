"""Judges real histories: every pair of neighbouring releases, whose changes are known.

The changes of each release are data, written from changelogs and sources, not from results of the
gate (``baselines/histories/<framework>.toml``). A check judges every pair, and the results are
stored and counted. A release is probed and traced once, for both of its pairs.
"""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import rlregress_power
from rlregress import datafiles, suite
from rlregress.errors import UserError
from rlregress.inside.run_record import write_text_atomically
from rlregress.model.differences import INCOMPLETE, NEW_FAILS, OLD_FAILED
from rlregress.model.verdict import COULD_NOT_JUDGE
from rlregress.upgrade.differences import known_changes
from rlregress.upgrade.differences.known_changes import Change, ReleasePair
from rlregress.upgrade.versions import cached_folders
from rlregress_power.judged_releases import (
    CAUSE,
    FLAGGED,
    MISSED,
    NOT_JUDGED,
    RED,
    UNREACHED,
    JudgedChange,
    JudgedPair,
)

#: judges a pair of releases; returns the report as plain data
Judge = Callable[[ReleasePair], Mapping[str, Any]]


@dataclass(frozen=True)
class _Results:
    pairs: tuple[JudgedPair, ...]


def locate_judged_pairs(framework: str) -> Path:
    """Return the path of a framework's results."""
    return suite.locate_data_of_package(rlregress_power, "histories") / f"{framework}.results.json"


def load_judged_pairs(framework: str) -> tuple[JudgedPair, ...]:
    """Return the stored results; empty if nothing was judged yet."""
    path = locate_judged_pairs(framework)
    if not path.is_file():
        return ()
    remedy = "remove the file and run rlregress selftest histories again"
    content: _Results = datafiles.read_data_file(path, _Results, remedy)
    return content.pairs


def judge_pairs(
    framework: str,
    judge: Judge,
    only: Sequence[str] = (),
    log: cached_folders.Log = cached_folders.ignore_message,
    further: bool = False,
) -> Iterator[JudgedPair]:
    """Judge every pair without a result, and store the result after each.

    Args:
        only: releases to judge against the one before, even if they have a result.
        further: whether ``judge`` traces selected scenarios only; changes that it names are added
            to the stored results.

    Raises:
        UserError: a release is not published, or, with ``further``, has no result.
    """
    pairs = known_changes.list_release_pairs(framework)
    releases = {pair.release for pair in pairs}
    for name in only:
        if name not in releases:
            raise UserError(
                f"'{name}' is not a release of {framework} that follows another; known: "
                f"{', '.join(pair.release for pair in pairs)}"
            )
    suite.require_checkout("judging histories")
    results = {row.release: row for row in load_judged_pairs(framework)}
    pending = [p for p in pairs if (p.release in only if only else p.release not in results)]
    for pair in pending if further else ():
        if pair.release not in results:
            raise UserError(
                f"{framework} {pair.before} -> {pair.release} has no result to add to; judge "
                "the pair first, without --scenario"
            )
    # the newest first, because users make these upgrades next
    selected = pending[::-1]
    for number, pair in enumerate(selected, start=1):
        log(f"[{number}/{len(selected)}] {framework} {pair.before} -> {pair.release}")
        begun = time.monotonic()
        try:
            data: Mapping[str, Any] = judge(pair)
        except UserError as error:
            if further:
                # the stored result must not be replaced by an error
                raise
            data = {"verdict": COULD_NOT_JUDGE, "headline": f"could not judge: {error}"}
        result = make_judged_pair(pair, data, time.monotonic() - begun)
        if further:
            result = add_named_causes(results[pair.release], result)
        results[pair.release] = result
        _write_judged_pairs(framework, [results[p.release] for p in pairs if p.release in results])
        yield result


def _write_judged_pairs(framework: str, rows: Sequence[JudgedPair]) -> None:
    pairs = [asdict(row) for row in rows]
    for change in itertools.chain.from_iterable(pair["changes"] for pair in pairs):
        if not change["later"]:
            del change["later"]
    text = json.dumps({"pairs": pairs}, indent=1)
    write_text_atomically(locate_judged_pairs(framework), text + "\n")


def make_judged_pair(pair: ReleasePair, data: Mapping[str, Any], seconds: float) -> JudgedPair:
    """Return a report's verdicts on the changes of a pair."""
    return JudgedPair(
        before=pair.before,
        release=pair.release,
        verdict=str(data["verdict"]),
        headline=str(data["headline"]),
        seconds=round(seconds, 1),
        changes=tuple(_judge_change(change, data) for change in pair.changes_to_flag),
    )


def add_named_causes(stored_pair: JudgedPair, further: JudgedPair) -> JudgedPair:
    """Return a stored pair with the causes that an upgrade with selected scenarios named."""
    named = {change.id: change for change in further.changes if change.outcome == CAUSE}
    changes = tuple(
        replace(named[change.id], later=True)
        if change.outcome != CAUSE and change.id in named
        else change
        for change in stored_pair.changes
    )
    return replace(stored_pair, changes=changes)


def _judge_change(change: Change, data: Mapping[str, Any]) -> JudgedChange:
    frameworks = list(data.get("frameworks", {}).values())
    for framework_report in frameworks:
        by = _find_named_cause(change, framework_report)
        if by:
            return JudgedChange(id=change.id, outcome=CAUSE, by=by)
    for row in data.get("entries", ()):
        # a training that only one version can do
        if row["state"] in (NEW_FAILS, OLD_FAILED) and row["name"] in change.functions:
            return JudgedChange(id=change.id, outcome=CAUSE, by=f"{row['state']}: {row['name']}")
    if data["verdict"] in RED and any(
        _does_training_or_detail_differ(change, framework_report) for framework_report in frameworks
    ):
        return JudgedChange(id=change.id, outcome=FLAGGED)
    for row in data.get("entries", ()):
        if row["state"] in INCOMPLETE and row["name"] in change.functions:
            return JudgedChange(id=change.id, outcome=UNREACHED, by=row["name"])
    judged_ = frameworks and data["verdict"] != COULD_NOT_JUDGE
    return JudgedChange(id=change.id, outcome=MISSED if judged_ else NOT_JUDGED)


def _find_named_cause(change: Change, framework_report: Mapping[str, Any]) -> str:
    """Return where the report names the change and nothing else."""
    for name, trace in framework_report["traces"].items():
        cause = trace["cause"] or {}
        named = [
            cause.get("alone"),
            *cause.get("moving", ()),
            *cause.get("together", ()),
            *cause.get("place", ()),
            *cause.get("new", ()),
        ]
        still = set(cause.get("still", ()))
        for function in named:
            if _does_change_name_function(function, change) and function not in still:
                return f"{name}: {function}"
    for default in framework_report["defaults"]:
        if _is_default_of_change(change, default):
            return f"{default['owner']} {default['name']}: {default['old']} -> {default['new']}"
    for detail in framework_report["details"]:
        # a detail names a cause only if its probe runs a single changed function
        alone = detail["functions"][0] if len(detail["functions"]) == 1 else ""
        if detail["id"] in change.details or alone in change.functions:
            return f"{detail['id']}: {detail['old']} -> {detail['new']}"
    return ""


def _does_change_name_function(function: str | None, change: Change) -> bool:
    """Return whether the change names a function, or one that encloses it."""
    return function is not None and any(
        function == named or function.startswith(f"{named}.") for named in change.functions
    )


def _is_default_of_change(change: Change, default: Mapping[str, str]) -> bool:
    for row in change.defaults:
        algorithm, _, name = row.partition(" ")
        owner = default["owner"].lower().rpartition(".")[2]
        if owner.startswith(algorithm) and default["name"] == name:
            return True
    # a parameter of a function that the change names
    return default["owner"] in {
        known_changes.make_dotted_name(function) for function in change.functions
    }


def _does_training_or_detail_differ(change: Change, framework_report: Mapping[str, Any]) -> bool:
    """Return whether a training or a detail of the changed algorithms differs."""
    return any(
        set(detail["functions"]) & set(change.functions) for detail in framework_report["details"]
    ) or any(
        trace["verdict"] != "equal" and change.concerns_training(name)
        for name, trace in framework_report["traces"].items()
    )
