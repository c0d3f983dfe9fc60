"""The result of a check: one verdict for each framework, and the data of its page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rlregress.model.cells import CellRuns
from rlregress.model.detail_answers import UNPROBED
from rlregress.model.quantities import CRITIC, get_quantity_of_verdict_name
from rlregress.model.replay_result import DIFFERS, Replay
from rlregress.model.verdict import INCONCLUSIVE, REGRESSED


@dataclass(frozen=True, kw_only=True)
class Deviation:
    """A detail whose variant is not the documented one.

    Attributes:
        documented, found: variant, or why there is none, and its formula in words.
        place: place of the line that decides it.
        code: lines around it with their numbers; empty if it is not found.
        message: message of the failed test.
        path, line: the line on this machine; None: the file does not exist.
        link: address of the published file; empty: it is not from a release.
    """

    framework: str
    id: str
    scope: str
    question: str
    consequence: str
    documented: tuple[str, str]
    found: tuple[str, str]
    place: str
    code: tuple[tuple[int, str], ...]
    message: str
    path: Path | None = None
    line: int = 1
    link: str = ""

    @property
    def was_probed(self) -> bool:
        """Return whether the code could be probed; otherwise ``found`` has the reason."""
        return not self.found[0].startswith(UNPROBED)


@dataclass(frozen=True, kw_only=True)
class AlgorithmCoverage:
    """The judged algorithms of a framework, by kind of check.

    Attributes:
        returns: algorithms whose runs were judged.
        others: algorithms of which only formulas and behaviour were judged.
    """

    returns: tuple[str, ...] = ()
    others: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class EarlierRun:
    """A nightly run before this one.

    Attributes:
        started: date and time, UTC.
        verdicts: full name of a framework -> its verdict.
    """

    started: str
    verdicts: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class ReportData:
    """The data of a check's page besides its verdicts.

    Attributes:
        started: date and time.
        command: repeats the judgement.
        machine: machine of this check.
        coverage: full name of a framework -> its judged algorithms.
        runs: id of a cell -> its runs.
        deviations: details that are not as documented.
        files: differences between changed copies and the installed files.
        earlier: nightly runs with reports in neighbouring folders, the latest first.
    """

    started: str = ""
    command: str = ""
    machine: str = ""
    coverage: Mapping[str, AlgorithmCoverage] = field(default_factory=dict)
    runs: Mapping[str, CellRuns] = field(default_factory=dict)
    deviations: tuple[Deviation, ...] = ()
    files: tuple[Any, ...] = ()
    earlier: tuple[EarlierRun, ...] = ()


@dataclass(frozen=True, kw_only=True)
class FrameworkOutcome:
    """The verdict on one framework with its reasons.

    Attributes:
        tests: tier -> outcome -> number of tests.
        failures: the failed tests of this framework, as entries of the evidence.
        verdicts: verdicts by cell or group name.
        details: number of details to check.
        not_asked: details that were not checked, with their scopes.
        untested: required tiers in which no test has passed.
        throughput: algorithm -> measurements and verdicts by quantity, if requested.
        replays: cell -> result of its replay.
        not_judged: cell -> secondary quantities that did not judge it -> why.
        lacking: sentence on a missing package -> the tests and cells that need it.
        old_files: kind of file of past releases -> results, in clauses.
        not_loaded: kinds of which nothing could be loaded here -> why, in clauses.
    """

    framework: str
    verdict: str
    tests: Mapping[str, Mapping[str, int]]
    failures: tuple[Mapping[str, Any], ...]
    verdicts: Mapping[str, Mapping[str, Any]]
    details: int = 0
    not_asked: tuple[str, ...] = ()
    untested: tuple[str, ...] = ()
    throughput: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    replays: Mapping[str, Replay] = field(default_factory=dict)
    not_judged: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    lacking: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    old_files: Mapping[str, Sequence[str]] = field(default_factory=dict)
    not_loaded: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def failed_tests(self) -> list[Mapping[str, Any]]:
        """Failures of tests that neither probe a detail nor judge a training."""
        return [f for f in self.failures if "detail" not in f and "verdict" not in f]

    @property
    def has_no_verdicts(self) -> bool:
        """Return whether tests passed and the trained runs are not judged, as with budget smoke."""
        return self.verdict == INCONCLUSIVE and not (self.verdicts or self.throughput)

    @property
    def has_differing_replay(self) -> bool:
        """Return whether a replay has other numbers than its record."""
        return any(replay.state == DIFFERS for replay in self.replays.values())

    @property
    def critics_regressed_alone(self) -> tuple[str, ...]:
        """Return the critics that regressed if no return and nothing else regressed."""
        if any("critic" not in failure for failure in self.failures):
            return ()
        fallen = [
            name for name, verdict in self.verdicts.items() if verdict["verdict"] == REGRESSED
        ]
        critics = tuple(name for name in fallen if get_quantity_of_verdict_name(name) is CRITIC)
        return critics if len(critics) == len(fallen) else ()


@dataclass(frozen=True, kw_only=True)
class CheckResult:
    """The result of a check.

    Attributes:
        outcomes: by framework.
        broken: entries of the evidence on failures of the suite itself.
        unjudged: cells, groups and tests without a verdict.
        versions: full name of a framework -> package -> version.
        sources: full name of a framework -> module -> digest of its files.
        copies: full name of a framework -> module -> folder, if it is not the installed one.
        alpha: probability of a false alarm.
        seconds: seconds of wall-clock time.
        exit_code: see ``check.outcome.compute_exit_code``.
        notes: sentences about the runs.
        report_data: data of a page besides the verdicts.
    """

    outcomes: Sequence[FrameworkOutcome]
    broken: Sequence[Mapping[str, Any]]
    unjudged: Sequence[str]
    versions: Mapping[str, Mapping[str, str]]
    sources: Mapping[str, Mapping[str, str]]
    copies: Mapping[str, Mapping[str, str]]
    alpha: float
    budget: str
    seconds: float
    exit_code: int
    notes: Sequence[str] = ()
    report_data: ReportData = field(default_factory=ReportData)

    @property
    def error_rate(self) -> float | None:
        """``alpha`` if returns or secondary quantities were judged; otherwise None."""
        return self.alpha if any(outcome.verdicts for outcome in self.outcomes) else None
