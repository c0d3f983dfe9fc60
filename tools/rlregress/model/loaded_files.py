"""Results for one kind of file that one version wrote and the other loaded, as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

#: how the words on a file begin whose content is loaded alike, and of which only what the framework
#: does with it differs.
LOADED_ALIKE = "the file loads the same"


@dataclass(frozen=True, kw_only=True)
class LoadError:
    """An error of writing or loading a file.

    Attributes:
        when: "write", "load", "use" of what was loaded, or "start", where the process ended.
        error: type and message.
        at: file, line and function of the framework.
    """

    when: str
    error: str
    at: str = ""

    def __str__(self) -> str:
        return f"{self.error} at {self.at}" if self.at else self.error


@dataclass(frozen=True, kw_only=True)
class LoadedFile:
    """A kind of file that one version wrote, loaded by both.

    The version that wrote it is the reference: what it does not repeat itself is not compared.

    Attributes:
        name: of the kind, such as "sac model".
        way: the functions that write and read it.
        newer: the new version wrote it, and the old one loads it.
        trusted: the version that wrote it loads its own only where PyTorch is told to trust them.
        compared: items that were compared.
        unstable: items that the version that wrote it does not repeat itself.
        differing: how many of the compared items differ.
        rounding: they are computed from what was loaded, and differ by rounding.
        item: the first of them, with its words as the writer and as the other version loads it.
        function: of the framework, where the first item comes from.
        own_error: the version that wrote it cannot write, load or use it.
        error: the other version cannot load or use it.
        played: what its agent reached in the episodes that it played with both versions, in words;
            empty: it played none.
        unsupported: why the version that wrote it has no such file; empty: it has.
    """

    name: str
    way: str = ""
    newer: bool = False
    trusted: bool = False
    compared: int = 0
    unstable: tuple[str, ...] = ()
    differing: int = 0
    rounding: bool = False
    item: str = ""
    writer: str = ""
    reader: str = ""
    function: str = ""
    own_error: LoadError | None = None
    error: LoadError | None = None
    unsupported: str = ""
    played: str = ""

    @property
    def words(self) -> str:
        """The first difference in one clause."""
        later = self.item.startswith(("next update", "continued training"))
        before = f"{LOADED_ALIKE}; " if later else ""
        versions = f"{self.writer} -> {self.reader}"
        ending = f" (and {self.differing - 1} more)" if self.differing > 1 else ""
        return f"{before}{self.item}, {self.function}: {versions}{ending}"


@dataclass(frozen=True, kw_only=True)
class StoredFile:
    """The result for a file of ``baselines/saved`` with the installed packages.

    Attributes:
        name: of the kind.
        release: that wrote it.
        file: what differs beside the items that are expected to; None: it was not loaded.
        error_expected: that it does not load is known.
        expected: known differences that are there, in words.
        gone: known differences that are not.
        refused: why it was not loaded; it is not the file that was recorded.
        skipped: why it cannot be loaded here.
    """

    name: str
    release: str
    file: LoadedFile | None = None
    expected: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    error_expected: bool = False
    refused: str = ""
    skipped: str = ""

    @property
    def failure(self) -> str:
        """Description of everything that is not as recorded or expected; empty if nothing."""
        if self.refused:
            return f"refused: {self.refused}"
        if self.file is None:
            return ""
        problems = []
        if self.file.error is not None and not self.error_expected:
            when = "does not load" if self.file.error.when == "load" else "loads, and then fails"
            problems.append(f"{when}: {self.file.error}")
        if self.file.differing and not self.file.rounding:
            problems.insert(0, self.file.words)
        if self.file.error is None and not self.file.compared and not self.expected:
            problems.append("nothing of it was compared")
        problems += [f"no longer differs as documented: {why}" for why in self.gone]
        return "; ".join(problems)

    @property
    def state(self) -> str:
        """In words, where nothing failed."""
        if self.skipped:
            return f"not loaded: {self.skipped}"
        if self.expected:
            lost = self.file is not None and self.file.error is not None
            how = "does not load" if lost else "differs"
            return f"{how}, as documented: {'; '.join(self.expected)}"
        return "close: rounding" if self.file is not None and self.file.rounding else "same"


def by_release(files: Sequence[StoredFile]) -> list[str]:
    """One clause for each outcome of the files of a kind, with the releases that wrote them.

    Failures come first, and then what could not be loaded.
    """
    texts: dict[str, list[str]] = {}
    for file in sorted(files, key=lambda file: (not file.failure, not file.skipped)):
        texts.setdefault(file.failure or file.state, []).append(file.release)
    return [f"{text} ({_releases(releases)})" for text, releases in texts.items()]


def _releases(names: Sequence[str]) -> str:
    return (
        ", ".join(names) if len(names) < 3 else f"{len(names)} releases, {names[0]} to {names[-1]}"
    )
