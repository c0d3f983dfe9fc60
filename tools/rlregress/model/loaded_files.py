"""What became of a kind of file that one version wrote and the other loaded: plain data."""

from __future__ import annotations

from dataclasses import dataclass

#: how the words on a file begin whose content is loaded alike, and of which only what the framework
#: does with it differs.
LOADED_ALIKE = "what is loaded is the same"


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

    @property
    def words(self) -> str:
        """The first difference in one clause."""
        later = self.item.startswith(("next update", "continued training"))
        before = f"{LOADED_ALIKE}; " if later else ""
        versions = f"{self.writer} -> {self.reader}"
        more = f" (and {self.differing - 1} more)" if self.differing > 1 else ""
        return f"{before}{self.item}, {self.function}: {versions}{more}"
