"""Results for one kind of file that one version wrote and the other loaded, as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

#: begin of the words on a file whose content loads the same, and only its use differs
LOADED_ALIKE = "the file loads the same"


@dataclass(frozen=True, kw_only=True)
class LoadError:
    """An error of writing or loading a file.

    Attributes:
        when: "write", "load", "use" of the loaded object, or "start" if the process ended.
        error: type and message.
        at: file, line and function that raised it.
        raised_by_framework: whether the framework raised it, with a file that the suite made.
    """

    when: str
    error: str
    at: str = ""
    raised_by_framework: bool = False

    def __str__(self) -> str:
        return f"{self.error} at {self.at}" if self.at else self.error


@dataclass(frozen=True, kw_only=True)
class LoadedFile:
    """A kind of file that one version wrote, loaded by both.

    The version that wrote it, the writer, is the reference. Items that differ when the writer loads
    the file twice are not compared.

    Attributes:
        name: name of the kind, such as "sac model".
        way: the functions that write and read it.
        trusted: whether the writer loads its own files only if PyTorch may unpickle anything.
        compared: number of compared items.
        unstable: items that the writer does not load twice the same.
        differing: number of compared items that differ.
        rounding: whether the items are computed from the file and differ by rounding.
        item: the first differing item.
        writer, reader: this item, in words, as the writer and as the other version loads it.
        function: the function of the framework that the item comes from.
        own_error: the error of the writer on writing, loading or using it.
        error: the error of the other version on loading or using it.
        unsupported: why the writer has no such file; empty: it has.
        played: returns of its agent in episodes with both versions, in words; empty: none.
    """

    name: str
    way: str = ""
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
    def fails_to_load_alike(self) -> bool:
        """Whether both versions fail to load it, by the same error of the framework."""
        own_error, error = self.own_error, self.error
        if own_error is None or error is None or own_error.error != error.error:
            return False
        is_alike = own_error.when == error.when == "load"
        return is_alike and own_error.raised_by_framework and error.raised_by_framework

    @property
    def first_difference_text(self) -> str:
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
        name: name of the kind.
        release: the release that wrote it.
        file: the result without expected differences; None: it was not loaded.
        expected: known differences that occurred, in words.
        gone: known differences that did not occur.
        error_expected: whether the file is known not to load.
        refused: why the file is not the recorded one, and was not loaded.
        skipped: why the file cannot be loaded in this environment.
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
            problems.insert(0, self.file.first_difference_text)
        if self.file.error is None and not self.file.compared and not self.expected:
            problems.append("nothing of it was compared")
        problems += [f"no longer differs as documented: {why}" for why in self.gone]
        return "; ".join(problems)

    @property
    def outcome_in_words(self) -> str:
        """The result in words, if nothing failed."""
        if self.skipped:
            return f"not loaded: {self.skipped}"
        if self.expected:
            lost = self.file is not None and self.file.error is not None
            how = "does not load" if lost else "differs"
            return f"{how}, as documented: {'; '.join(self.expected)}"
        return "close: rounding" if self.file is not None and self.file.rounding else "same"


def describe_outcomes_by_release(files: Sequence[StoredFile]) -> list[str]:
    """Return a clause for each outcome of files of one kind, with the releases that wrote them.

    Failures come first, then files that could not be loaded.
    """
    texts: dict[str, list[str]] = {}
    for file in sorted(files, key=lambda file: (not file.failure, not file.skipped)):
        texts.setdefault(file.failure or file.outcome_in_words, []).append(file.release)
    return [f"{text} ({_format_releases(releases)})" for text, releases in texts.items()]


def _format_releases(names: Sequence[str]) -> str:
    return (
        ", ".join(names) if len(names) < 3 else f"{len(names)} releases, {names[0]} to {names[-1]}"
    )
