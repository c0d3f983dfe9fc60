"""Known faults of the frameworks, and the results of the suite for each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from rlregress.model.recorded_traces import Comparison
from rlregress.model.verdict import REGRESSED

#: tiers of the suite, in the order in which they run
UNIT, TRACE, CALLS, BEHAVIOR = "unit", "trace", "calls", "behavior"
TIERS = (UNIT, TRACE, CALLS, BEHAVIOR)
#: instruments that must detect known faults; each has a table of them
DETAILS, TRACES, OPTIONS, RETURNS, THROUGHPUT = (
    "details", "traced", "optional", "returns", "throughput"
)  # fmt: skip
#: a further instrument for the faults of returns
REPLAYS = "replays"
#: reasons why no tier detects a fault
EQUIVALENT, LOGGING_ONLY, OUT_OF_SCOPE, GAP = "equivalent", "logging only", "out of scope", "gap"
KINDS = (EQUIVALENT, LOGGING_ONLY, OUT_OF_SCOPE, GAP)


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One change of one line of a framework, and the check that must detect it.

    Attributes:
        name: unique among the faults of its framework and instrument.
        file: path of the source file below the folder of the package; empty: no change.
        old, new: text fragments; ``new`` replaces ``old``.
        occurrence: the number of the occurrence of ``old``, from 1; 0: there is only one.
        framework, algorithm: empty if the fault is not specific to one.
        turns: checks that must detect it: the details that change; the places of the first
            difference of two traces, "file function"; the behavior tests that fail,
            "file::function"; or the measured quantity that regresses.
        finds: their result: the variant of the details (empty: not a known one); the kind of the
            first difference (``recorded_traces.Divergence``); a part of the message of a test.
        also: details that are no longer as documented either; every other one must be.
        scopes: scopes in which the details have the variant.
        option: the option that must be on for the fault to matter.
        function: qualified name of the function of the line.
        essential: whether every run of the tests injects it, not only ``rlregress selftest
            faults``.
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
    """The result of one kind of check on a framework with an injected fault.

    Attributes:
        detected: whether the fault was detected as expected; for an unchanged framework, whether
            nothing was detected.
        by: check that detected it -> its result: detail -> variants; kind of the first difference
            of two traces -> its place; test -> its message; training -> its end.
        in_place: whether traces diverge first in the right file and function.
        named: whether the changed function is that place, or among its callers.
        executed: number of probes or trainings that run the changed line.
        verdict: verdict of the comparison of two traces.
        verdicts: cell, group or quantity -> its verdict, as data.
        runs, cpu_minutes: number of trainings of the gate on returns, and their time.
        failure: error of the training with the fault; empty: none.
        trouble: why nothing could be checked; empty: something was.
        fits: whether the fault fits the installed version, if the instrument distinguishes.
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
    def has_regressed(self) -> bool:
        """Return whether a cell, group or quantity is judged ``regressed``."""
        return any(verdict["verdict"] == REGRESSED for verdict in self.verdicts.values())


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """A generated fault with the results of the tiers.

    Attributes:
        line: from 1.
        operator: operator of mutation testing.
        old, new: the line, stripped.
        said: tier -> the check that detected the fault, empty: none did; tiers that did not run
            are missing.
        run: whether a probe, a traced training or a behaviour test runs its line.
        again: the same for later tests, which ran on faults that no earlier test had detected.
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
        """The fault's name in ``explained.toml``."""
        return f"{self.file}:{self.line} {self.function}: {self.old} -> {self.new}"

    @property
    def detected_by(self) -> str:
        """The first tier that detects it; empty: none."""
        return _find_first_tier(self.said)

    @property
    def detected_later_by(self) -> str:
        """The first tier that detects it only by tests added later; empty: none."""
        return _find_first_tier(self.again)

    def add_result_of_tier(self, tier: str, result: str, has_run: bool) -> Outcome:
        """Return the outcome with the result of one more tier."""
        return replace(self, said={**self.said, tier: result}, run=self.run or has_run)


def _find_first_tier(results: Mapping[str, str]) -> str:
    return next((tier for tier in TIERS if results.get(tier)), "")


@dataclass(frozen=True, kw_only=True)
class DrawnFaults:
    """Faults drawn from one version of a framework.

    Attributes:
        versions: versions of the framework and its dependencies.
        of: number of possible faults in that version.
        draw: seed of the draw.
        date: date of the last check, year-month-day.
        tests: digest of the tests and scenarios; empty: not recorded.
        asked_again: date of later checks of undetected faults; empty: there were none.
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
class FaultExplanation:
    """The reason why no tier detects a fault.

    Attributes:
        fault: its ``Outcome.name``.
        kind: equivalent: no run can distinguish it from the unchanged code; logging only: it
            changes printed or logged values; out of scope: it is not about training or evaluation;
            gap: the suite should detect it.
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
class MutantResult:
    """The result for one injected fault.

    Attributes:
        trainings: trainings that run its line, in the order in which they are tried.
        detected_by: the training that diverges or fails; empty: none does.
        comparison: comparison of that training with and without the fault; None if it failed.
        called: the difference when its function is called directly, in words; empty: none, or it
            was not called.
        misfit: why the fault could not be injected; empty if it could.
    """

    fault: Mutant
    trainings: tuple[str, ...]
    detected_by: str = ""
    called: str = ""
    comparison: Comparison | None = None
    misfit: str = ""
