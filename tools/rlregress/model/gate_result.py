"""The result of a gate: one verdict for each framework, and the data of its page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rlregress.model.cells import CellRuns
from rlregress.model.detail_answers import UNPROBED
from rlregress.model.quantities import CRITIC, quantity_of
from rlregress.model.replay_result import DIFFERS, Replay
from rlregress.model.verdict import INCONCLUSIVE, REGRESSED


@dataclass(frozen=True, kw_only=True)
class Deviation:
    """A detail that a framework does not do as documented.

    Attributes:
        found, documented: variants, or why there is none; each with its formula in words.
        code: lines around the one that decides it, with their numbers; empty where the line that
            is on record is not there.
        place: of that line.
        message: the failure as the test says it.
        path, line: where that line is on this machine; None: the file is not there.
        link: where that file is published; empty: it is none of a release.
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
        """Return whether the code answered; otherwise ``found`` holds the reason."""
        return not self.found[0].startswith(UNPROBED)


@dataclass(frozen=True, kw_only=True)
class AlgorithmCoverage:
    """The judged algorithms of a framework, by kind of check.

    Attributes:
        returns: those of which runs were judged; ``others``: those of which nothing but formulas
            and behaviour was.
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
    """The data of a gate's page besides its verdicts.

    Attributes:
        started: date and time.
        command: that judges the same again.
        machine: of this gate.
        coverage: full name of a framework -> of which algorithms what was judged.
        runs: id of a cell -> its runs.
        deviations: details that are not done as documented.
        files: what differs between changed copies and the installed files, passages of both.
        earlier: nightly runs whose reports lie beside this one, the latest first.
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
    """The verdict on one framework and what it rests on.

    Attributes:
        details: how many had to be asked.
        not_asked: those of them that were not, with the scopes in which they were not.
        untested: tiers in which no test has passed, of those that had to be run.
        tests: tier -> outcome -> number of tests.
        failures: the failed tests about this framework, as entries of the evidence.
        verdicts: verdict lines by cell or group name.
        throughput: algorithm -> what was measured of it and its verdicts by quantity, where that
            was asked.
        replays: cell -> what its replay came to.
        not_judged: cell -> what it was not judged by beside its returns -> why.
        lacking: package that is not installed, in a sentence -> what of the framework was not
            checked without it: tests, and cells.
        old_files: kind of file that past releases wrote -> what became of it, in clauses.
        not_loaded: those of which nothing could be loaded here -> why, in clauses.
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
        """Failures of tests that neither ask for a detail nor judge a training."""
        return [f for f in self.failures if "detail" not in f and "verdict" not in f]

    @property
    def has_no_verdicts(self) -> bool:
        """Return whether all tests passed but the trained runs are not judged, as with budget
        smoke.
        """
        return self.verdict == INCONCLUSIVE and not (self.verdicts or self.throughput)

    @property
    def has_other_numbers(self) -> bool:
        """Return whether a replay has other numbers than its record."""
        return any(replay.state == DIFFERS for replay in self.replays.values())

    @property
    def regressed_critics(self) -> tuple[str, ...]:
        """Return the critics that regressed if no return and nothing else regressed."""
        if any("critic" not in failure for failure in self.failures):
            return ()
        fallen = [
            name for name, verdict in self.verdicts.items() if verdict["verdict"] == REGRESSED
        ]
        critics = tuple(name for name in fallen if quantity_of(name) is CRITIC)
        return critics if len(critics) == len(fallen) else ()


@dataclass(frozen=True, kw_only=True)
class GateResult:
    """Everything that a gate comes to.

    Attributes:
        outcomes: by framework.
        broken: entries of the evidence that say that the suite itself failed.
        unjudged: cells, groups and tests that no verdict was reached on.
        versions, sources, copies: full name of a framework -> package -> version, module ->
            digest of the files, and module -> folder of what are not the installed files.
        alpha: probability of a false alarm.
        seconds: of wall-clock time.
        exit_code: see ``gate.outcome.exit_code``.
        notes: what is to be known of the runs, in sentences.
        report_data: what a page shows beside the verdicts.
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
