"""What ``--from`` and ``--to`` may be: requirements, a working tree, a lock file, or nothing."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from rlregress.errors import UserError

INSTALLED = "installed"
_IGNORED = {".git", "__pycache__", ".venv", "node_modules"}


@dataclass(frozen=True)
class Wanted:
    """One side as it was asked for.

    Attributes:
        text: as given.
        requirements: canonical, sorted; empty for a tree and for what is installed.
        tree: a working tree of a framework.
        lock: a file of pinned requirements.
    """

    text: str
    requirements: tuple[str, ...] = ()
    tree: Path | None = None
    lock: Path | None = None

    @property
    def packages(self) -> frozenset[str]:
        """Canonical names of the packages that it pins."""
        return frozenset(canonicalize_name(Requirement(r).name) for r in self.requirements)

    @property
    def key(self) -> str:
        """What decides the content of this side, as a digest."""
        digest = hashlib.sha256("\n".join(self.requirements).encode())
        if self.tree is not None:
            for path in _sources(self.tree):
                digest.update(str(path.relative_to(self.tree)).encode())
                digest.update(path.read_bytes())
        return digest.hexdigest()[:16]


def _sources(tree: Path) -> list[Path]:
    found = []
    for folder, folders, files in os.walk(tree):
        folders[:] = sorted(set(folders) - _IGNORED)
        found += [Path(folder) / name for name in files if name.endswith(".py")]
    return sorted(found)


def parse(text: str) -> Wanted:
    """Read one side.

    Raises:
        UserError: it is neither a folder, a file, ``installed``, nor a list of pinned requirements.
    """
    given = text.strip()
    if given == INSTALLED:
        return Wanted(given)
    path = Path(given).expanduser()
    if given and path.is_dir():
        return Wanted(given, tree=path.resolve())
    if given and path.is_file():
        lines = [line.partition("#")[0].strip() for line in path.read_text().splitlines()]
        rows = [line.partition(" --hash")[0].rstrip(" \\") for line in lines]
        return Wanted(
            given, _pinned([r for r in rows if r and not r.startswith("-")], given), lock=path
        )
    if not given or "/" in given:
        raise UserError(
            f"'{text}' is no folder and no file; expected requirements such as "
            f"'framework==2.7.1', a working tree, a lock file, or '{INSTALLED}'"
        )
    return Wanted(given, _pinned(given.replace(",", " ").split(), given))


def _pinned(rows: list[str], where: str) -> tuple[str, ...]:
    found = []
    for row in rows:
        try:
            requirement = Requirement(row)
        except InvalidRequirement:
            raise UserError(
                f"'{row}' in '{where}' is no requirement; expected one such as 'framework==2.7.1'"
            ) from None
        pins = [s for s in requirement.specifier if s.operator in ("==", "===")]
        if len(pins) != 1 and not requirement.url:
            raise UserError(
                f"'{row}' in '{where}' is not pinned to one version; "
                f"write {requirement.name}==<version>"
            )
        if requirement.marker is None or requirement.marker.evaluate():
            requirement.marker = None
            found.append(str(requirement))
    return tuple(sorted(found))
