"""What the suite says of faults that were seeded into copies of the frameworks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from rlregress.model.recorded_traces import Comparison
from rlregress.model.throughput_verdict import ThroughputVerdict
from rlregress.model.verdict import REGRESSED

#: tiers of the suite, in the order in which they are asked.
UNIT, TRACE, CALLS, BEHAVIOR = "unit", "trace", "calls", "behavior"
TIERS = (UNIT, TRACE, CALLS, BEHAVIOR)
#: why a fault that no tier sees is none, or none of this suite's.
EQUIVALENT, LOGGING_ONLY, ELSEWHERE, GAP = "equivalent", "told only", "out of scope", "gap"
KINDS = (EQUIVALENT, LOGGING_ONLY, ELSEWHERE, GAP)


@dataclass(frozen=True, kw_only=True)
class SeededFault:
    """One change of one line of a framework.

    Attributes:
        framework, algorithm: empty where the fault is of no one alone.
        file: path of the source file, from the folder that holds the package.
        old, new: text fragments; ``new`` takes the place of ``old``.
    """

    framework: str = ""
    algorithm: str = ""
    name: str
    file: str
    old: str
    new: str

    @property
    def title(self) -> str:
        """Framework, algorithm and name."""
        return f"{self.framework} {self.algorithm} {self.name}"


@dataclass(frozen=True, kw_only=True)
class ProbedResult:
    """What the probes said with a fault in the code.

    Attributes:
        turns: details that must show the variant ``finds``, in the ``scopes``.
        finds: a variant of these details; empty: none of the known ones.
        also: details that are no longer as documented either; every other one must be.
        changed: detail -> scope -> variant found (or why none was), of the details that moved.
        probed: "<id> <scope>" of the probes that ran: all that can be moved by the fault.
    """

    fault: SeededFault
    turns: tuple[str, ...]
    finds: str
    also: tuple[str, ...]
    scopes: tuple[str, ...]
    changed: Mapping[str, Mapping[str, str]]
    probed: tuple[str, ...] = ()

    @property
    def detected(self) -> bool:
        """Exactly the details of the fault moved, the main ones to the named variant."""
        if set(self.changed) != set(self.turns) | set(self.also):
            return False
        if not self.finds:
            return True
        return all(
            self.changed[detail].get(scope, self.finds) == self.finds
            for detail in self.turns
            for scope in self.scopes
        ) and all(set(self.scopes) & set(self.changed[detail]) for detail in self.turns)


@dataclass(frozen=True, kw_only=True)
class TracedResult:
    """What the comparison of the traces said.

    Attributes:
        kind, at: of the first divergence, as expected: see ``faults.traced_faults.TracedFault``.
        verdict: of the comparison.
        found_kind, place: of the first divergence; empty: there is none.
        right: whether they part in the right file and function, on the side that has the event.
        named: whether the report names the function that was changed, as the place or a caller.
        failure: the error that the changed training ended in; empty if it ended in none.
    """

    fault: SeededFault
    kind: str
    at: tuple[str, ...]
    verdict: str
    found_kind: str
    place: str
    right: bool
    named: bool
    failure: str

    @property
    def found(self) -> bool:
        """Whether the traces part."""
        return self.verdict == "diverged"


@dataclass(frozen=True, kw_only=True)
class BehaviorResult:
    """What the tests said.

    Attributes:
        turns: tests that have to fail.
        says: a part of what one of them says.
        failed: test -> the first line of what it said; one that ran for several environments or
            settings has failed if it has for one.
        trouble: why the tests could not be probed; empty if they could.
    """

    fault: SeededFault
    turns: tuple[str, ...]
    says: str
    failed: dict[str, str]
    trouble: str = ""

    @property
    def detected(self) -> bool:
        """Whether all named tests have failed, one of them with the expected words."""
        lines = [self.failed.get(name) for name in self.turns]
        return None not in lines and any(self.says in (words or "") for words in lines)


@dataclass(frozen=True, kw_only=True)
class GateOnFault:
    """What the gate on returns said of a framework with a fault in it, or of an unchanged one.

    Attributes:
        name: of the fault, or ``unchanged`` and a number.
        verdicts: cell or group -> its verdict, as data.
        runs: trainings that it took.
        cpu_minutes: of these trainings.
        trouble: why nothing was judged; empty if something was.
    """

    framework: str
    algorithm: str
    name: str
    verdicts: Mapping[str, Mapping[str, Any]]
    runs: int
    cpu_minutes: float
    trouble: str = ""

    @property
    def regressed(self) -> bool:
        """Whether some cell or group is said to have fallen."""
        return any(verdict["verdict"] == REGRESSED for verdict in self.verdicts.values())


@dataclass(frozen=True, kw_only=True)
class ThroughputResult:
    """What the judgement of throughput said of a training with a fault in it.

    Attributes:
        turns: the quantity that must be ``regressed``.
        verdicts: quantity -> verdict, judged as one family.
        trouble: why nothing was judged; empty if something was.
    """

    fault: SeededFault
    turns: str
    verdicts: Mapping[str, ThroughputVerdict]
    trouble: str = ""

    @property
    def detected(self) -> bool:
        """Whether the quantity that the fault is about has regressed."""
        verdict = self.verdicts.get(self.turns)
        return verdict is not None and verdict.verdict == REGRESSED


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
        """What it is called in ``explained.toml``."""
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
    """What became of one fault.

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


@dataclass(frozen=True, kw_only=True)
class OptionalResult:
    """What the scenarios said of a fault that does something only under an option.

    Attributes:
        option: what a user switches on.
        function: qualified name of the one that the fault is in.
        seeded: None if it does not fit this version.
    """

    fault: SeededFault
    option: str
    function: str
    seeded: Seeded | None

    @property
    def detected(self) -> bool:
        """Whether a training parts, or ends in an error."""
        return self.seeded is not None and bool(self.seeded.detected_by)

    @property
    def right(self) -> bool:
        """Whether it parts in the function of the fault, or in what that has called."""
        if self.seeded is None or self.seeded.comparison is None:
            return False
        first = self.seeded.comparison.first
        last = self.function.rpartition(".")[2]
        for event in (first.a, first.b) if first is not None else ():
            if event is not None:
                frames = [(event.file, event.function)]
                frames += [(caller.file, caller.function) for caller in event.callers]
                if (self.fault.file, last) in frames:
                    return True
        return False
