"""Pieces of code that differ between two versions, and their lines side by side."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

#: how a piece differs; of ``WORDING`` the code does the same, of ``MOVED`` it is in another file.
CHANGED, ADDED, REMOVED, MOVED, WORDING = "changed", "added", "removed", "moved", "wording"
#: code that runs when a module is imported, and when a class is made.
MODULE, BODY = "<module>", "<class>"


@dataclass(frozen=True, kw_only=True)
class Function:
    """One function of a source file.

    Attributes:
        name: qualified: "SAC.train"; ``MODULE`` and "<class> Name" for what runs at import.
        first, last: lines.
        code: what it does, without docstrings, annotations and messages.
        spoken: the same with messages.
        whole: the same with all of them.
        defines: functions and classes that it defines, in order, each with its block.
        acts: its definition does more than give it a name, such as by a decorator.
    """

    name: str
    first: int
    last: int
    code: str
    spoken: str = ""
    whole: str = ""
    defines: tuple[str, ...] = ()
    acts: bool = False


@dataclass(frozen=True, kw_only=True)
class Changed:
    """A piece of code that is not the same in both versions.

    Attributes:
        file: below the folder of its package; in the new version, if it has moved.
        how: ``CHANGED``, ``ADDED`` (only in the new version), ``REMOVED`` (only in the old one),
            ``MOVED`` (the same code in another file) or ``WORDING``.
        old, new: the function on either version; None where that has none.
        paths: of the file on either side.
        was: its file on the old version, if it has moved.
        within: whether it is a method of a class that both sides have: without a word of a changed
            function it takes the place of another method, or leaves its place to one.
        awaited: only the new version has it, and code of the old version names it.
    """

    file: str
    name: str
    how: str
    old: Function | None
    new: Function | None
    paths: tuple[Path | None, Path | None]
    was: str = ""
    within: bool = False
    awaited: bool = False

    def file_on(self, version: str) -> str:
        """Return its file on the "old" or the "new" version."""
        return self.was if version == "old" and self.was else self.file

    @property
    def counts(self) -> bool:
        """Return whether an upgrade could change users' results by this.

        What is new, or gone, is only reached through a function that has changed, or by code that
        fits one version alone.
        """
        return self.how in (CHANGED, MOVED) or (self.within and self.how != WORDING)

    @property
    def key(self) -> tuple[str, str]:
        """File and name."""
        return self.file, self.name

    @property
    def at_import(self) -> bool:
        """Return whether it runs when its module is imported."""
        return self.name.startswith("<")

    @property
    def place(self) -> str:
        """``file:line``, on the new version if it is there."""
        lines = self.new or self.old
        return f"{self.file}:{lines.first if lines else 0}"

    def __str__(self) -> str:
        return f"{self.place} {self.name}"


@dataclass(frozen=True, kw_only=True)
class Pair:
    """One row: a line of either version, with its number from 1; None where one has nothing."""

    old: tuple[int, str] | None
    new: tuple[int, str] | None

    @property
    def same(self) -> bool:
        """Return whether both lines have the same text."""
        return self.old is not None and self.new is not None and self.old[1] == self.new[1]


@dataclass(frozen=True, kw_only=True)
class Hunk:
    """The differing lines of one function or file.

    Attributes:
        title: the function, or the file.
        groups: rows that follow each other; between two groups lines are left out.
        left_out: rows that differ and are not shown.
        links: where the file of either version is published; empty: it is no released one.
    """

    title: str
    groups: tuple[tuple[Pair, ...], ...]
    left_out: int = 0
    links: tuple[str, str] = ("", "")

    @property
    def differing(self) -> list[Pair]:
        """The rows that differ, without those around them."""
        return [row for group in self.groups for row in group if not row.same]

    @property
    def first_line(self) -> int | None:
        """Number of the first line of the second version that the first one does not have."""
        return next((row.new[0] for row in self.differing if row.new is not None), None)

    def shortened(self, most: int) -> Hunk:
        """Return the first rows that differ, without those around them."""
        rows = self.differing
        left_out = self.left_out + len(rows[most:])
        return replace(self, groups=(tuple(rows[:most]),) if rows else (), left_out=left_out)
