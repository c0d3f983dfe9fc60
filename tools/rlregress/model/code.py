"""Pieces of code that differ between two versions, and their lines side by side."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

#: how a piece differs; ``WORDING``: only in texts and comments, ``CODE_MOVED``: in another file
CODE_CHANGED, ADDED, REMOVED, CODE_MOVED, WORDING = (
    "changed",
    "added",
    "removed",
    "moved",
    "wording",
)
#: code that runs when a module is imported, and when a class is created
MODULE, BODY = "<module>", "<class>"
#: why calls of a function whose own code is the same need not be repeated
SAME_VALUES = "the values that it reads are the same"


@dataclass(frozen=True, kw_only=True)
class Function:
    """One function of a source file.

    Attributes:
        name: qualified name, such as "SAC.train"; ``MODULE`` or "<class> Name" for code at import.
        first, last: its first and last line.
        code: its text without docstrings, annotations and messages.
        head: its kind, decorators and arguments, or bases; empty for a module.
        spoken: its text with messages.
        whole: its whole text.
        defines: functions and classes that it defines, in order, each with its block.
        acts: whether its definition has effects, such as a decorator that registers it.
    """

    name: str
    first: int
    last: int
    code: str
    head: str = ""
    spoken: str = ""
    whole: str = ""
    defines: tuple[str, ...] = ()
    acts: bool = False


@dataclass(frozen=True, kw_only=True)
class ChangedPiece:
    """A piece of code that is not the same in both versions.

    Attributes:
        file: below the folder of its package; in the new version, if it has moved.
        how: ``CODE_CHANGED``, ``ADDED`` (only in the new version), ``REMOVED`` (only in the old
            one), ``CODE_MOVED`` (the same code in another file) or ``WORDING``.
        old, new: the function in each version; None: that version does not have it.
        paths: paths of the file in the old and in the new version.
        was: its file on the old version, if it has moved.
        within: whether it is a method of a class that both have: it replaces an inherited method,
            or uncovers one, without any change in the functions that call it.
        awaited: whether only the new version has it, and code of the old version names it.
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

    def get_file_in_version(self, version: str) -> str:
        """Return the file of the piece in the "old" or the "new" version."""
        return self.was if version == "old" and self.was else self.file

    @property
    def can_change_results(self) -> bool:
        """Return whether this piece of code can change users' results.

        Changed and moved code can, and so can a method that is added to a class of both versions or
        removed from it. Other new or removed code is only executed through a changed function, or
        by code that fits one version only.
        """
        return self.how in (CODE_CHANGED, CODE_MOVED) or (self.within and self.how != WORDING)

    @property
    def key(self) -> tuple[str, str]:
        """File and name."""
        return self.file, self.name

    @property
    def entry_name(self) -> str:
        """File and name, as its entry is named."""
        return f"{self.file} {self.name}"

    @property
    def runs_at_import(self) -> bool:
        """Return whether the piece runs when its module is imported."""
        return self.name.startswith("<")

    @property
    def place(self) -> str:
        """``file:line``, in the new version if this has the piece."""
        lines = self.new or self.old
        return f"{self.file}:{lines.first if lines else 0}"

    def __str__(self) -> str:
        return f"{self.place} {self.name}"


@dataclass(frozen=True, kw_only=True)
class LinePair:
    """Two lines side by side, each with its number from 1; None: that version has no such line."""

    old: tuple[int, str] | None
    new: tuple[int, str] | None

    @property
    def is_same(self) -> bool:
        return self.old is not None and self.new is not None and self.old[1] == self.new[1]


@dataclass(frozen=True, kw_only=True)
class Hunk:
    """The differing lines of one function or file.

    Attributes:
        title: the function, or the file.
        groups: consecutive rows; between two groups lines are left out.
        left_out: number of differing rows that are not shown.
        links: address of the published file of each version; empty: it is not a release.
    """

    title: str
    groups: tuple[tuple[LinePair, ...], ...]
    left_out: int = 0
    links: tuple[str, str] = ("", "")

    @property
    def differing_rows(self) -> list[LinePair]:
        """The rows that differ, without those around them."""
        return [row for group in self.groups for row in group if not row.is_same]

    @property
    def first_changed_line(self) -> int | None:
        """Return where the second version first adds or changes a line; None: it only removes."""
        return next((row.new[0] for row in self.differing_rows if row.new is not None), None)

    def select_differing_rows(self, max_rows: int) -> Hunk:
        """Return the first differing rows, without the lines around them."""
        rows = self.differing_rows
        left_out = self.left_out + len(rows[max_rows:])
        return replace(self, groups=(tuple(rows[:max_rows]),) if rows else (), left_out=left_out)
