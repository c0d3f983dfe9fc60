"""The result of a bisection, as plain data."""

from __future__ import annotations

from dataclasses import dataclass

#: what came of it: one version, a range of versions, or both ends are the same.
FOUND, RANGE, SAME = "found", "range", "no difference"


@dataclass(frozen=True, kw_only=True)
class ChangedFunction:
    """A function that explains a step.

    Attributes:
        place: file, line and name.
        lines: that differ, with "-" or "+" before each.
    """

    place: str
    lines: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class ChangedAt:
    """A step from one version to the next that can be checked.

    Attributes:
        package: what moved; "" for commits.
        old, new: the two versions; ``date`` is of the new one, "" if it is not known.
        between: versions that could not be checked, and may have brought it as well.
        values: of the symptom, in the old and in the new version.
        first: the first difference of two traces, line by line.
        culprit: in words, what reverting functions has shown.
        functions: those that explain it, or all that differ; ``explains`` says which.
        changelog: what is known of it from changelogs, with their sources.
        apart: in words, that both versions do not stand on the same: what differs may be of that.
        back: whether OLD is the newer version: then ``old`` brought it.
        merged: the commit merges a branch that left before OLD; in words, what is known of it.
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
class Bisected:
    """A whole search.

    Attributes:
        ends: the two versions that were given.
        values: of the symptom at both.
        together: packages that have to move together for it; of one package this is it.
        candidates: how many versions there are between the ends, ends included.
        checked: how many of them were measured, ends included.
        skipped: version -> why it could not be checked.
        apart: version -> what it stands on, as it cannot be checked on what both ends share.
        unsearched: in words, what was not searched or not compared.
        why: what both versions said, where the same command failed in both.
        error: the probability, at most, that a version is named wrongly; None: none by chance.
    """

    symptom: str
    ends: tuple[str, str]
    values: tuple[str, str]
    steps: tuple[ChangedAt, ...] = ()
    together: tuple[str, ...] = ()
    candidates: int = 2
    checked: int = 2
    skipped: tuple[tuple[str, str], ...] = ()
    apart: tuple[tuple[str, str], ...] = ()
    unsearched: tuple[str, ...] = ()
    why: str = ""
    error: float | None = None

    @property
    def verdict(self) -> str:
        """``FOUND``, ``RANGE`` or ``SAME``."""
        if not self.steps:
            return SAME
        return RANGE if any(step.between or step.apart for step in self.steps) else FOUND

    @property
    def exit_code(self) -> int:
        """0: found, 3: a range, 2: nothing to find."""
        return {FOUND: 0, RANGE: 3, SAME: 2}[self.verdict]
