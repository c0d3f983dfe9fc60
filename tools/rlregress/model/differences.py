"""The list of everything that differs between two versions, and the verdict that follows from it.

Each difference, and each check that was planned, is one ``Entry``. The list is made before anything
runs; every entry then ends in exactly one state. ``judge`` folds the list into the verdict and
reads nothing else: headline, exit code, next step, colour of the page and all formats follow it.

Two rules keep the verdict honest. An entry that nothing executed and compared stays ``NEVER``, so
losing evidence of sameness never improves a verdict. A check that was planned and has no result
stays in the list, so losing evidence of a difference never yields ``UNCHANGED``.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from rlregress.model.loaded_files import LOADED_ALIKE
from rlregress.model.verdict import (
    COULD_NOT_JUDGE,
    HOLDS,
    IMPROVED,
    INCONCLUSIVE,
    MOVED,
    REGRESSED,
)

# -- states ----------------------------------------------------------------------------------------

NEW_FAILS, OLD_FAILED = "the new version fails", "the old version failed"
DIFFERS, LOGS, CLOSE = "differs", "differs in logs only", "close"
BEYOND = "differs on arguments that no training gave"
SAME = "executed, same results, all branches"
ONE_WAY = "executed, same results, some branches one way only"
IN_PART = "executed in part, same results"
NOT_COMPARED = "executed, but nothing of it is compared"
NEVER, CANNOT = "never executed", "cannot run here"
OUTSIDE, NO_EFFECT = "outside of training", "no effect"
#: what a reader wants first: what could not be checked, then what differs, then what is the same.
STATES = (
    NEVER, NOT_COMPARED, CANNOT, IN_PART, NEW_FAILS, DIFFERS, BEYOND, LOGS, CLOSE, OLD_FAILED,
    ONE_WAY, SAME, OUTSIDE, NO_EFFECT,
)  # fmt: skip
#: nothing says whether it is the same.
UNCHECKED = (NEVER, NOT_COMPARED, CANNOT)
#: nothing says of the whole of it whether it is the same.
INCOMPLETE = (*UNCHECKED, IN_PART)
#: the option that bounds a command: a reason that is about time names it.
MINUTES = "--minutes"
#: it is not the same.
DIFFERENT = (NEW_FAILS, DIFFERS, BEYOND, LOGS, CLOSE, OLD_FAILED)
#: it was executed with the same results.
EXECUTED_SAME = (ONE_WAY, SAME)
#: it does not count.
WITHOUT_EFFECT = (OUTSIDE, NO_EFFECT)

# -- kinds -----------------------------------------------------------------------------------------

FUNCTION, CLASS, MODULE, FILE = "function", "class body", "module body", "file"
PACKAGE, PUBLIC, WARNING, REQUIREMENT = "package", "public name", "new warning", "requirement"
DEFAULT, DETAIL, TRAINING, SCRIPT = "default", "detail", "training", "script"
ENVIRONMENT, RETURNS, SAVED = "environment", "returns", "saved file"
#: pieces of code: executed or not.
CODE = (FUNCTION, CLASS, MODULE, FILE)
#: what changed, as against what was run to see whether it matters.
CHANGES = (*CODE, PACKAGE)
KINDS = (
    *CHANGES, PUBLIC, WARNING, REQUIREMENT, DEFAULT, DETAIL, TRAINING, SCRIPT, ENVIRONMENT, RETURNS,
    SAVED,
)  # fmt: skip

# -- verdicts --------------------------------------------------------------------------------------

UNCHANGED, PARTLY, CHANGED = "unchanged", "partly checked", "changed"
REPAIRED, ROUNDED, AS_DOCUMENTED = "repaired", "close", "changed as documented"
#: of a part of an upgrade that is not unchanged as a whole.
NOTHING_HERE = "no difference found here"
#: the worst first: the verdict of a list is the worst of its entries.
ORDER = (
    REGRESSED, NEW_FAILS, INCONCLUSIVE, CHANGED, COULD_NOT_JUDGE, HOLDS, IMPROVED, MOVED, PARTLY,
    REPAIRED, ROUNDED, AS_DOCUMENTED, UNCHANGED,
)  # fmt: skip
#: exit code of a verdict that fails; of any other it is 3.
_CODES = {REGRESSED: 1, NEW_FAILS: 1, COULD_NOT_JUDGE: 2}
#: the best verdict that fails, unless ``--fail-on`` names another.
FAIL_ON = COULD_NOT_JUDGE
#: share of the changed pieces that has to be executed and compared for exit code 0.
MIN_COVERAGE = 0.5
#: how an entry that differs stands to what is documented of the new version.
DOCUMENTED, VIOLATED = "as documented", "documented otherwise"
#: of what differs, how it stands -> verdict; however else it stands, it is a change.
_STANDINGS = {
    VIOLATED: REGRESSED, DOCUMENTED: AS_DOCUMENTED,
    **{word: word for word in (REGRESSED, INCONCLUSIVE, HOLDS, IMPROVED, MOVED)},
}  # fmt: skip
#: how the words on files that one version wrote and the other does not load begin.
OLD_FILES, NEW_FILES = "old files do not load", "new files do not load with the old version"
#: how the words on a module begin that was imported, and of which nothing that changed was used.
IMPORTED = "imported"
#: how the words on a training begin in which values first differ in their types.
OTHER_TYPES = "other types or shapes"
#: how the words on a requirement that is gone begin.
GONE = "no longer installed"
#: how a note on a package that is gone begins that names a function which uses it.
NEEDED = "needed by "
#: names of one kind in a headline.
_NAMED = 3


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One difference between two versions, or one check that was planned.

    Attributes:
        kind: one of ``KINDS``.
        name: what it is, as one would search for it: "<file> <qualified name>" of code, a dotted
            path of a public name, a training, the id of a detail.
        framework: the framework under which it is reported; empty: none.
        package: the importable package whose code it is; empty of everything else.
        summary: one clause for the reader.
        state: one of ``STATES``.
        by: the checks that executed or compared it.
        reason: why it is in this state, where no check says so.
        notes: branches that were taken one way only; what would execute it.
        file, line: where it stands, below the folder of its package.
        standing: of what differs, ``DOCUMENTED``, ``VIOLATED`` or the verdict on returns.
        share: of a piece of code that was executed in part, how much of what changed in it ran.
        culprit: reverting it moves a training that differs.
        content: what it is on both sides, as text: ``key`` is a digest of it.
        accepted: why somebody who has reviewed it accepts it; empty: nobody has.
    """

    kind: str
    name: str
    framework: str = ""
    package: str = ""
    summary: str = ""
    state: str = NEVER
    by: tuple[str, ...] = ()
    reason: str = ""
    notes: tuple[str, ...] = ()
    file: str = ""
    line: int = 0
    standing: str = ""
    share: float = 1.0
    culprit: bool = False
    content: str = ""
    accepted: str = ""

    def __post_init__(self) -> None:
        # a state or kind that no rule knows would count as nothing
        if self.kind not in KINDS or self.state not in STATES:
            raise ValueError(f"an entry of kind '{self.kind}' in state '{self.state}'")

    @property
    def key(self) -> str:
        """Digest of its kind, name and content: another content is another entry."""
        text = "\0".join((self.kind, self.name, self.content))
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def counts(self) -> bool:
        """Return whether the verdict depends on it."""
        return self.state not in WITHOUT_EFFECT and not self.accepted

    @property
    def is_late(self) -> bool:
        """Return whether it was not checked because the time of the command was over."""
        return self.state in INCOMPLETE and MINUTES in f"{self.reason} {self.summary}"

    @property
    def ran(self) -> bool:
        """Return whether a training, a script or a probe executed it. Imported code must be
        used to count.
        """
        if self.state == NEVER:
            return bool(self.by) and not self.reason.startswith(IMPORTED)
        return self.state not in (CANNOT, *WITHOUT_EFFECT)

    @property
    def title(self) -> str:
        """Its kind and its name."""
        return self.name if self.name.startswith(self.kind) else f"{self.kind} {self.name}"

    @property
    def short(self) -> str:
        """Its name as a headline has it."""
        if self.kind in (MODULE, FILE):
            return self.file or self.name
        if self.kind in (PUBLIC, WARNING):
            return ".".join(self.name.split(".")[-2:])
        return self.name.rpartition(" ")[2] if self.kind in CODE else self.name

    @property
    def verdict(self) -> str:
        """The verdict of a list with this entry alone."""
        if self.accepted:
            return AS_DOCUMENTED
        if self.state in (DIFFERS, BEYOND, LOGS):
            return _STANDINGS.get(self.standing, CHANGED)
        if self.state in INCOMPLETE:
            return PARTLY
        return {NEW_FAILS: NEW_FAILS, OLD_FAILED: REPAIRED, CLOSE: ROUNDED}.get(
            self.state, UNCHANGED
        )


def unexecuted_title(entry: Entry) -> str:
    """Return the title of a list of entries in the state ``NEVER``, by how far they came."""
    if entry.kind not in CODE or entry.kind == FILE:
        return "Never executed"
    if entry.by:
        if entry.reason.startswith(IMPORTED):
            return "Imported, but nothing that ran uses what changed in it"
        return "Ran, but perhaps not where it differs"
    return "Never executed" if entry.kind == FUNCTION else "Imported by nothing that ran"


def executed(states: Iterable[str], one_way: bool) -> str:
    """The state of a piece of code by those of the checks that executed it.

    Args:
        one_way: some of its branches were taken one way only.
    """
    states_found = set(states)
    for state in DIFFERENT:
        if state in states_found:
            return state
    if states_found & set(EXECUTED_SAME):
        return ONE_WAY if one_way else SAME
    if IN_PART in states_found:
        return IN_PART
    return NOT_COMPARED if states_found else NEVER


@dataclass(frozen=True, kw_only=True)
class Coverage:
    """How many of the changed pieces that count were executed and compared.

    Attributes:
        checked: as a whole.
        in_part: in part; ``partly`` is the sum of what ran of each, as a share of its changes.
        ran: in whatever way, also where nothing of it was compared.
    """

    checked: int
    all: int
    in_part: int = 0
    partly: float = 0.0
    ran: int = 0

    @property
    def share(self) -> float:
        """1 where nothing that counts has changed."""
        return (self.checked + self.partly) / self.all if self.all else 1.0

    def __str__(self) -> str:
        if not self.ran:
            return f"None of {self.all} changed pieces ran"
        unknown = self.ran - self.checked - self.in_part
        parts = [(self.in_part, "in part"), (unknown, "not compared")]
        notes = "".join(f", {count} {note}" for count, note in parts if count)
        return f"{self.ran} of {self.all} changed pieces ran{notes}"


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """The verdict on a list of entries.

    Attributes:
        verdict: one of ``ORDER``.
        headline: the verdict and why, in plain words.
        coverage: of the changed pieces.
        states: state -> how many entries are in it.
        share: in words, how much of what was to be checked was; empty: all of it.
    """

    verdict: str
    headline: str
    exit_code: int
    coverage: Coverage
    states: Mapping[str, int]
    share: str = ""

    @property
    def reason(self) -> str:
        """The headline where the verdict is there already."""
        return self.headline.removeprefix(self.verdict).removeprefix(": ")

    @property
    def first_reason(self) -> str:
        """The first sentence of the reason, which is the worst that is known."""
        first, rest_of_text, _ = self.reason.partition(". ")
        return f"{first}." if rest_of_text else first

    def part_of(self, overall_verdict: str) -> Judgement:
        """The same of a part: that it is unchanged says nothing while the whole is not.

        Args:
            overall_verdict: the verdict of everything.
        """
        if not self.verdict == UNCHANGED != overall_verdict:
            return self
        headline = NOTHING_HERE + self.headline.removeprefix(UNCHANGED)
        if not self.coverage.all:
            headline = "no difference found in its details, defaults and trainings"
        return replace(self, verdict=NOTHING_HERE, headline=headline)


def coverage(entries: Iterable[Entry]) -> Coverage:
    """Return how many of the changed pieces that count were executed and compared."""
    counted = [
        entry
        for entry in entries
        # a package that is gone differs by being gone: nothing of it could run
        if entry.kind in CHANGES and entry.counts and (entry.by or entry.state != DIFFERS)
    ]
    in_part = [entry.share for entry in counted if entry.state == IN_PART]
    return Coverage(
        checked=sum(entry.state not in INCOMPLETE for entry in counted),
        all=len(counted),
        in_part=len(in_part),
        partly=sum(in_part),
        ran=sum(entry.ran for entry in counted),
    )


def idle_packages(entries: Iterable[Entry]) -> list[str]:
    """Packages whose code differs, and of whose changes nothing was executed and compared."""
    counted = [entry for entry in entries if entry.kind in CODE and entry.counts]
    checked = {entry.package for entry in counted if entry.state not in UNCHECKED}
    return sorted({entry.package for entry in counted} - checked)


def judge(
    entries: Sequence[Entry], min_coverage: float = MIN_COVERAGE, fail_on: str = FAIL_ON
) -> Judgement:
    """The verdict on a list of entries.

    Args:
        min_coverage: the least ``coverage`` for exit code 0, between 0 and 1.
        fail_on: the best verdict whose exit code is not 0.
    """
    words = {entry.verdict for entry in entries}
    trainings = [e for e in entries if e.kind in (TRAINING, SCRIPT) and e.counts]
    nothing_ran = trainings and all(training.state in UNCHECKED for training in trainings)
    counting = [entry for entry in entries if entry.counts]
    cut = counting and all(entry.is_late for entry in counting)
    if nothing_ran or cut or idle_packages(entries):
        words.add(COULD_NOT_JUDGE)
    verdict = min(words, key=ORDER.index, default=UNCHANGED)
    checked = coverage(entries)
    code = 0
    if ORDER.index(verdict) <= ORDER.index(fail_on):
        code = _CODES.get(verdict, 3)
    elif checked.share < min_coverage and ORDER.index(fail_on) >= ORDER.index(COULD_NOT_JUDGE):
        code = _CODES[COULD_NOT_JUDGE]
    counts = Counter(entry.state for entry in entries)
    headline = _headline(verdict, entries, checked)
    if code and ORDER.index(verdict) > ORDER.index(fail_on):
        headline += (
            f" Not enough for exit code 0: {checked.share:.0%} of the changed pieces were executed "
            f"and compared, less than --min-coverage, {min_coverage:.0%}."
        )
    return Judgement(
        verdict=verdict,
        headline=headline,
        exit_code=code,
        coverage=checked,
        states={state: counts[state] for state in STATES if counts[state]},
        share=_share(entries, checked),
    )


def accept(entries: Iterable[Entry], reviewed: Mapping[str, str]) -> list[Entry]:
    """The entries, with those accepted whose key somebody has reviewed.

    Args:
        reviewed: key -> why it is accepted.
    """
    return [
        replace(entry, accepted=reviewed[entry.key]) if entry.key in reviewed else entry
        for entry in entries
    ]


# -- words -----------------------------------------------------------------------------------------


def _share(entries: Sequence[Entry], checked: Coverage) -> str:
    lost = [e for e in entries if e.counts and e.kind not in CHANGES and e.state in UNCHECKED]
    if not lost and checked.checked == checked.all:
        return ""
    without = f"{len(lost)} check{'s' if len(lost) > 1 else ''} without a result" if lost else ""
    return ", ".join(filter(None, (str(checked) if checked.all else "", without)))


def _headline(verdict: str, entries: Sequence[Entry], checked: Coverage) -> str:
    if verdict == UNCHANGED:
        if not checked.all:
            return f"{UNCHANGED}: nothing that has an effect differs"
        return f"{UNCHANGED}: {checked} with the same results"
    counted = [entry for entry in entries if entry.counts]
    parts = [
        _name_some(names) if title.lower() == verdict else f"{title}: {_name_some(names)}"
        for title, names in _differences(counted)
    ]
    ran = str(checked) if checked.all else ""
    if not parts and checked.checked + checked.in_part:
        parts.append(f"No difference found in what ran: {ran}")
    elif checked.checked < checked.all:
        parts.append(ran)
    never: dict[str, list[str]] = {}
    for entry in counted:
        if entry.kind in CODE and entry.state == NEVER:
            never.setdefault(unexecuted_title(entry), []).append(entry.short)
    parts += [
        f"{title}: {_name_some(names)}"
        for title, names in (
            *never.items(),
            ("Compared in part", _describe_count(counted, (TRAINING, SCRIPT), (IN_PART,))),
            ("Ran in part", _describe_count(counted, CODE, (IN_PART,))),
            ("Ran, but not compared", _describe_count(counted, CODE, (NOT_COMPARED,))),
            ("Cannot run here", _describe_count(counted, CODE, (CANNOT,))),
            ("Packages of which no change was compared", idle_packages(entries)),
            ("Not checked", _describe_count(counted, _NOT_CODE, UNCHECKED)),
            ("Accepted", [entry.short for entry in entries if entry.accepted]),
        )
        if names
    ]
    return f"{verdict}: {'. '.join(parts)}." if parts else verdict


_NOT_CODE = tuple(kind for kind in KINDS if kind not in CODE)


def _differences(counted: Sequence[Entry]) -> list[tuple[str, list[str]]]:
    """Title and names of what differs, the worst first."""
    violated = [entry for entry in counted if entry.verdict == REGRESSED]
    checks = (DETAIL, TRAINING, SCRIPT, ENVIRONMENT, DEFAULT)
    saved = [e for e in counted if e.kind == SAVED and e.state == DIFFERS]
    files = {why: [e.short for e in saved if e.reason.startswith(why)]
             for why in (OLD_FILES, NEW_FILES, LOADED_ALIKE)}  # fmt: skip
    retyped = [entry for entry in counted if entry.reason.startswith(OTHER_TYPES)]
    named = _names([*violated, *retyped])
    lost, alike = files[OLD_FILES] + files[NEW_FILES], files[LOADED_ALIKE]
    rows = [
        ("Regressed", [entry.short for entry in violated]),
        ("The new version fails", _describe_count(counted, (TRAINING, SCRIPT), (NEW_FAILS,))),
        (OTHER_TYPES.capitalize(), [f"{entry.short} ({entry.reason.partition(': ')[2]})"
                                    for entry in retyped[:1]] + [e.short for e in retyped[1:]]),
        ("Differ", [n for n in _describe_count(counted, checks, (DIFFERS,)) if n not in named]),
        ("Culprit", [entry.short for entry in counted if entry.culprit]),
        ("Differ when called", [entry.short for entry in counted if entry.kind in CODE
                                and (entry.state == BEYOND
                                     or (entry.state == DIFFERS and entry.reason))]),
        ("Differ in logs only", _describe_count(counted, (TRAINING, SCRIPT), (LOGS,))),
        ("Removed or incompatible", _describe_count(counted, (PUBLIC,), (DIFFERS,))),
        *((f"{why[0].upper()}{why[1:]}", files[why]) for why in (OLD_FILES, NEW_FILES)),
        ("Saved files differ", [e.short for e in saved if e.short not in lost + alike]),
        ("Saved files load alike, then training differs", alike),
        ("No longer installed", _sort_lost_packages(counted)),
        ("Requirements", [entry.summary for entry in counted if entry.kind == REQUIREMENT
                          and entry.state == DIFFERS and not is_gone(entry)]),
        ("New warnings", _describe_count(counted, (WARNING,), (LOGS,))),
        ("Differ by rounding only", _describe_count(counted, (TRAINING, SCRIPT), (CLOSE,))),
        ("Repaired", _describe_count(counted, (TRAINING, SCRIPT), (OLD_FAILED,))),
    ]  # fmt: skip
    return [(title, names) for title, names in rows if names]


def is_gone(entry: Entry) -> bool:
    """Return whether the new version no longer installs a requirement."""
    return entry.kind == REQUIREMENT and entry.summary.startswith(GONE)


def _sort_lost_packages(counted: Sequence[Entry]) -> list[str]:
    """Packages that are gone: those that were required, before what only these required."""
    required = [e.name for e in counted if is_gone(e)]
    return [*required, *_describe_count(counted, (PACKAGE,), (DIFFERS,))]


def _names(entries: Iterable[Entry]) -> set[str]:
    return {entry.short for entry in entries}


def _describe_count(
    entries: Iterable[Entry], kinds: Collection[str], states: Collection[str]
) -> list[str]:
    return [entry.short for entry in entries if entry.kind in kinds and entry.state in states]


def _name_some(names: Sequence[str]) -> str:
    unique = list(dict.fromkeys(names))
    ending = f" and {len(unique) - _NAMED} more" if len(unique) > _NAMED else ""
    return ", ".join(unique[:_NAMED]) + ending
