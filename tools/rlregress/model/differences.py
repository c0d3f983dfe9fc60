"""The list of everything that differs between two versions, and the verdict that follows from it.

Each difference, and each planned check, is one ``Entry``. The list is built before anything runs.
Every entry then ends in exactly one state. ``judge_entries_of_upgrade`` folds the list into the
verdict and reads nothing else. Headline, exit code, next step, colour of the page and all formats
follow from it.

Two rules keep the verdict honest. An entry that nothing executed and compared stays ``NEVER``, so
losing evidence of sameness never improves a verdict. A planned check without a result stays in the
list, so losing evidence of a difference never yields ``UNCHANGED``.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from rlregress.model.loaded_files import LOADED_ALIKE
from rlregress.model.verdict import COULD_NOT_JUDGE, HOLDS, IMPROVED, INCONCLUSIVE, MOVED, REGRESSED

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
#: in the order of reports: unchecked entries, then differences, then entries that are the same
STATES = (
    NEVER, NOT_COMPARED, CANNOT, IN_PART, NEW_FAILS, DIFFERS, BEYOND, LOGS, CLOSE, OLD_FAILED,
    ONE_WAY, SAME, OUTSIDE, NO_EFFECT,
)  # fmt: skip
#: states of entries that were not checked
UNCHECKED = (NEVER, NOT_COMPARED, CANNOT)
#: states of entries that were not checked as a whole
INCOMPLETE = (*UNCHECKED, IN_PART)
#: the option that limits the time of a command; reasons about time contain it
MINUTES = "--minutes"
#: states of entries that differ
DIFFERENT = (NEW_FAILS, DIFFERS, BEYOND, LOGS, CLOSE, OLD_FAILED)
#: states of entries that were executed with the same results
EXECUTED_SAME = (ONE_WAY, SAME)
#: states of entries that do not count
WITHOUT_EFFECT = (OUTSIDE, NO_EFFECT)

# -- kinds -----------------------------------------------------------------------------------------

FUNCTION, CLASS, MODULE, FILE = "function", "class body", "module body", "file"
PACKAGE, PUBLIC, WARNING, REQUIREMENT = "package", "public name", "new warning", "requirement"
DEFAULT, DETAIL, TRAINING, SCRIPT = "default", "detail", "training", "script"
ENVIRONMENT, RETURNS, SAVED = "environment", "returns", "saved file"
#: kinds of pieces of code, which can be executed
CODE = (FUNCTION, CLASS, MODULE, FILE)
#: kinds of changes; the others are checks of their effects
CHANGES = (*CODE, PACKAGE)
KINDS = (
    *CHANGES, PUBLIC, WARNING, REQUIREMENT, DEFAULT, DETAIL, TRAINING, SCRIPT, ENVIRONMENT, RETURNS,
    SAVED,
)  # fmt: skip

# -- verdicts --------------------------------------------------------------------------------------

UNCHANGED, PARTLY, CHANGED = "unchanged", "partly checked", "changed"
REPAIRED, ROUNDED, AS_DOCUMENTED = "repaired", "close", "changed as documented"
#: verdict of an unchanged part of an upgrade that is not unchanged as a whole
NOTHING_HERE = "no difference found here"
#: verdicts, the worst first; the verdict of a list is the worst of its entries
ORDER = (
    REGRESSED, NEW_FAILS, INCONCLUSIVE, CHANGED, COULD_NOT_JUDGE, HOLDS, IMPROVED, MOVED, PARTLY,
    REPAIRED, ROUNDED, AS_DOCUMENTED, UNCHANGED,
)  # fmt: skip
#: exit codes of verdicts that fail; that of any other is 3
_CODES = {REGRESSED: 1, NEW_FAILS: 1, COULD_NOT_JUDGE: 2}
#: the best verdict that fails, unless ``--fail-on`` names another
FAIL_ON = COULD_NOT_JUDGE
#: share of the changed pieces that must be executed and compared for exit code 0
MIN_COVERAGE = 0.5
#: whether a difference agrees with the documentation of the new version
DOCUMENTED, VIOLATED = "as documented", "documented otherwise"
#: standing of an entry that differs -> verdict; any other standing is a change
_STANDINGS = {
    VIOLATED: REGRESSED, DOCUMENTED: AS_DOCUMENTED,
    **{word: word for word in (REGRESSED, INCONCLUSIVE, HOLDS, IMPROVED, MOVED)},
}  # fmt: skip
#: begin of the reason if the new version does not load files of the old one
OLD_FILES = "old files do not load"
#: begin of the reason if a module was imported, and nothing of it that changed was used
IMPORTED = "imported"
#: begin of the reason if values of a training first differ in their types
OTHER_TYPES = "other types or shapes"
#: why trainings differ that have the same numbers: files, logs or printed text
WRITES_OTHERWISE = "trains the same, and writes otherwise"
#: begin of the summary of a lost requirement
GONE = "no longer installed"
#: begin of a note on a lost package that names a function which uses it
NEEDED = "needed by "
#: most names of one kind in a headline
_NAMED = 3


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One difference between two versions, or one planned check.

    Attributes:
        kind: one of ``KINDS``.
        name: "<file> <qualified name>" of code, the dotted path of a public name, a training, or
            the id of a detail.
        framework: the framework under which it is reported; empty: none.
        package: the importable package of its code; empty for other kinds.
        summary: one clause for the reader.
        state: one of ``STATES``.
        by: the checks that executed or compared the entry.
        reason: why it is in this state, unless a check shows it.
        notes: branches that were taken one way only; how to execute the code.
        file, line: its place, below the folder of its package.
        standing: for a difference, ``DOCUMENTED``, ``VIOLATED`` or the verdict on returns.
        share: for code that was executed in part, the executed share of its changes.
        culprit: whether reverting it changes a training that differs.
        like: a training that differs in the same way and has an entry of its own; empty: none.
        content: its content in both versions, as text; ``key`` is a digest of it.
        accepted: a reviewer's reason to accept the entry; empty: it is not accepted.
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
    like: str = ""
    content: str = ""
    accepted: str = ""

    def __post_init__(self) -> None:
        # an unknown state or kind would silently not count
        if self.kind not in KINDS or self.state not in STATES:
            raise ValueError(f"an entry of kind '{self.kind}' in state '{self.state}'")

    @property
    def key(self) -> str:
        """Digest of the entry's kind, name and content: other content makes it another entry."""
        text = "\0".join((self.kind, self.name, self.content))
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def affects_verdict(self) -> bool:
        """Return whether the verdict depends on this entry."""
        return self.state not in WITHOUT_EFFECT and not self.accepted

    @property
    def was_out_of_time(self) -> bool:
        """Return whether the entry was not checked because the command's time was over."""
        return self.state in INCOMPLETE and MINUTES in f"{self.reason} {self.summary}"

    @property
    def was_executed(self) -> bool:
        """Return whether a training, script or probe executed the code; imports do not count."""
        if self.state == NEVER:
            return bool(self.by) and not self.reason.startswith(IMPORTED)
        return self.state not in (CANNOT, *WITHOUT_EFFECT)

    @property
    def title(self) -> str:
        """The entry's kind and name."""
        return self.name if self.name.startswith(self.kind) else f"{self.kind} {self.name}"

    @property
    def headline(self) -> str:
        """The entry's name in the form for a headline."""
        if self.kind in (MODULE, FILE):
            return self.file or self.name
        if self.kind in (PUBLIC, WARNING):
            return ".".join(self.name.split(".")[-2:])
        return self.name.rpartition(" ")[2] if self.kind in CODE else self.name

    @property
    def verdict(self) -> str:
        """The verdict of a list with only this entry."""
        if self.accepted:
            return AS_DOCUMENTED
        if self.state in (DIFFERS, BEYOND, LOGS):
            return _STANDINGS.get(self.standing, CHANGED)
        if self.state in INCOMPLETE:
            return PARTLY
        return {NEW_FAILS: NEW_FAILS, OLD_FAILED: REPAIRED, CLOSE: ROUNDED}.get(
            self.state, UNCHANGED
        )


def choose_title_of_unexecuted_entry(entry: Entry) -> str:
    """Return the title under which reports list an entry in the state ``NEVER``."""
    if entry.kind not in CODE or entry.kind == FILE:
        return "Never executed"
    if entry.by:
        if entry.reason.startswith(IMPORTED):
            return "Imported, but nothing that ran uses what changed in it"
        return "Ran, but perhaps not where it differs"
    return "Never executed" if entry.kind == FUNCTION else "Imported by nothing that ran"


def combine_states_of_checks(states: Iterable[str], has_one_way_branch: bool) -> str:
    """Return the state of a piece of code from the states of the checks that executed it.

    Args:
        has_one_way_branch: whether some of its branches were taken one way only.
    """
    states_found = set(states)
    for state in DIFFERENT:
        if state in states_found:
            return state
    if states_found & set(EXECUTED_SAME):
        return ONE_WAY if has_one_way_branch else SAME
    if IN_PART in states_found:
        return IN_PART
    return NOT_COMPARED if states_found else NEVER


@dataclass(frozen=True, kw_only=True)
class Coverage:
    """The number of changed pieces that were executed and compared.

    Attributes:
        checked: number of pieces that were executed and compared as a whole.
        all: number of changed pieces that count.
        in_part: number of pieces that were executed and compared in part.
        partly: sum of the executed shares of these.
        ran: number of executed pieces, compared or not.
    """

    checked: int
    all: int
    in_part: int = 0
    partly: float = 0.0
    ran: int = 0

    @property
    def share(self) -> float:
        """Checked share of the changed pieces; 1 if none count."""
        return (self.checked + self.partly) / self.all if self.all else 1.0

    def __str__(self) -> str:
        if not self.ran:
            return f"None of {self.all} changed pieces ran"
        unknown = self.ran - self.checked - self.in_part
        parts = [(self.in_part, "in part"), (unknown, "not compared")]
        notes = "".join(f", {count} {note}" for count, note in parts if count)
        return f"{self.ran} of {self.all} changed pieces ran{notes}"


@dataclass(frozen=True, kw_only=True)
class UpgradeVerdict:
    """The verdict on a list of entries.

    Attributes:
        verdict: one of ``ORDER``.
        headline: the verdict with its reasons.
        coverage: coverage of the changed pieces.
        states: state -> number of entries.
        share: how much was checked, in words; empty: everything.
    """

    verdict: str
    headline: str
    exit_code: int
    coverage: Coverage
    states: Mapping[str, int]
    share: str = ""

    @property
    def reason(self) -> str:
        """The headline without the verdict."""
        return self.headline.removeprefix(self.verdict).removeprefix(": ")

    @property
    def first_reason(self) -> str:
        """The first sentence of the reason, on the worst finding."""
        first, rest_of_text, _ = self.reason.partition(". ")
        return f"{first}." if rest_of_text else first

    def soften_unchanged_of_part(self, overall_verdict: str) -> UpgradeVerdict:
        """Return the verdict; weaken "unchanged" of a part unless the whole is unchanged, too.

        Args:
            overall_verdict: the verdict of everything.
        """
        if not self.verdict == UNCHANGED != overall_verdict:
            return self
        headline = NOTHING_HERE + self.headline.removeprefix(UNCHANGED)
        if not self.coverage.all:
            headline = "no difference found in its details, defaults and trainings"
        return replace(self, verdict=NOTHING_HERE, headline=headline)


def measure_coverage_of_entries(entries: Iterable[Entry]) -> Coverage:
    """Return how many of the counted changed pieces were executed and compared."""
    counted = [
        entry
        for entry in entries
        # a lost package cannot run
        if entry.kind in CHANGES and entry.affects_verdict and (entry.by or entry.state != DIFFERS)
    ]
    in_part = [entry.share for entry in counted if entry.state == IN_PART]
    return Coverage(
        checked=sum(entry.state not in INCOMPLETE for entry in counted),
        all=len(counted),
        in_part=len(in_part),
        partly=sum(in_part),
        ran=sum(entry.was_executed for entry in counted),
    )


def list_packages_without_comparison(entries: Iterable[Entry]) -> list[str]:
    """Return the changed packages of which no change was executed and compared."""
    counted = [entry for entry in entries if entry.kind in CODE and entry.affects_verdict]
    checked = {entry.package for entry in counted if entry.state not in UNCHECKED}
    return sorted({entry.package for entry in counted} - checked)


def judge_entries_of_upgrade(
    entries: Sequence[Entry], min_coverage: float = MIN_COVERAGE, fail_on: str = FAIL_ON
) -> UpgradeVerdict:
    """Return the verdict on a list of entries.

    Args:
        min_coverage: smallest share of ``Coverage`` for exit code 0, between 0 and 1.
        fail_on: the best verdict whose exit code is not 0.
    """
    words = {entry.verdict for entry in entries}
    trainings = [e for e in entries if e.kind in (TRAINING, SCRIPT) and e.affects_verdict]
    nothing_ran = trainings and all(training.state in UNCHECKED for training in trainings)
    counting = [entry for entry in entries if entry.affects_verdict]
    cut = counting and all(entry.was_out_of_time for entry in counting)
    if nothing_ran or cut or list_packages_without_comparison(entries):
        words.add(COULD_NOT_JUDGE)
    verdict = min(words, key=ORDER.index, default=UNCHANGED)
    checked = measure_coverage_of_entries(entries)
    code = 0
    if ORDER.index(verdict) <= ORDER.index(fail_on):
        code = _CODES.get(verdict, 3)
    elif checked.share < min_coverage and ORDER.index(fail_on) >= ORDER.index(COULD_NOT_JUDGE):
        code = _CODES[COULD_NOT_JUDGE]
    counts = Counter(entry.state for entry in entries)
    headline = _compose_headline(verdict, entries, checked)
    if code and ORDER.index(verdict) > ORDER.index(fail_on):
        headline += (
            f" Not enough for exit code 0: {checked.share:.0%} of the changed pieces were executed "
            f"and compared, less than --min-coverage, {min_coverage:.0%}."
        )
    return UpgradeVerdict(
        verdict=verdict,
        headline=headline,
        exit_code=code,
        coverage=checked,
        states={state: counts[state] for state in STATES if counts[state]},
        share=_format_checked_share(entries, checked),
    )


def mark_accepted_entries(
    entries: Iterable[Entry], reviewed: Mapping[str, str]
) -> tuple[Entry, ...]:
    """Return the entries, with those marked as accepted that a user has reviewed.

    Args:
        reviewed: key of an entry -> why it is accepted.
    """
    return tuple(
        replace(entry, accepted=reviewed[entry.key]) if entry.key in reviewed else entry
        for entry in entries
    )


# -- words -----------------------------------------------------------------------------------------


def _format_checked_share(entries: Sequence[Entry], checked: Coverage) -> str:
    lost = [
        e for e in entries if e.affects_verdict and e.kind not in CHANGES and e.state in UNCHECKED
    ]
    if not lost and checked.checked == checked.all:
        return ""
    without = f"{len(lost)} check{'s' if len(lost) > 1 else ''} without a result" if lost else ""
    return ", ".join(filter(None, (str(checked) if checked.all else "", without)))


def _compose_headline(verdict: str, entries: Sequence[Entry], checked: Coverage) -> str:
    if verdict == UNCHANGED:
        if not checked.all:
            return f"{UNCHANGED}: nothing that has an effect differs"
        return f"{UNCHANGED}: {checked} with the same results"
    counted = [entry for entry in entries if entry.affects_verdict]
    parts = [
        _join_first_names(names)
        if title.lower() == verdict
        else f"{title}: {_join_first_names(names)}"
        for title, names in _list_titles_of_differences(counted)
    ]
    share = str(checked) if checked.all else ""
    if not parts and checked.checked + checked.in_part:
        parts.append(f"No difference found in what ran: {share}")
    elif checked.checked < checked.all:
        parts.append(share)
    never: dict[str, list[str]] = {}
    for entry in counted:
        if entry.kind in CODE and entry.state == NEVER:
            never.setdefault(choose_title_of_unexecuted_entry(entry), []).append(entry.headline)
    parts += [
        f"{title}: {_join_first_names(names)}"
        for title, names in (
            *never.items(),
            ("Compared in part", _list_headlines_of_kinds(counted, (TRAINING, SCRIPT), (IN_PART,))),
            ("Ran in part", _list_headlines_of_kinds(counted, CODE, (IN_PART,))),
            ("Ran, but not compared", _list_headlines_of_kinds(counted, CODE, (NOT_COMPARED,))),
            ("Cannot run here", _list_headlines_of_kinds(counted, CODE, (CANNOT,))),
            ("Packages of which no change was compared", list_packages_without_comparison(entries)),
            ("Not checked", _list_headlines_of_kinds(counted, _NOT_CODE, UNCHECKED)),
            ("Accepted", [entry.headline for entry in entries if entry.accepted]),
        )
        if names
    ]
    return f"{verdict}: {'. '.join(parts)}." if parts else verdict


_NOT_CODE = tuple(kind for kind in KINDS if kind not in CODE)


def _list_titles_of_differences(entries: Sequence[Entry]) -> list[tuple[str, list[str]]]:
    """Return titles and names of the differences, the worst first."""
    violated = [entry for entry in entries if entry.verdict == REGRESSED]
    checks = (DETAIL, TRAINING, SCRIPT, ENVIRONMENT, DEFAULT)
    saved = [e for e in entries if e.kind == SAVED and e.state == DIFFERS]
    files = {why: [e.headline for e in saved if e.reason.startswith(why)]
             for why in (OLD_FILES, LOADED_ALIKE)}  # fmt: skip
    retyped = [entry for entry in entries if entry.reason.startswith(OTHER_TYPES)]
    writing = [entry for entry in entries if entry.reason.startswith(WRITES_OTHERWISE)]
    named = _collect_headlines([*violated, *retyped, *writing])
    lost, alike = files[OLD_FILES], files[LOADED_ALIKE]
    rows = [
        ("Regressed", [entry.headline for entry in violated]),
        ("The new version fails",
        _list_headlines_of_kinds(entries, (TRAINING, SCRIPT), (NEW_FAILS,))),
        (OTHER_TYPES.capitalize(), [f"{entry.headline} ({entry.reason.partition(': ')[2]})"
                                    for entry in retyped[:1]] + [e.headline for e in retyped[1:]]),
        ("Differ",
        [n for n in _list_headlines_of_kinds(entries, checks, (DIFFERS,)) if n not in named]),
        ("Train the same, and write otherwise", [entry.headline for entry in writing]),
        ("Culprit", [entry.headline for entry in entries if entry.culprit]),
        ("Differ when called", [entry.headline for entry in entries if entry.kind in CODE
                                and (entry.state == BEYOND
                                     or (entry.state == DIFFERS and entry.reason))]),
        ("Differ in logs only", _list_headlines_of_kinds(entries, (TRAINING, SCRIPT), (LOGS,))),
        ("Removed or incompatible", _list_headlines_of_kinds(entries, (PUBLIC,), (DIFFERS,))),
        (OLD_FILES.capitalize(), lost),
        ("Saved files differ", [e.headline for e in saved if e.headline not in lost + alike]),
        ("Saved files load alike, then training differs", alike),
        ("No longer installed", _list_uninstalled_packages_required_first(entries)),
        ("Requirements", [entry.summary for entry in entries if entry.kind == REQUIREMENT
                          and entry.state == DIFFERS and not is_requirement_gone(entry)]),
        ("New warnings", _list_headlines_of_kinds(entries, (WARNING,), (LOGS,))),
        ("Differ by rounding only",
        _list_headlines_of_kinds(entries, (TRAINING, SCRIPT), (CLOSE,))),
        ("Repaired", _list_headlines_of_kinds(entries, (TRAINING, SCRIPT), (OLD_FAILED,))),
    ]  # fmt: skip
    return [(title, names) for title, names in rows if names]


def is_requirement_gone(entry: Entry) -> bool:
    """Return whether the new version no longer installs a requirement."""
    return entry.kind == REQUIREMENT and entry.summary.startswith(GONE)


def _list_uninstalled_packages_required_first(entries: Sequence[Entry]) -> list[str]:
    """Return packages that are gone: the required ones, then those that only these required."""
    required = [e.name for e in entries if is_requirement_gone(e)]
    return [*required, *_list_headlines_of_kinds(entries, (PACKAGE,), (DIFFERS,))]


def _collect_headlines(entries: Iterable[Entry]) -> set[str]:
    return {entry.headline for entry in entries}


def _list_headlines_of_kinds(
    entries: Iterable[Entry], kinds: Collection[str], states: Collection[str]
) -> list[str]:
    return [entry.headline for entry in entries if entry.kind in kinds and entry.state in states]


def _join_first_names(names: Sequence[str]) -> str:
    unique = list(dict.fromkeys(names))
    ending = f" and {len(unique) - _NAMED} more" if len(unique) > _NAMED else ""
    return ", ".join(unique[:_NAMED]) + ending
