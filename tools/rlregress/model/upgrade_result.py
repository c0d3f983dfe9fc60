"""The result of an upgrade as plain data, with its list of entries and its verdict."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rlregress.model import differences as model
from rlregress.model.cells import CellRuns
from rlregress.model.code import ChangedPiece, Hunk
from rlregress.model.detail_answers import describe_variant
from rlregress.model.differences import VIOLATED, Entry, UpgradeVerdict
from rlregress.model.recorded_traces import (
    VERSIONS,
    ComparedTraining,
    UncomparedTraining,
    describe_version_label,
)
from rlregress.model.verdict import HOLDS, IMPROVED, MOVED

#: reasons without a result: another package is missing, the framework lacks the feature, the probe
#: does not know the code, it ended in an error, there is no probe, or there was no time left
PACKAGE, ABSENT, UNKNOWN_CODE, ERROR, NO_PROBE = "package", "absent", "code", "error", "no probe"
LATE = "time"
#: most changed functions whose lines a page shows under one heading
MOST_HUNKS = 40
#: origins of an error: code of this library, or of the framework
SUITE, FRAMEWORK = "suite", "framework"
#: standing of a changed detail if nothing is documented for the new version
UNDOCUMENTED = "not documented"
#: verdicts on returns that settle whether differences matter
_SETTLED = (HOLDS, IMPROVED, MOVED)
#: kinds of entries that returns settle; changes that break user code are not among them
_OF_TRAINING = (*model.CODE, model.TRAINING, model.DETAIL, model.DEFAULT, model.ENVIRONMENT)


def format_numbers(numbers: tuple[float, ...]) -> str:
    """Format numbers for a reader."""
    text = ", ".join(f"{x:.7g}" for x in numbers[:8])
    return f"[{text}{', ...' if len(numbers) > 8 else ''}]"


@dataclass(frozen=True, kw_only=True)
class ProbeAnswer:
    """The answer of one probe.

    Attributes:
        variant: the matching variant; None if there is none or more than one, or no result.
        observed: the observed vector; None without a result.
        text: the variant, or why there is none.
        why: "" with a result, else ``PACKAGE``, ``ABSENT``, ``UNKNOWN_CODE`` or ``ERROR``.
        error_origin: for an error, ``SUITE``, ``FRAMEWORK`` or "other".
        place: for an error, its place.
        near: the nearest variants with their expected vectors, if none matches.
        called: file and name of the framework's functions that the probe runs.
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
        question: the question of the detail.
        consequence: its effect on a training.
        meanings: the formula of either variant in words; empty if there is none.
    """

    id: str
    scope: str
    old: ProbeAnswer
    new: ProbeAnswer
    question: str = ""
    consequence: str = ""
    meanings: tuple[str, str] = ("", "")

    @property
    def variant_change(self) -> str:
        """Both variants, or their replacements: "half -> min"."""
        return f"{self.old.text} -> {self.new.text}"

    @property
    def variant_change_in_words(self) -> str:
        """Both variants, or their replacements, with their meanings."""
        texts = zip((self.old.text, self.new.text), self.meanings, strict=True)
        return " -> ".join(describe_variant(*variant_and_text) for variant_and_text in texts)

    @property
    def called_functions(self) -> frozenset[tuple[str, str]]:
        """Functions that its probe runs in either version."""
        return self.old.called | self.new.called

    def describe_numbers(self) -> list[str]:
        """Describe the observed numbers and, without a match, those of the nearest variants."""
        if self.old.variant is not None and self.new.variant is not None:
            return []
        lines = []
        for label, answer in zip(VERSIONS, (self.old, self.new), strict=True):
            lines.append(
                f"observed on {describe_version_label(label)}: "
                f"{format_numbers(answer.observed or ())}"
            )
            for name, expected in answer.near:
                lines.append(f"  expected of {describe_variant(name)}: {format_numbers(expected)}")
        return lines


@dataclass(frozen=True, kw_only=True)
class UnprobedDetail:
    """A detail that could not be probed.

    Attributes:
        label: label of the version without a result, or "old and new".
        why: ``PACKAGE``, ``ABSENT``, ``UNKNOWN_CODE``, ``ERROR``, ``NO_PROBE`` or ``LATE``.
        text: the reason.
        error_origin, place: of an error; see ``ProbeAnswer``.
    """

    id: str
    scope: str
    label: str
    why: str
    text: str
    error_origin: str = ""
    place: str = ""


@dataclass(frozen=True, kw_only=True)
class DetailResults:
    """Numbers of details that are the same, and details that changed or were not probed.

    Attributes:
        same: number of details that were probed on both versions and are the same.
        absent: details of features that neither version has; they do not count.
    """

    same: int = 0
    changed: tuple[ChangedDetail, ...] = ()
    not_probed: tuple[UnprobedDetail, ...] = ()
    absent: tuple[UnprobedDetail, ...] = ()

    @property
    def probed_count(self) -> int:
        """Number of details that were probed on both versions."""
        return self.same + len(self.changed)

    @property
    def total_count(self) -> int:
        """Number of details that at least one version has."""
        return self.probed_count + len(self.not_probed)


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
class DetailGroup:
    """Changed details whose probes run the same changed functions: one culprit.

    Attributes:
        functions: the changed functions that their probes run.
    """

    details: tuple[ChangedDetail, ...]
    functions: tuple[ChangedPiece, ...]


def group_details_by_functions(
    details: Iterable[ChangedDetail], changed: Sequence[ChangedPiece]
) -> list[DetailGroup]:
    """Group changed details by the changed functions that their probes run."""
    groups: dict[tuple[ChangedPiece, ...], list[ChangedDetail]] = {}
    alone: list[DetailGroup] = []
    for detail in details:
        below = tuple(
            f for f in changed if f.key in detail.called_functions and not f.runs_at_import
        )
        if below:
            groups.setdefault(below, []).append(detail)
        else:
            alone.append(DetailGroup(details=(detail,), functions=()))
    shared = (DetailGroup(details=tuple(group), functions=below) for below, group in groups.items())
    return [*shared, *alone]


@dataclass(frozen=True, kw_only=True)
class PhysicsComparison:
    """The comparison of an environment's physics in both versions.

    Attributes:
        step: the first differing step, from 0 for the reset; None: they do not differ.
        at_first: largest absolute difference of an observation or a reward at that step.
        largest: the same from that step on.
        note: why there is no comparison.
        missing: the version that does not have the environment or cannot play it, or both of them.
        returns: description of the first differing episode of a policy and the returns of all, with
            the 95 % interval of the difference.
        types: description of differing types of observations, rewards or flags.
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
    def difference_in_words(self) -> str:
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
    def differs(self) -> bool:
        return self.step is not None


@dataclass(frozen=True, kw_only=True)
class Cost:
    """Time and memory of a training on both versions; a hint.

    Attributes:
        name: name of the training.
        turns: number of timed runs of each version.
        low, high: 95 % interval of the CPU time of the new version over that of the old one.
        memory: growth of memory after import, in MiB, in the old and the new version.
        why: why the time was not measured; empty: it was.
    """

    name: str
    turns: int = 0
    low: float = 0.0
    high: float = 0.0
    memory: tuple[float, float] = (0.0, 0.0)
    why: str = ""

    @property
    def is_slower(self) -> bool:
        """Return whether the new version takes more time, by more than processes vary."""
        return not self.why and self.low > _NO_SLOWER

    @property
    def is_larger(self) -> bool:
        """Return whether the new version takes more memory, by more than processes vary."""
        old, new = self.memory
        return new - old > max(_NO_LARGER, 0.1 * old)

    @property
    def time_ratio_in_words(self) -> str:
        """The time of the new version over that of the old one, in words."""
        if self.why:
            return f"not measured, {self.why}"
        slower = ", slower" if self.is_slower else ""
        middle = (self.low * self.high) ** 0.5
        return f"x{middle:.2f} ({self.low:.2f} to {self.high:.2f}){slower}"


#: ratio of times, and difference in MiB, up to which two processes of one version differ.
_NO_SLOWER, _NO_LARGER = 1.03, 8.0


@dataclass(frozen=True, kw_only=True)
class Culprits:
    """The changed functions that make a training diverge, as reverting them shows.

    Attributes:
        place: changed functions where the traces diverge, and changed functions that called these.
        alone: the function whose reverting restores the old behaviour.
        influencing: functions whose reverting changes the training, each reverted with those
            before it.
        together: functions that change it if all are reverted; some may not be needed.
        whole: whether reverting all of them restores the old behaviour; None: not recorded.
        without_influence: functions whose reverting does not change the training.
        failed: functions that cannot be reverted alone, and why.
        open: functions that were not tried because the limit of recordings was reached.
        new: functions that only one version has, and that the other functions here call.
    """

    place: tuple[ChangedPiece, ...] = ()
    alone: ChangedPiece | None = None
    influencing: tuple[ChangedPiece, ...] = ()
    together: tuple[ChangedPiece, ...] = ()
    whole: bool | None = None
    without_influence: tuple[ChangedPiece, ...] = ()
    failed: tuple[tuple[ChangedPiece, str], ...] = ()
    open: tuple[ChangedPiece, ...] = ()
    new: tuple[ChangedPiece, ...] = ()

    @property
    def confirmed_functions(self) -> tuple[ChangedPiece, ...]:
        """Return the functions whose reverting changes the training."""
        alone = (self.alone,) if self.alone is not None else ()
        return tuple(dict.fromkeys((*alone, *self.influencing, *self.together)))

    @property
    def likely_functions(self) -> tuple[ChangedPiece, ...]:
        """Return all likely functions, the surest first."""
        near = tuple(function for function in self.place if function not in self.without_influence)
        return tuple(dict.fromkeys((*self.confirmed_functions, *near)))


def select_details_of_culprits(
    culprits: Culprits | None, details: Iterable[ChangedDetail]
) -> list[ChangedDetail]:
    """Return the changed details whose probes run the functions of a culprit."""
    keys = (
        {function.key for function in culprits.likely_functions} if culprits is not None else set()
    )
    return [detail for detail in details if keys & detail.called_functions]


@dataclass(frozen=True, kw_only=True)
class Branch:
    """A branch that was taken one way only.

    Attributes:
        summary: description of the branch and of the way that was not taken.
    """

    file: str
    line: int
    function: str
    summary: str


@dataclass(frozen=True, kw_only=True)
class RepeatedCalls:
    """The result of repeating calls of a changed function with the old and the new code.

    Attributes:
        captured: number of captured calls; each was also repeated with perturbed arguments.
        same, close: repetitions with the same results, or the same up to rounding.
        skipped: repetitions with arguments on which the old code fails.
        touched: repetitions among these that changed an input of the differing lines.
        given: whether results differ on arguments of a training.
        arguments: the smallest arguments with different results; empty: there are none.
        path, old, new: the differing value and its path in the result.
        why: why calls could not be repeated; empty: all could.
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
        repeated_calls = f"{self.captured} calls repeated with both versions"
        close = f", {self.close} differ by rounding" if self.close else ""
        ending = f"; others could not be: {self.why}" if self.why else ""
        repeated = self.same + self.close
        same = f"{self.same} of {repeated} repetitions are the same"
        touched = f", {self.touched or 'none'} of {repeated} changed what the differing lines read"
        return f"{repeated_calls}: {same}{close}{touched}{ending}"


@dataclass(frozen=True, kw_only=True)
class PieceExecution:
    """The execution of one changed function by trainings and probes.

    Attributes:
        trainings: names of the trainings that executed it.
        details: "<id> [<scope>]" of the probes that executed it.
        one_way: its branches that were taken one way only, or never.
        algorithms: algorithms that use its class or its file.
        starter: line that started a process in which it may run unrecorded; empty: none.
        missed: why its changed lines may not have run, though it ran; empty: they ran.
        share: executed share of its changes.
        calls: result of direct calls; None: there were none.
    """

    function: ChangedPiece
    trainings: tuple[str, ...] = ()
    details: tuple[str, ...] = ()
    one_way: tuple[Branch, ...] = ()
    algorithms: tuple[str, ...] = ()
    starter: str = ""
    missed: str = ""
    share: float = 1.0
    calls: RepeatedCalls | None = None


@dataclass(frozen=True, kw_only=True)
class ReturnsVerdict:
    """The verdict on the returns of trainings.

    Attributes:
        lines: one for each cell and group.
        verdicts: cell or group -> its verdict, as data, before an alarm was confirmed.
        runs: id of a cell -> the runs of the new version, and the stored ones.
    """

    verdict: str
    lines: tuple[str, ...]
    report: Path | None = None
    verdicts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    runs: Mapping[str, CellRuns] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class VersionInfo:
    """The information of a report about one version.

    Attributes:
        label: "old" or "new".
        text: the version as the user requested it.
        how: "installed", "tree", "overlay", "environment", "your environment" or "not made".
        why: for an environment, reasons why it is no overlay.
        notes: conflicts between packages that are run all the same.
        not_checked: sentences on metadata that a folder does not state.
        lines: sentences that describe the version.
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
    """The number of compared items out of all."""

    checked: int
    all: int

    def __str__(self) -> str:
        return f"{self.checked} of {self.all}"


@dataclass(frozen=True, kw_only=True)
class FrameworkResult:
    """The results for one framework.

    Attributes:
        name: full name of the framework.
        module: its importable package.
        versions: package -> version, in the old and the new version.
        entries: the entries of this framework.
        details: details that are the same, that differ, and that were not compared.
        standing: detail and scope -> whether the change agrees with the documentation.
        documented: detail and scope -> the documented change, in words.
        defaults: hyperparameters and parameters whose defaults changed.
        unread: sentences on defaults that could not be compared.
        traced: trainings that ran in both versions.
        not_traced: trainings that could not be compared.
        same_code: trainings that run no changed code, recorded in the new version only.
        executions: execution of each changed piece of code.
        culprits: training -> its culprit, as far as it was found.
        returns: verdict on the returns of the new version; None: not trained.
        stored: algorithms with baseline runs.
        hunks: function -> its differing lines with context.
        costs: time and memory of trainings that execute changed code.
        not_checked: sentences on what no check covers, or the command excludes.
        judgement: the judgement of this framework's entries.
    """

    name: str
    title: str
    module: str
    versions: tuple[Mapping[str, str], Mapping[str, str]]
    entries: tuple[Entry, ...] = ()
    details: DetailResults = field(default_factory=DetailResults)
    standing: Mapping[tuple[str, str], str] = field(default_factory=dict)
    documented: Mapping[tuple[str, str], Sequence[str]] = field(default_factory=dict)
    defaults: tuple[ChangedDefault, ...] = ()
    unread: tuple[str, ...] = ()
    traced: tuple[ComparedTraining, ...] = ()
    not_traced: tuple[UncomparedTraining, ...] = ()
    same_code: tuple[str, ...] = ()
    executions: tuple[PieceExecution, ...] = ()
    culprits: Mapping[str, Culprits] = field(default_factory=dict)
    returns: ReturnsVerdict | None = None
    stored: frozenset[str] = frozenset()
    hunks: Mapping[ChangedPiece, Hunk] = field(default_factory=dict)
    costs: tuple[Cost, ...] = ()
    not_checked: tuple[str, ...] = ()
    judgement: UpgradeVerdict = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "judgement", model.judge_entries_of_upgrade(self.entries))

    @property
    def verdict(self) -> str:
        """Verdict on this framework alone."""
        return self.judgement.verdict

    @property
    def diverged_trainings(self) -> list[ComparedTraining]:
        """Trainings that differ, or whose traces do not repeat themselves."""
        return [t for t in self.traced if not t.shows_same_training]

    @property
    def unexecuted_entries(self) -> list[Entry]:
        """Changed pieces of code that no training executed and compared."""
        return [entry for entry in self.entries if entry.kind in model.CODE
                and entry.state in model.UNCHECKED]  # fmt: skip

    @property
    def algorithms_to_train(self) -> list[str]:
        """Algorithms whose returns have to be measured.

        These are algorithms whose plain training differs, and those that use an unexecuted changed
        function.
        """
        names = {
            t.algorithm
            for t in self.diverged_trainings
            if t.has_no_scenario and not t.comparison.trains_the_same
        }
        unexecuted = {entry.name for entry in self.unexecuted_entries if entry.state == model.NEVER}
        for execution in self.executions:
            # if the piece ran, trainings have compared it as far as they can
            undecided = not execution.trainings and not execution.function.runs_at_import
            if undecided and f"{execution.function.file} {execution.function.name}" in unexecuted:
                names |= set(execution.algorithms)
        return sorted(names)

    def _get_documentation_state_of_detail(self, detail: ChangedDetail) -> str:
        return self.standing.get((detail.id, detail.scope), UNDOCUMENTED)

    @property
    def violated_details(self) -> list[ChangedDetail]:
        """Changed details that contradict the documentation of the new version."""
        return [
            d
            for d in self.details.changed
            if self._get_documentation_state_of_detail(d) == VIOLATED
        ]

    def add_returns_verdict(
        self, verdict: ReturnsVerdict | None, stored: frozenset[str], entry: Entry | None
    ) -> FrameworkResult:
        """Return the results with the verdict on the returns of the new version.

        Args:
            entry: the entry of the returns; None: nothing was trained.
        """
        if verdict is None or entry is None:
            return replace(self, returns=verdict, stored=stored)
        entries = self.entries
        # scenarios have no baseline runs, so returns cannot settle their differences
        open_ = [
            t for t in self.diverged_trainings if not t.has_no_scenario or t.algorithm not in stored
        ]
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
        name: its dotted path.
        file: path from the folder of the script.
        dotted: its spelling in the line; begins with a point for an attribute of a value.
        why: the effect of using it with the new version.
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
        files: files that were read, the script first.
        unread: files that could not be read.
        lines: lines that use names which are gone or incompatible.
        unused: names that occur neither in these files nor in modules that the script imports.
    """

    files: tuple[str, ...]
    unread: tuple[str, ...] = ()
    lines: tuple[NamedLine, ...] = ()
    unused: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True)
class ScriptResult:
    """The results for a script.

    Attributes:
        training: the script in both versions, or why it could not be compared.
        entries: the entries of the script and of the code that it may run.
        executions: its execution of changed pieces of code.
        culprits, hunks, costs: as in ``FrameworkResult``.
        names: its uses of names that are gone or incompatible; None: there are no such names.
        judgement: the judgement of the script's entries.
    """

    training: ComparedTraining | UncomparedTraining
    entries: tuple[Entry, ...] = ()
    executions: tuple[PieceExecution, ...] = ()
    culprits: Mapping[str, Culprits] = field(default_factory=dict)
    hunks: Mapping[ChangedPiece, Hunk] = field(default_factory=dict)
    names: ScriptNames | None = None
    costs: tuple[Cost, ...] = ()
    judgement: UpgradeVerdict = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "judgement", model.judge_entries_of_upgrade(self.entries))

    @property
    def verdict(self) -> str:
        """Verdict on the script alone."""
        return self.judgement.verdict


def map_entries_to_explaining_functions(
    result: FrameworkResult | ScriptResult,
) -> dict[str, tuple[ChangedPiece, ...]]:
    """Return names of entries that differ -> the changed functions that explain them.

    The surest function comes first. Entries without such a function are left out.
    """
    functions = {
        name: culprits.likely_functions
        for name, culprits in result.culprits.items()
        if culprits.likely_functions
    }
    if isinstance(result, FrameworkResult):
        surest = {own[0] for own in functions.values()}
        executed_functions = [execution.function for execution in result.executions]
        for finding in group_details_by_functions(result.details.changed, executed_functions):
            # a probe may run several changed functions; the culprit of a training is the surest
            sure = tuple(f for f in finding.functions if f in surest)
            own = tuple(dict.fromkeys((*sure, *finding.functions)))
            functions |= {f"{d.id} [{d.scope}]": own for d in finding.details if own}
    for execution in result.executions:
        if execution.calls is not None and execution.calls.arguments:
            functions[" ".join(execution.function.key)] = (execution.function,)
    return functions


@dataclass(frozen=True, kw_only=True)
class Upgrade:
    """The result of an upgrade.

    Attributes:
        script: the script that was traced instead of the built-in trainings.
        file: name of the user's file that both versions loaded; empty: there is none.
        other_packages: entries of no framework and no script: metadata, packages, environments.
        pinned: packages whose pins differ between the versions.
        differing: package -> both versions of it, if they differ.
        one_way: branches, clamps and masks that the traces of the new version took one way only.
        stale: accepted keys that match no entry.
        cut: sentences on checks that were not done because the time was over.
        min_coverage, fail_on: see ``differences.judge_entries_of_upgrade``.
        judgement: the judgement of all entries.
    """

    old: VersionInfo
    new: VersionInfo
    frameworks: tuple[FrameworkResult, ...]
    physics: tuple[PhysicsComparison, ...] = ()
    script: ScriptResult | None = None
    file: str = ""
    other_packages: tuple[Entry, ...] = ()
    pinned: frozenset[str] = frozenset()
    differing: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    one_way: tuple[Branch, ...] = ()
    stale: tuple[str, ...] = ()
    cut: tuple[str, ...] = ()
    min_coverage: float = model.MIN_COVERAGE
    fail_on: str = model.FAIL_ON
    judgement: UpgradeVerdict = field(init=False)

    def __post_init__(self) -> None:
        judgement = model.judge_entries_of_upgrade(self.entries, self.min_coverage, self.fail_on)
        object.__setattr__(self, "judgement", judgement)

    @property
    def parts(self) -> tuple[FrameworkResult | ScriptResult, ...]:
        """The frameworks, and the script if there is one."""
        return (*self.frameworks, *([] if self.script is None else [self.script]))

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All differences and all planned checks."""
        return (*(entry for part in self.parts for entry in part.entries), *self.other_packages)

    @property
    def not_checked(self) -> list[str]:
        """Sentences on subjects that no entry covers: no check exists, or the command excludes it.

        They are the same for every pair of versions, and so do not enter the verdict.
        """
        versions_not_checked = [f"{version.label}: {x}" for version in (self.old, self.new)
                    for x in version.not_checked]  # fmt: skip
        return [
            *versions_not_checked,
            *(
                f"{framework.title}: {x}"
                for framework in self.frameworks
                for x in framework.not_checked
            ),
        ]

    @property
    def verdict(self) -> str:
        return self.judgement.verdict

    @property
    def exit_code(self) -> int:
        """1: regressed, or the new version fails; 2: could not judge; 3: changed; otherwise 0."""
        return self.judgement.exit_code

    @property
    def tallies(self) -> dict[str, Tally]:
        """Kind of item -> how many were compared, and how many there are."""
        checked = self.judgement.coverage
        tallies = {"changed pieces": Tally(checked=checked.checked, all=checked.all)}
        details = [framework.details for framework in self.frameworks]
        tallies["details"] = Tally(
            checked=sum(detail.probed_count for detail in details),
            all=sum(detail.total_count for detail in details),
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
        return tuple(cost for part in self.parts for cost in part.costs)

    @property
    def traced(self) -> list[ComparedTraining]:
        """Every training that was traced on both versions."""
        own = self.script.training if self.script is not None else None
        traced_pairs = [traced for framework in self.frameworks for traced in framework.traced]
        return [*traced_pairs, own] if isinstance(own, ComparedTraining) else traced_pairs
