"""What is documented: the files of ``baselines/details/<framework>/``, loaded and validated.

A file is a list of ``[[detail]]`` tables, each with ``id``, ``scope``, ``variant``, ``since`` (the
first version it is stated for) and ``source``, and optionally ``until`` (the first version for
which it no longer holds) and ``note``; all are strings. ``deviation`` marks a known deviation, a
behaviour that is pinned although nobody wants it, and says whom it hurts; ``upstream`` links to
where it is discussed. ``code`` is the line that decides the detail, ``"file: fragment"``. After an
entry stand the faults that prove it, in ``[[fault]]`` tables: see ``rlregress.gate.faults``.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from packaging.version import InvalidVersion, Version

from rlregress.details import catalogue
from rlregress.errors import UserError, nearest

_REQUIRED = ("id", "scope", "variant", "since", "source")
_OPTIONAL = ("until", "note", "deviation", "upstream", "code")
#: what the tables of a file are called.
_TABLES = ("detail", "fault")

#: (detail id, scope)
Cell = tuple[str, str]


@dataclass(frozen=True)
class Expectation:
    """One entry: in [since, until) the detail is the variant, in that scope."""

    id: str
    scope: str
    variant: str
    since: str
    source: str
    until: str | None = None
    note: str = ""
    deviation: str = ""
    upstream: str = ""
    code: str = ""
    path: Path | None = None
    line: int | None = None

    @property
    def cell(self) -> Cell:
        """(detail id, scope)."""
        return self.id, self.scope

    def holds_for(self, version: str) -> bool:
        """Whether the version lies in [since, until)."""
        asked = Version(version)
        return Version(self.since) <= asked and (self.until is None or asked < Version(self.until))


def load(path: Path) -> tuple[Expectation, ...]:
    """The entries of a file, or of all TOML files of a folder in the order of their names.

    Raises:
        UserError: the file is missing, is not TOML, or an entry has a missing, unknown or
            ill-typed key, an unknown detail or variant, an empty range of versions, or overlaps
            with another entry of the same detail and scope.
    """
    path = Path(path)
    files = sorted(path.glob("*.toml")) if path.is_dir() else [path]
    if not files:
        raise UserError(f"{path} holds no expectations; expected a TOML file for each family")
    entries = tuple(
        _entry(file, table, line) for file in files for line, table in tables(file, "detail")
    )
    _no_overlap(entries)
    return entries


def tables(path: Path, name: Literal["detail", "fault"]) -> list[tuple[int | None, dict[str, Any]]]:
    """The tables of one name in a file, each with the line of its header where that is known.

    Raises:
        UserError: the file cannot be read or is not TOML, or holds anything but lists of tables
            with the two names.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(
            f"cannot read the expectations in {path}: {error}; expected a TOML file"
        ) from None
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"{path} is not valid TOML: {error}; mend that place") from None
    unknown = sorted(set(data) - set(_TABLES))
    if unknown:
        raise UserError(
            f"{path}: unknown key '{unknown[0]}' at the top level; expected [[detail]] and "
            f"[[fault]] tables only"
        )
    found = data.get(name, [])
    if not isinstance(found, list) or not all(isinstance(table, dict) for table in found):
        raise UserError(f"{path}: '{name}' is not a list of tables; write each as [[{name}]]")
    header = re.compile(rf"^\s*\[\[\s*{name}\s*\]\]")
    lines = [n for n, row in enumerate(text.splitlines(), start=1) if header.match(row)]
    numbered = lines if len(lines) == len(found) else [None] * len(found)
    return list(zip(numbered, found, strict=True))


def place(path: Path | None, name: Literal["detail", "fault"], line: int | None) -> str:
    """Where a table stands, in words."""
    return f"{path}, [[{name}]] at line {line}" if line is not None else f"{path}, a [[{name}]]"


def _entry(path: Path, table: dict, line: int | None) -> Expectation:
    where = place(path, "detail", line)
    for key in table:
        if key not in _REQUIRED + _OPTIONAL:
            clause = nearest(key, [*_REQUIRED, *_OPTIONAL])
            raise UserError(f"{where}: unknown key '{key}'; {clause}")
        if not isinstance(table[key], str) or not (table[key].strip() or key == "note"):
            raise UserError(
                f"{where}: key '{key}' is {table[key]!r}, expected text in quotes that is not empty"
            )
    for key in _REQUIRED:
        if key not in table:
            raise UserError(f"{where}: key '{key}' is missing; expected {', '.join(_REQUIRED)}")
    try:
        detail = catalogue.get(table["id"])
    except UserError as error:
        raise UserError(f"{where}: key 'id': {error}") from None
    if table["variant"] not in detail.variants:
        raise UserError(
            f"{where}: key 'variant': '{detail.id}' has no variant '{table['variant']}'; "
            f"expected one of {', '.join(detail.variants)}"
        )
    for key in ("since", "until"):
        try:
            Version(table.get(key, "0"))
        except InvalidVersion:
            raise UserError(
                f"{where}: key '{key}' is '{table[key]}', expected a version as in '2.9.2'"
            ) from None
    file, separator, fragment = table.get("code", "file: fragment").partition(": ")
    if not (file.strip() and separator and fragment.strip()):
        raise UserError(
            f"{where}: key 'code' is {table['code']!r}, expected the file and a fragment of its "
            f"line as in 'package/file.py: fragment'"
        )
    if "until" in table and Version(table["until"]) <= Version(table["since"]):
        raise UserError(
            f"{where}: no version lies between since '{table['since']}' and until "
            f"'{table['until']}'; until is the first version that the entry no longer holds for"
        )
    return Expectation(**table, path=path, line=line)


def _no_overlap(entries: Iterable[Expectation]) -> None:
    by_cell: dict[Cell, list[Expectation]] = {}
    for entry in entries:
        for earlier in by_cell.setdefault(entry.cell, []):
            first, second = sorted((earlier, entry), key=lambda e: Version(e.since))
            if first.until is None or Version(second.since) < Version(first.until):
                raise UserError(
                    f"{place(entry.path, 'detail', entry.line)}: '{entry.id}' in scope "
                    f"'{entry.scope}' is a duplicate: the entry at line {earlier.line} holds for "
                    f"some of the same versions; give the older one an until, or remove one of "
                    f"the two"
                )
        by_cell[entry.cell].append(entry)


def for_version(entries: Iterable[Expectation], version: str) -> dict[Cell, Expectation]:
    """The entry of every (detail, scope) whose range holds the version.

    Raises:
        UserError: the version cannot be read.
    """
    try:
        Version(version)
    except InvalidVersion:
        raise UserError(f"'{version}' is not a version; expected one as in '2.9.2'") from None
    return {entry.cell: entry for entry in entries if entry.holds_for(version)}


def stale(
    entries: Collection[Expectation], probed: Collection[Cell], version: str
) -> dict[Expectation, str]:
    """Entries that say nothing any more, each with the reason in words.

    An entry is stale if no probe exists for its detail and scope, or if its range does not hold the
    version and no other entry of the same detail and scope takes its place. An entry of the past
    with a successor is history, not stale.
    """
    current = for_version(entries, version)
    found = {}
    for entry in entries:
        name = f"{entry.id} ({entry.scope}, {entry.variant})"
        if entry.cell not in probed:
            found[entry] = f"{name}: never matched: no probe asks for this detail in this scope"
        elif entry.cell not in current:
            until = f"until {entry.until}" if entry.until else "on"
            found[entry] = (
                f"{name}: stated from {entry.since} {until}, and no entry holds for {version}"
            )
    return found


def missing(
    entries: Iterable[Expectation], probed: Iterable[Cell], version: str
) -> tuple[Cell, ...]:
    """Probed (detail, scope) for which nothing is documented at this version, sorted."""
    return tuple(sorted(set(probed) - set(for_version(entries, version))))
