"""Known faults of the frameworks, and what the suite reports about each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from rlregress.model.recorded_traces import Comparison
from rlregress.model.verdict import REGRESSED

#: tiers of the suite, in the order in which they are asked.
UNIT, TRACE, CALLS, BEHAVIOR = "unit", "trace", "calls", "behavior"
TIERS = (UNIT, TRACE, CALLS, BEHAVIOR)
#: instruments that have to detect known faults: each has a table of them.
DETAILS, TRACES, OPTIONS, RETURNS, THROUGHPUT = (
    "details", "traced", "optional", "returns", "throughput"
)  # fmt: skip
#: one more, of the faults of returns
REPLAYS = "replays"
#: why a fault that no tier sees is none, or none of this suite's.
EQUIVALENT, LOGGING_ONLY, ELSEWHERE, GAP = "equivalent", "logging only", "out of scope", "gap"
KINDS = (EQUIVALENT, LOGGING_ONLY, ELSEWHERE, GAP)


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One change of one line of a framework, and the check that must detect it.

    Attributes:
        name: among the faults of its framework and instrument.
        file: path of the source file, from the folder that holds the package; empty: no change.
        old, new: text fragments; ``new`` takes the place of ``old``.
        occurrence: which ``old`` is meant, from 1; 0: there is only one.
        framework, algorithm: empty where the fault is of no one alone.
        turns: what has to detect it: the details that move; the places of the first difference of
            two traces, "file function"; the behavior tests that fail, "file::function"; or the
            measured quantity that regresses.
        finds: what that reports: the variant of the details (empty: none of the known ones); the
            kind of the first difference (``recorded_traces.Divergence``); a part of the message of
            one of the tests.
        also: details that are no longer as documented either; every other one must be.
        scopes: in which the details show the variant.
        option: that a user switches on to meet the fault.
        function: qualified name of the one that the line is in.
        essential: injected in every run of the tests, not only by ``rlregress selftest faults``.
    """

    name: str
    file: str = ""
    old: str = ""
    new: str = ""
    occurrence: int = 0
    framework: str = ""
    algorithm: str = ""
    turns: tuple[str, ...] = ()
    finds: str = ""
    also: tuple[str, ...] = ()
    scopes: tuple[str, ...] = ("library",)
    option: str = ""
    function: str = ""
    essential: bool = False

    @property
    def title(self) -> str:
        """Framework, algorithm and name."""
        return " ".join(filter(None, (self.framework, self.algorithm, self.name)))


@dataclass(frozen=True, kw_only=True)
class FaultResult:
    """The result of an instrument on a framework with a fault.

    Attributes:
        detected: whether the fault was detected as expected; of an unchanged framework, whether
            nothing was.
        by: what detected it -> what that reports: detail -> variants; kind of the first difference
            of two traces -> its place; test -> its message; training -> how it ended.
        in_place: whether traces diverge first in the right file and function.
        named: whether the changed function is that place, or among its callers.
        executed: probes or trainings that run the changed line.
        verdict: of the comparison of two traces.
        verdicts: cell, group or quantity -> its verdict, as data.
        runs, cpu_minutes: trainings that the gate on returns took, and their time.
        failure: the error that the training with the fault ended in; empty: none.
        trouble: why nothing could be checked; empty: something was.
        fits: whether the fault fits the installed version, as far as the instrument distinguishes.
    """

    fault: Fault
    detected: bool = False
    by: Mapping[str, str] = field(default_factory=dict)
    in_place: bool = False
    named: bool = False
    executed: int = 0
    verdict: str = ""
    verdicts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    runs: int = 0
    cpu_minutes: float = 0.0
    failure: str = ""
    trouble: str = ""
    fits: bool = True

    @property
    def regressed(self) -> bool:
        """Return whether some verdict is ``regressed``."""
        return any(verdict["verdict"] == REGRESSED for verdict in self.verdicts.values())


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """One generated fault, and what the tiers said of it.

    Attributes:
        line: from 1.
        operator: of the mutation literature.
        old, new: the line, stripped.
        said: tier -> what saw it; empty: asked, and it did not; a tier that is missing was not
            asked.
        run: whether a probe, a traced training or a behaviour test runs its line.
        again: the same as ``said``, of later tests that were asked about what none had seen.
    """

    file: str
    function: str
    line: int
    operator: str
    old: str
    new: str
    said: Mapping[str, str]
    run: bool = False
    again: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Its name in ``explained.toml``."""
        return f"{self.file}:{self.line} {self.function}: {self.old} -> {self.new}"

    @property
    def detected_by(self) -> str:
        """The first tier that sees it; empty: none."""
        return _first(self.said)

    @property
    def detected_later_by(self) -> str:
        """The first tier of later tests that sees what none had seen; empty: none."""
        return _first(self.again)

    def with_(self, tier: str, result: str, run: bool) -> Outcome:
        """The same with the answer of one more tier."""
        return replace(self, said={**self.said, tier: result}, run=self.run or run)


def _first(results: Mapping[str, str]) -> str:
    return next((tier for tier in TIERS if results.get(tier)), "")


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """Faults drawn from one version of a framework.

    Attributes:
        versions: of the framework and of what it stands on.
        of: how many there were to draw from.
        draw: seed of the lot.
        date: when the last of them was asked, year-month-day.
        tests: digest of the tests and scenarios that were asked; empty: not noted.
        asked_again: when later tests were asked about what none had seen; empty: they were not.
    """

    framework: str
    versions: Mapping[str, str]
    of: int
    draw: int
    faults: tuple[Outcome, ...]
    date: str = ""
    tests: str = ""
    asked_again: str = ""


@dataclass(frozen=True, kw_only=True)
class Explained:
    """Why no tier sees a fault, in words.

    Attributes:
        fault: its ``Outcome.name``.
        kind: equivalent: no run can tell it from the sound code; told only: it changes what is
            printed or logged; out of scope: another subject than training and evaluation; gap:
            the suite does not see it, and would have to.
    """

    framework: str
    fault: str
    kind: str
    why: str


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """A file with one changed line of one function.

    Attributes:
        line: from 1.
        operator: of the mutation literature.
        old, new: the line, stripped.
        text: the whole file with the fault.
    """

    file: str
    function: str
    line: int
    operator: str
    old: str
    new: str
    text: str

    def __str__(self) -> str:
        return (
            f"{self.file}:{self.line} {self.function} ({self.operator}): {self.old} -> {self.new}"
        )


@dataclass(frozen=True, kw_only=True)
class Seeded:
    """The result for one injected fault.

    Attributes:
        trainings: those that run its line, in the order in which they are tried.
        detected_by: the training that parts, or ends in an error; empty: none of them.
        comparison: of that training with and without the fault; None if it ended in an error.
        called: what differs when its function is called directly, in words; empty: nothing, or it
            was not called.
        misfit: why the fault could not be seeded; empty if it could.
    """

    fault: Mutant
    trainings: tuple[str, ...]
    detected_by: str = ""
    called: str = ""
    comparison: Comparison | None = None
    misfit: str = ""
