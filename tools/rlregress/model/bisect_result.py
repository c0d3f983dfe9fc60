"""The result of a bisection, as plain data."""

from __future__ import annotations

from dataclasses import dataclass

#: outcomes: one version, a range of versions, or both ends are the same
FOUND, RANGE, SAME = "found", "range", "no difference"


@dataclass(frozen=True, kw_only=True)
class ChangedFunction:
    """A function that explains a step.

    Attributes:
        place: file, line and name.
        lines: the differing lines, each with "-" or "+" before it.
    """

    place: str
    lines: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class SymptomChange:
    """The step at which a symptom changed: from one version to the next that can be checked.

    Attributes:
        old, new: the two versions.
        values: values of the symptom in the old and in the new version.
        package: the package that changed; "" for commits.
        date: date of the new version; "" if unknown.
        between: versions between these that could not be checked; one of them may have the change.
        first: the first difference of two traces, line by line.
        culprit: results of reverting functions, in words.
        functions: the functions that explain the change, or all that differ.
        explains: whether ``functions`` explain it.
        changelog: entries of changelogs on it, with their sources.
        unexplained: why the change could not be explained; empty: it could.
        apart: a note that the two versions run with different packages, which may be the cause.
        merged: a note on a commit that merges a branch which began before OLD.
        back: whether OLD is the newer version; then ``old`` made the change.
    """

    old: str
    new: str
    values: tuple[str, str]
    package: str = ""
    date: str = ""
    between: tuple[str, ...] = ()
    first: tuple[str, ...] = ()
    culprit: tuple[str, ...] = ()
    functions: tuple[ChangedFunction, ...] = ()
    explains: bool = False
    changelog: tuple[str, ...] = ()
    unexplained: str = ""
    apart: str = ""
    merged: str = ""
    back: bool = False


@dataclass(frozen=True, kw_only=True)
class BisectResult:
    """The result of a whole search.

    Attributes:
        ends: the requested versions.
        values: values of the symptom in both ends.
        together: packages that only together change the symptom; for one package, its name.
        candidates: number of versions between the ends, ends included.
        checked: number of measured versions, ends included.
        skipped: version -> why it could not be checked.
        apart: version -> its packages, if it cannot run with those that both ends share.
        unsearched: sentences on what was not searched or compared.
        why: the message of both versions, if the same command failed in both.
    """

    symptom: str
    ends: tuple[str, str]
    values: tuple[str, str]
    steps: tuple[SymptomChange, ...] = ()
    together: tuple[str, ...] = ()
    candidates: int = 2
    checked: int = 2
    skipped: tuple[tuple[str, str], ...] = ()
    apart: tuple[tuple[str, str], ...] = ()
    unsearched: tuple[str, ...] = ()
    why: str = ""

    @property
    def verdict(self) -> str:
        """``FOUND``; ``RANGE``: versions or packages of a step are undecided; ``SAME``: no step."""
        if not self.steps:
            return SAME
        return RANGE if any(step.between or step.apart for step in self.steps) else FOUND

    @property
    def exit_code(self) -> int:
        """0 for ``FOUND``, 3 for ``RANGE``, 2 for ``SAME``."""
        return {FOUND: 0, RANGE: 3, SAME: 2}[self.verdict]
