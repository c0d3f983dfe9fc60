"""The findings of a check, each with its place in the user's repository."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from rlregress.model.check_result import CheckResult, FrameworkOutcome
from rlregress.model.detail_answers import describe_variant
from rlregress.model.replay_result import DIFFERS
from rlregress.model.verdict import IMPROVED, MOVED, REGRESSED
from rlregress.report.upgrade_findings import (
    ERROR,
    NOTICE,
    WARNING,
    Finding,
    get_path_below,
    sort_findings,
)

_LEVELS = {REGRESSED: ERROR, IMPROVED: NOTICE, MOVED: NOTICE}


def list_check_findings(result: CheckResult, repository: Path) -> list[Finding]:
    """Return every deviation, regression and failure, the worst first.

    The place of a detail is the line that decides it, if the framework lies in the repository.

    Args:
        repository: folder of the repository.
    """
    result_findings = [
        Finding(
            ERROR,
            f"detail {deviation.id}",
            f"{deviation.framework}: {deviation.id} is not done as documented",
            f"documented: {describe_variant(*deviation.documented)}, found: "
            f"{describe_variant(*deviation.found)} [{deviation.scope}]",
            *_get_place_in_repository(deviation.path, deviation.line, repository),
        )
        for deviation in result.report_data.deviations
    ]
    for outcome in result.outcomes:
        result_findings += _list_findings_of_framework(outcome)
    result_findings += [
        Finding(WARNING, "suite", "the suite itself failed", _get_first_line(failure))
        for failure in result.broken
    ]
    if result.unjudged:
        text = f"{len(result.unjudged)}: {', '.join(result.unjudged[:5])}"
        result_findings.append(Finding(WARNING, "unjudged", "no verdict was reached", text))
    return sort_findings(result_findings)


def _get_place_in_repository(path: Path | None, line: int, repository: Path) -> tuple[str, int]:
    file = get_path_below(path, repository) if path is not None else ""
    return (file, line) if file else ("", 1)


def _list_findings_of_framework(outcome: FrameworkOutcome) -> Iterable[Finding]:
    for failure in outcome.failed_tests:
        name = failure["test"].rpartition("::")[2]
        yield Finding(
            ERROR, "test", f"{outcome.framework}: {name} failed", _get_first_line(failure)
        )
    for name, verdict in sorted(outcome.verdicts.items()):
        if verdict["verdict"] in _LEVELS:
            level, reason = _LEVELS[verdict["verdict"]], verdict["reason"]
            yield Finding(level, "returns", f"{name}: {verdict['verdict']}", reason)
    for cell, replay in outcome.replays.items():
        if replay.state == DIFFERS:
            yield Finding(NOTICE, "replay", f"{cell}: a replay has other numbers", replay.reason)
    for algorithm, measured in outcome.throughput.items():
        for quantity, verdict in measured.get("verdicts", {}).items():
            if verdict["verdict"] in _LEVELS:
                title = f"{outcome.framework} {algorithm}, {quantity}: {verdict['verdict']}"
                level = _LEVELS[verdict["verdict"]]
                yield Finding(level, "throughput", title, verdict["reason"])


def _get_first_line(failure: Mapping[str, Any]) -> str:
    return next(iter(str(failure["message"]).splitlines()), "")
