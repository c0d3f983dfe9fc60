"""Sets of versions on which old releases run: ``baselines/stacks``.

The declared ranges of old releases are no help: some exclude what works, others admit what was
published years later and breaks them.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from rlregress import suite
from rlregress.errors import UserError
from rlregress.training.budgets import suggestion

_KEYS = ("package", "since", "until", "requires", "build", "note")


@dataclass(frozen=True)
class Stack:
    """What releases of a package run on.

    Attributes:
        since: first release.
        until: first release that it does not hold for any more; None: it holds for all later ones.
        requires: requirements that are met unless the user pins the same package.
        build: versions of the tools that build a package which is published as source only.
    """

    package: str
    since: Version
    until: Version | None
    requires: tuple[str, ...]
    build: tuple[str, ...]
    note: str

    def holds(self, package: str, version: str) -> bool:
        """Whether it is meant for this release."""
        try:
            release = Version(version)
        except InvalidVersion:
            return False
        later = self.until is not None and release >= self.until
        return package == self.package and release >= self.since and not later


@dataclass(frozen=True)
class Defaults:
    """What some pins bring with them.

    Attributes:
        rows: requirements beside the pins.
        notes: in words, which and for what.
    """

    rows: tuple[str, ...] = ()
    build: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def name_of(row: str) -> str:
    """The canonical name of a requirement's package."""
    return str(canonicalize_name(Requirement(row).name))


def defaults(pins: Iterable[str], known: Iterable[Stack] | None = None) -> Defaults:
    """What stands with some pins, by the stacks; a package that is pinned is left as it is.

    Raises:
        UserError: an entry of the data is wrong.
    """
    known = stacks() if known is None else list(known)
    pinned = {name_of(row): str(next(iter(Requirement(row).specifier), "")) for row in pins}
    rows: dict[str, str] = {}
    build: dict[str, str] = {}
    notes = []
    for package, specifier in sorted(pinned.items()):
        version = specifier.lstrip("=")
        for stack in (stack for stack in known if stack.holds(package, version)):
            added = {name_of(r): r for r in stack.requires if name_of(r) not in pinned}
            rows.update(added)
            build.update({name_of(row): row for row in stack.build})
            if added:
                why = f": {stack.note}" if stack.note else ""
                notes.append(f"{', '.join(added.values())} for {package} {version}{why}")
    return Defaults(tuple(rows.values()), tuple(build.values()), tuple(notes))


def stacks(folder: Path | None = None) -> list[Stack]:
    """All stacks of the suite, in the order of their files.

    Raises:
        UserError: an entry of the data is wrong.
    """
    if folder is None:
        try:
            folder = suite.baselines() / "stacks"
        except UserError:
            # installed without the suite
            return []
    return [stack for path in sorted(folder.glob("*.toml")) for stack in _of_file(path)]


def _of_file(path: Path) -> list[Stack]:
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(f"{path} cannot be read: {error}; expected a TOML file") from None
    entries = content.get("stack")
    if set(content) != {"stack"} or not isinstance(entries, list):
        raise UserError(f"{path} holds {sorted(content)}, expected tables [[stack]] only")
    return [_of_entry(f"{path}: stack {n}", entry) for n, entry in enumerate(entries, start=1)]


def _of_entry(where: str, entry: Any) -> Stack:
    if not isinstance(entry, dict):
        raise UserError(f"{where} is {entry!r}, expected a table")
    for key in entry:
        if key not in _KEYS:
            raise UserError(f"{where} has the unknown key '{key}'{suggestion(key, list(_KEYS))}")
    for key in ("package", "since", "requires"):
        if key not in entry:
            raise UserError(f"{where} lacks the key '{key}'")
    since, until = (_version(where, key, entry.get(key)) for key in ("since", "until"))
    if since is None or (until is not None and until <= since):
        raise UserError(f"{where}: until is {entry['until']!r}, expected a release after {since}")
    package = _text(where, "package", entry["package"])
    return Stack(
        str(canonicalize_name(package)),
        since,
        until,
        _requirements(where, "requires", entry["requires"]),
        _requirements(where, "build", entry.get("build", [])),
        _text(where, "note", entry.get("note", "")),
    )


def _text(where: str, key: str, value: Any) -> str:
    if not isinstance(value, str):
        raise UserError(f"{where}: key '{key}' is {value!r}, expected a string")
    return value


def _version(where: str, key: str, value: Any) -> Version | None:
    if value is None:
        return None
    try:
        return Version(_text(where, key, value))
    except InvalidVersion:
        raise UserError(f"{where}: key '{key}' is {value!r}, expected a version") from None


def _requirements(where: str, key: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise UserError(f"{where}: key '{key}' is {value!r}, expected a list of requirements")
    for row in value:
        try:
            Requirement(_text(where, key, row))
        except InvalidRequirement:
            raise UserError(
                f"{where}: key '{key}' has {row!r}, expected a requirement such as 'numpy==1.26.4'"
            ) from None
    return tuple(value)
