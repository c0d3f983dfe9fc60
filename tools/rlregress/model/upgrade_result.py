"""The result of an upgrade gate as plain data, with its list of entries and its verdict."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rlregress.model import differences as model
from rlregress.model.cells import CellRuns
from rlregress.model.code import Changed, Hunk
from rlregress.model.detail_answers import variant_words
from rlregress.model.differences import VIOLATED, Entry, Judgement
from rlregress.model.fault_results import Mutant
from rlregress.model.recorded_traces import VERSIONS, NotTraced, Traced, in_words
from rlregress.model.verdict import HOLDS, IMPROVED, MOVED

#: why a probe gave no answer: a package of others is missing, the framework does not have what it
#: asks about, the code is none that it knows, it ended in an error, there is no such probe, or
#: the time for probes was over.
PACKAGE, ABSENT, UNKNOWN_CODE, ERROR, NO_PROBE = "package", "absent", "code", "error", "no probe"
LATE = "time"
#: changed functions of which a page shows the lines, under one heading.
MOST_HUNKS = 40
#: whose code raised the error: this library's, or the framework's.
SUITE, FRAMEWORK = "suite", "framework"
#: how a changed detail stands to what is documented of the new version's version.
UNDOCUMENTED = "not documented"
#: verdicts on returns that settle what differs.
_SETTLED = (HOLDS, IMPROVED, MOVED)
#: what returns settle: not what breaks a user's code.
_OF_TRAINING = (*model.CODE, model.TRAINING, model.DETAIL, model.DEFAULT, model.ENVIRONMENT)


def vector(numbers: tuple[float, ...]) -> str:
    """Numbers as a reader wants them."""
    text = ", ".join(f"{x:.7g}" for x in numbers[:8])
    return f"[{text}{', ...' if len(numbers) > 8 else ''}]"


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The answer of one probe.

    Attributes:
        variant: as judged; None if no one variant matches, or if there was no answer.
        observed: the vector, or None if there was no answer.
        text: the variant, or why there is none.
        why: "" if there was an answer, else ``PACKAGE``, ``ABSENT``, ``UNKNOWN_CODE`` or ``ERROR``.
        error_origin: of an error, ``SUITE``, ``FRAMEWORK`` or "other".
        place: of an error, where it was raised.
        near: the nearest variants, with what each expects, if none matches.
        called: file and name of functions of the framework that the probe has entered.
    """

    variant: str | None
    observed: tuple[float, ...] | None
    text: str
    why: str = ""
    error_origin: str = ""
    place: str = ""
    near: tuple[tuple[str, tuple[float, ...]], ...] = ()
    called: frozenset[tuple[str, str]] = frozenset()


@dataclass(frozen=True, kw_only=True)
class ChangedDetail:
    """A detail that differs between the two versions.

    Attributes:
        question: what is checked.
        consequence: what it means for a training.
        meanings: the formula of either variant in words; empty where there is none.
    """

    id: str
    scope: str
    old: Answer
    new: Answer
    question: str = ""
    consequence: str = ""
    meanings: tuple[str, str] = ("", "")

    @property
    def names(self) -> str:
        """Both variants, or their replacements: "half -> min"."""
        return f"{self.old.text} -> {self.new.text}"

    @property
    def words(self) -> str:
        """The same for a reader."""
        texts = zip((self.old.text, self.new.text), self.meanings, strict=True)
        return " -> ".join(variant_words(*variant_and_text) for variant_and_text in texts)

    @property
    def called(self) -> frozenset[tuple[str, str]]:
        """Functions that its probe enters on either side."""
        return self.old.called | self.new.called

    def numbers(self) -> list[str]:
        """The observed numbers and, without a match, those of the nearest variants."""
        if self.old.variant is not None and self.new.variant is not None:
            return []
        lines = []
        for label, answer in zip(VERSIONS, (self.old, self.new), strict=True):
            lines.append(f"observed on {in_words(label)}: {vector(answer.observed or ())}")
            for name, expected in answer.near:
                lines.append(f"  expected of {variant_words(name)}: {vector(expected)}")
        return lines


@dataclass(frozen=True, kw_only=True)
class NotProbed:
    """A detail that could not be probed.

    Attributes:
        side: label of the version that gave no answer, or "old and new".
        why: ``PACKAGE``, ``ABSENT``, ``UNKNOWN_CODE``, ``ERROR``, ``NO_PROBE`` or ``LATE``.
        text: the reason.
        error_origin, place: of an error; see ``Answer``.
    """

    id: str
    scope: str
    side: str
    why: str
    text: str
    error_origin: str = ""
    place: str = ""


@dataclass(frozen=True, kw_only=True)
class Details:
    """The three answers.

    Attributes:
        same: how many were asked on both sides and are the same.
        absent: those of what neither side has; there is nothing to ask, and they are not counted.
    """

    same: int = 0
    changed: tuple[ChangedDetail, ...] = ()
    not_probed: tuple[NotProbed, ...] = ()
    absent: tuple[NotProbed, ...] = ()

    @property
    def probed(self) -> int:
        """How many were asked on both sides."""
        return self.same + len(self.changed)

    @property
    def all(self) -> int:
        """Number of details that at least one version has."""
        return self.probed + len(self.not_probed)


@dataclass(frozen=True, kw_only=True)
class ChangedDefault:
    """A default value that differs between the versions.

    Attributes:
        owner: "<algorithm> [<scope>]", or the class or function that takes the parameter.
    """

    owner: str
    name: str
    old: str
    new: str

    def __str__(self) -> str:
        return f"{self.owner} `{self.name}`: {self.old} -> {self.new}"


@dataclass(frozen=True, kw_only=True)
class Finding:
    """Changed details that have the same changed functions below them: one cause.

    Attributes:
        functions: those that their probes enter, and that differ between the sides.
    """

    details: tuple[ChangedDetail, ...]
    functions: tuple[Changed, ...]


def findings(details: Iterable[ChangedDetail], changed: Sequence[Changed]) -> list[Finding]:
    """Changed details, grouped by what differs below them."""
    groups: dict[tuple[Changed, ...], list[ChangedDetail]] = {}
    alone: list[Finding] = []
    for detail in details:
        below = tuple(f for f in changed if f.key in detail.called and not f.at_import)
        if below:
            groups.setdefault(below, []).append(detail)
        else:
            alone.append(Finding(details=(detail,), functions=()))
    shared = (Finding(details=tuple(group), functions=below) for below, group in groups.items())
    return [*shared, *alone]


@dataclass(frozen=True, kw_only=True)
class Moved:
    """An environment on both sides.

    Attributes:
        step: the first step at which the sides differ, from 0 for the reset; None: they do not.
        at_first, largest: largest absolute difference of an observation or a reward, at that step
            and from there on.
        note: why there is no comparison.
        missing: the version that does not have it, or cannot make it: "old", "new" or both:
            "old and new".
        returns: in words, the first of a policy's episodes that differs, and what all return on
            both sides, with the 95 % interval of the difference.
        types: in words, which types of observations, rewards or flags differ.
    """

    environment: str
    step: int | None
    at_first: float = 0.0
    largest: float = 0.0
    note: str = ""
    missing: str = ""
    returns: str = ""
    types: str = ""

    @property
    def words(self) -> str:
        """How the two sides differ."""
        gap = f"by {self.at_first:.3g} at first and {self.largest:.3g} at most"
        description = self.types if self.types and not self.largest else gap
        further = [self.types] if description is gap else []
        return "; ".join(
            filter(
                None,
                [f"from step {self.step} on, {description}", *further, self.note, self.returns],
            )
        )

    @property
    def moves(self) -> bool:
        """Return whether the versions differ; a check that one version cannot run was not
        checked.
        """
        return self.step is not None


@dataclass(frozen=True, kw_only=True)
class Cost:
    """Time and memory of a training on both versions; a hint.

    Attributes:
        name: of the training.
        turns: of both versions that were timed.
        low, high: 95 % interval of the CPU time of the new version over that of the old one.
        memory: growth after import, in MiB, of the old and of the new version.
        why: the time was not measured; empty: it was.
    """

    name: str
    turns: int = 0
    low: float = 0.0
    high: float = 0.0
    memory: tuple[float, float] = (0.0, 0.0)
    why: str = ""

    @property
    def slower(self) -> bool:
        """Return whether the new version takes more time, by more than processes vary."""
        return not self.why and self.low > _NO_SLOWER

    @property
    def larger(self) -> bool:
        """Return whether the new version takes more memory, by more than processes vary."""
        old, new = self.memory
        return new - old > max(_NO_LARGER, 0.1 * old)

    @property
    def ratio(self) -> str:
        """The time of the new version over that of the old one, in words."""
        if self.why:
            return f"not measured, {self.why}"
        slower = ", slower" if self.slower else ""
        middle = (self.low * self.high) ** 0.5
        return f"x{middle:.2f} ({self.low:.2f} to {self.high:.2f}){slower}"


#: ratio of times, and difference in MiB, up to which two processes of one version differ.
_NO_SLOWER, _NO_LARGER = 1.03, 8.0


@dataclass(frozen=True, kw_only=True)
class Cause:
    """The culprit that makes a training diverge.

    Attributes:
        place: changed functions where the traces part, or that called what stands there.
        alone: the function that makes the new version do what the old version does when it is
            reverted.
        moving: functions that move the training when they are reverted, the later ones with the
            earlier ones.
        together: functions that move it when all of them are reverted; some may not be needed.
        whole: whether the new version does what the old version does with all of them reverted;
            None: not recorded.
        still: functions that do not.
        failed: functions that cannot be reverted alone, and why.
        open: functions that were not tried, for want of recordings.
        new: functions that only one side has, and that the named ones call.
    """

    place: tuple[Changed, ...] = ()
    alone: Changed | None = None
    moving: tuple[Changed, ...] = ()
    together: tuple[Changed, ...] = ()
    whole: bool | None = None
    still: tuple[Changed, ...] = ()
    failed: tuple[tuple[Changed, str], ...] = ()
    open: tuple[Changed, ...] = ()
    new: tuple[Changed, ...] = ()

    @property
    def movers(self) -> tuple[Changed, ...]:
        """The functions that were shown to move the training."""
        alone = (self.alone,) if self.alone is not None else ()
        return tuple(dict.fromkeys((*alone, *self.moving, *self.together)))

    @property
    def functions(self) -> tuple[Changed, ...]:
        """The functions that are named, the surest first; none that was shown to do nothing."""
        near = tuple(function for function in self.place if function not in self.still)
        return tuple(dict.fromkeys((*self.movers, *near)))


def details_of(cause: Cause | None, details: Iterable[ChangedDetail]) -> list[ChangedDetail]:
    """The changed details whose probes enter what makes a training part."""
    keys = {function.key for function in cause.functions} if cause is not None else set()
    return [detail for detail in details if keys & detail.called]


@dataclass(frozen=True, kw_only=True)
class Branch:
    """A place that was passed one way only.

    Attributes:
        summary: in words, what stands there and what never happened.
    """

    file: str
    line: int
    function: str
    summary: str


@dataclass(frozen=True, kw_only=True)
class Calls:
    """The result of repeating calls of a changed function with the old and the new code.

    Attributes:
        captured: calls of trainings that were repeated, each with perturbed arguments too.
        same, close: repetitions in which both versions did the same, or the same but for rounding.
        skipped: those whose arguments the old code does not take.
        touched: those of ``same`` and ``close`` that changed what the lines that differ read.
        given: they differ on arguments that a training gave.
        arguments: the smallest ones for which they differ; empty: they do not.
        path, old, new: what differs then, and how.
        why: nothing, or not everything, could be repeated.
    """

    captured: int = 0
    same: int = 0
    close: int = 0
    skipped: int = 0
    touched: int = 0
    given: bool = False
    arguments: str = ""
    path: str = ""
    old: str = ""
    new: str = ""
    why: str = ""

    def __str__(self) -> str:
        if self.arguments:
            return f"called directly with {self.arguments}, {self.path}: {self.old} -> {self.new}"
        if self.why and not self.captured:
            return f"not called directly: {self.why}"
        ran = f"{self.captured} calls repeated with both versions"
        close = f", {self.close} differ by rounding" if self.close else ""
        ending = f"; others could not be: {self.why}" if self.why else ""
        repeated = self.same + self.close
        same = f"{self.same} of {repeated} repetitions are the same"
        touched = f", {self.touched or 'none'} of {repeated} changed what the differing lines read"
        return f"{ran}: {same}{close}{touched}{ending}"


@dataclass(frozen=True, kw_only=True)
class PieceExecution:
    """How the trainings went through one function that differs.

    Attributes:
        trainings: names of those that have executed it.
        details: "<id> [<scope>]" of the probes that have executed it.
        one_way: what in it was passed one way only, or never.
        hints: in words, what would execute it.
        algorithms: those that use its class or its file.
        elsewhere: what started the process in which it may run unrecorded; empty: nothing did.
        missed: it ran, and what differs in it did not, or may not have: in words; empty: it did.
        share: of what differs in it, how much ran.
        calls: what came of its calls; None: it was not called directly.
    """

    function: Changed
    trainings: tuple[str, ...] = ()
    details: tuple[str, ...] = ()
    one_way: tuple[Branch, ...] = ()
    hints: tuple[str, ...] = ()
    algorithms: tuple[str, ...] = ()
    elsewhere: str = ""
    missed: str = ""
    share: float = 1.0
    calls: Calls | None = None


@dataclass(frozen=True, kw_only=True)
class MutationTest:
    """How many of the seeded faults the gate would have detected.

    Attributes:
        functions: how many functions were given faults.
        diverged: faults that make a trace part, or end a training in an error.
        called: those that show only when their function is called directly.
        not_run: faults on lines that no training runs.
        unseen: faults that were run and moved nothing.
        misfits: faults that could not be seeded, and why; they do not count.
    """

    functions: int
    diverged: tuple[Mutant, ...]
    not_run: tuple[Mutant, ...]
    unseen: tuple[Mutant, ...]
    called: tuple[Mutant, ...] = ()
    misfits: tuple[str, ...] = ()

    @property
    def detected(self) -> int:
        """How many would have been detected."""
        return len(self.diverged) + len(self.called)

    @property
    def faults(self) -> int:
        """How many were seeded."""
        return self.detected + len(self.not_run) + len(self.unseen)

    @property
    def share(self) -> float:
        """Share of the faults that would have been detected; 0 where there were none."""
        return self.detected / self.faults if self.faults else 0.0


@dataclass(frozen=True, kw_only=True)
class ReturnsVerdict:
    """The verdict on the returns of trainings.

    Attributes:
        lines: one for each cell and group.
        verdicts: cell or group -> its verdict, as data, before an alarm was asked again.
        runs: id of a cell -> the runs of the new version, and the stored ones.
    """

    verdict: str
    lines: tuple[str, ...]
    report: Path | None = None
    verdicts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    runs: Mapping[str, CellRuns] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class SideInfo:
    """The information of a report about one version.

    Attributes:
        label: "old" or "new".
        text: as it was requested.
        how: "installed", "tree", "overlay", "environment", "your environment" or "not made".
        why: of an environment, in words, what kept it from being an overlay.
        notes: what does not fit together and is run all the same.
        not_checked: in words, what a folder does not say of itself.
        lines: all of it in words.
        lock: its file of pinned requirements, if there is one.
    """

    label: str
    text: str
    how: str
    why: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    not_checked: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()
    lock: Path | None = None


@dataclass(frozen=True, kw_only=True)
class Tally:
    """How many of how many were compared."""

    checked: int
    all: int

    @property
    def is_complete(self) -> bool:
        """Return whether nothing is missing."""
        return self.checked == self.all

    def __str__(self) -> str:
        return f"{self.checked} of {self.all}"


@dataclass(frozen=True, kw_only=True)
class OfFramework:
    """The results for one framework.

    Attributes:
        name: full name of the framework.
        module: its own package, as it is imported.
        versions: package -> version, on either side.
        entries: of the list of differences, those of this framework.
        details: compared and the same, compared and different, not compared.
        standing: detail and scope -> how the change stands to what is documented of the new
            version.
        documented: detail and scope -> in words, since when it is done so, of those that changed.
        defaults: hyperparameters and parameters whose defaults changed.
        unread: in words, defaults that could not be compared.
        traced: trainings that ran on both sides; not_traced: those that could not be compared.
        same_code: trainings that execute nothing that differs, recorded on the new version alone.
        executions: how the trainings went through the pieces of code that differ.
        causes: training -> what makes it differ, as far as that could be found.
        proof: how many injected faults the traces would have detected; None: not asked for.
        returns: verdict of the trainings on the new version; None: not trained.
        stored: algorithms with baseline runs, by which returns are judged.
        hunks: function -> its lines of both sides, with those around what differs.
        costs: time and memory of trainings that execute changed code.
        not_checked: in words, what nothing here checks, or the command leaves out.
        judgement: of this framework's entries alone.
    """

    name: str
    title: str
    module: str
    versions: tuple[Mapping[str, str], Mapping[str, str]]
    entries: tuple[Entry, ...] = ()
    details: Details = field(default_factory=Details)
    standing: Mapping[tuple[str, str], str] = field(default_factory=dict)
    documented: Mapping[tuple[str, str], Sequence[str]] = field(default_factory=dict)
    defaults: tuple[ChangedDefault, ...] = ()
    unread: tuple[str, ...] = ()
    traced: tuple[Traced, ...] = ()
    not_traced: tuple[NotTraced, ...] = ()
    same_code: tuple[str, ...] = ()
    executions: tuple[PieceExecution, ...] = ()
    causes: Mapping[str, Cause] = field(default_factory=dict)
    proof: MutationTest | None = None
    returns: ReturnsVerdict | None = None
    stored: frozenset[str] = frozenset()
    hunks: Mapping[Changed, Hunk] = field(default_factory=dict)
    costs: tuple[Cost, ...] = ()
    not_checked: tuple[str, ...] = ()
    judgement: Judgement = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "judgement", model.judge(self.entries))

    @property
    def verdict(self) -> str:
        """Verdict on this framework alone."""
        return self.judgement.verdict

    @property
    def diverged(self) -> list[Traced]:
        """Trainings that do not do the same on both sides, or of which nothing is proved."""
        return [t for t in self.traced if not t.proved]

    @property
    def unexecuted(self) -> list[Entry]:
        """Pieces of code that differ, and that no training has executed."""
        return [entry for entry in self.entries if entry.kind in model.CODE
                and entry.state in model.UNCHECKED]  # fmt: skip

    @property
    def to_train(self) -> list[str]:
        """Algorithms whose returns have to be measured.

        Those whose plain training differs, and those that use a function that nothing executed.
        """
        names = {t.algorithm for t in self.diverged if t.plain and not t.comparison.trains_the_same}
        unexecuted = {entry.name for entry in self.unexecuted if entry.state == model.NEVER}
        for execution in self.executions:
            # of what ran at all, the trainings have compared what they could
            undecided = not execution.trainings and not execution.function.at_import
            if undecided and f"{execution.function.file} {execution.function.name}" in unexecuted:
                names |= set(execution.algorithms)
        return sorted(names)

    def _stands(self, detail: ChangedDetail) -> str:
        return self.standing.get((detail.id, detail.scope), UNDOCUMENTED)

    @property
    def violated(self) -> list[ChangedDetail]:
        """Changed details that are documented otherwise of the new version."""
        return [d for d in self.details.changed if self._stands(d) == VIOLATED]

    def with_returns(
        self, verdict: ReturnsVerdict | None, stored: frozenset[str], entry: Entry | None
    ) -> OfFramework:
        """The same with what the trainings of the new version came to.

        Args:
            entry: of the list, for the returns; None: nothing was trained.
        """
        if verdict is None or entry is None:
            return replace(self, returns=verdict, stored=stored)
        entries = self.entries
        # a scenario is no baseline cell: its returns were not measured
        open_ = [t for t in self.diverged if not t.plain or t.algorithm not in stored]
        if verdict.verdict in _SETTLED and not open_:
            entries = tuple(
                replace(listed_entry, standing=verdict.verdict)
                if listed_entry.kind in _OF_TRAINING and listed_entry.verdict == model.CHANGED
                else listed_entry
                for listed_entry in entries
            )
        return replace(self, returns=verdict, stored=stored, entries=(*entries, entry))


@dataclass(frozen=True, kw_only=True)
class NamedLine:
    """A line of user code that names something gone or incompatible.

    Attributes:
        name: dotted path of that.
        file: from the folder of the script.
        dotted: what the line calls it; begins with a point where an attribute of a value is named.
        why: what happens to whoever imports it from the new version.
    """

    name: str
    file: str
    line: int
    text: str
    dotted: str = ""
    why: str = ""


@dataclass(frozen=True, kw_only=True)
class ScriptNames:
    """The names that a script and its imported files use from differing packages.

    Attributes:
        files: that were read, the script first; ``unread``: that could not be.
        unused: names that are written neither there nor in anything that the script imported.
    """

    files: tuple[str, ...]
    unread: tuple[str, ...] = ()
    lines: tuple[NamedLine, ...] = ()
    unused: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True)
class OfScript:
    """The results for a script.

    Attributes:
        held: the script on both sides, or why it could not be compared.
        executions: how it went through the pieces of code that differ and that it executes.
        entries: of the list of differences, the script's own and those of the code it may run.
        causes, proof, hunks, costs: as of a framework.
        names: where it names what is gone or incompatible; None: nothing is.
        judgement: of the script's entries alone.
    """

    held: Traced | NotTraced
    entries: tuple[Entry, ...] = ()
    executions: tuple[PieceExecution, ...] = ()
    causes: Mapping[str, Cause] = field(default_factory=dict)
    proof: MutationTest | None = None
    hunks: Mapping[Changed, Hunk] = field(default_factory=dict)
    names: ScriptNames | None = None
    costs: tuple[Cost, ...] = ()
    judgement: Judgement = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "judgement", model.judge(self.entries))

    @property
    def verdict(self) -> str:
        """Verdict on the script alone."""
        return self.judgement.verdict


def explained(part: OfFramework | OfScript) -> dict[str, tuple[Changed, ...]]:
    """Return names of entries that differ -> the changed functions that explain them.

    The surest function comes first. What nothing explains is left out.
    """
    functions = {name: cause.functions for name, cause in part.causes.items() if cause.functions}
    if isinstance(part, OfFramework):
        culprits = {own[0] for own in functions.values()}
        ran = [execution.function for execution in part.executions]
        for finding in findings(part.details.changed, ran):
            # of several changed functions that a probe runs, the culprit of a training
            sure = tuple(f for f in finding.functions if f in culprits)
            own = tuple(dict.fromkeys((*sure, *finding.functions)))
            functions |= {f"{d.id} [{d.scope}]": own for d in finding.details if own}
    for execution in part.executions:
        if execution.calls is not None and execution.calls.arguments:
            functions[" ".join(execution.function.key)] = (execution.function,)
    return functions


@dataclass(frozen=True, kw_only=True)
class Upgrade:
    """Everything that was found of the old and the new version.

    Attributes:
        pinned: packages that are pinned otherwise on the two sides.
        differing: package -> versions on both sides, of all that differ and are on both.
        script: what was traced instead of the built-in trainings.
        file: name of the user's file that both versions loaded; empty: there is none.
        other_packages: entries of no framework and no script: metadata, packages, environments.
        one_way: branches, clamps and masks that the traces of the new version took one way only.
        stale: lines of the file of accepted entries that match nothing.
        cut: in words, what was not done because ``--minutes`` were over, and that.
        min_coverage, fail_on: see ``model.judge``.
        judgement: of all entries.
    """

    old: SideInfo
    new: SideInfo
    frameworks: tuple[OfFramework, ...]
    physics: tuple[Moved, ...] = ()
    script: OfScript | None = None
    file: str = ""
    other_packages: tuple[Entry, ...] = ()
    pinned: frozenset[str] = frozenset()
    differing: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    one_way: tuple[Branch, ...] = ()
    stale: tuple[str, ...] = ()
    cut: tuple[str, ...] = ()
    min_coverage: float = model.MIN_COVERAGE
    fail_on: str = model.FAIL_ON
    judgement: Judgement = field(init=False)

    def __post_init__(self) -> None:
        judgement = model.judge(self.entries, self.min_coverage, self.fail_on)
        object.__setattr__(self, "judgement", judgement)

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The list of everything that differs, and of everything that was to be compared."""
        own = self.script.entries if self.script is not None else ()
        return (
            *(entry for framework in self.frameworks for entry in framework.entries),
            *own,
            *self.other_packages,
        )

    @property
    def not_checked(self) -> list[str]:
        """Descriptions of what no entry covers: no check exists, or the command excludes it.

        It is the same for every pair of versions, and so no part of the verdict.
        """
        of_sides = [f"{side.label}: {x}" for side in (self.old, self.new)
                    for x in side.not_checked]  # fmt: skip
        return [
            *of_sides,
            *(
                f"{framework.title}: {x}"
                for framework in self.frameworks
                for x in framework.not_checked
            ),
        ]

    @property
    def verdict(self) -> str:
        """The worst of all entries."""
        return self.judgement.verdict

    @property
    def exit_code(self) -> int:
        """0, 1: regressed or the new version fails, 2: could not judge, 3: changed."""
        return self.judgement.exit_code

    @property
    def tallies(self) -> dict[str, Tally]:
        """Amount compared out of what exists, by kind."""
        checked = self.judgement.coverage
        tallies = {"changed pieces": Tally(checked=checked.checked, all=checked.all)}
        details = [framework.details for framework in self.frameworks]
        tallies["details"] = Tally(
            checked=sum(detail.probed for detail in details),
            all=sum(detail.all for detail in details),
        )
        for name, kind in (("trainings", model.TRAINING), ("environments", model.ENVIRONMENT),
                           ("saved files", model.SAVED)):  # fmt: skip
            own = [e for e in self.entries if e.kind == kind and e.state != model.NO_EFFECT]
            compared = sum(entry.state not in model.INCOMPLETE for entry in own)
            tallies[name] = Tally(checked=compared, all=len(own))
        return {name: tally for name, tally in tallies.items() if tally.all}

    @property
    def costs(self) -> tuple[Cost, ...]:
        """Time and memory of trainings that execute changed code."""
        own = self.script.costs if self.script is not None else ()
        return (*(cost for framework in self.frameworks for cost in framework.costs), *own)

    @property
    def traced(self) -> list[Traced]:
        """Every training that was traced on both sides."""
        own = self.script.held if self.script is not None else None
        traced_pairs = [traced for framework in self.frameworks for traced in framework.traced]
        return [*traced_pairs, own] if isinstance(own, Traced) else traced_pairs
