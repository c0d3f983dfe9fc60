"""Environments of the two sides: an overlay where only packages change, or one of their own.

Both are kept by their exact requirement set, so that they are made once.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from rlregress import frameworks
from rlregress.errors import UserError
from rlregress.frameworks.base import Adapter
from rlregress.tracing.run import Side, current_paths
from rlregress.upgrade import interpreters, making, needs
from rlregress.upgrade.wanted import Wanted

_TAG = sys.implementation.cache_tag or sys.implementation.name


@dataclass(frozen=True)
class Prepared:
    """One side, ready to run.

    Attributes:
        how: "installed", "tree", "overlay", "environment", "your environment", or an overlay on the
            environment of the other side.
        cached: it was there already.
        why: of an environment, in words, what kept it from being an overlay.
        notes: what does not fit together and is run all the same.
        capped: names of the packages that kept it from being an overlay.
    """

    wanted: Wanted
    side: Side
    how: str
    cached: bool = False
    why: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    capped: frozenset[str] = frozenset()

    @property
    def lines(self) -> list[str]:
        """In words: what this side is."""
        found = ", from the cache" if self.cached else ""
        asked = [] if self.how != "environment" else [f"  because {why}" for why in self.why]
        first = f"side {self.side.label}: {self.wanted.text} ({self.how}{found})"
        return [first, *asked, *(f"  although {note}" for note in self.notes)]


def prepare(
    label: str, wanted: Wanted, adapters: Sequence[Adapter], say: making.Say = making.silent
) -> Prepared:
    """Make a side, or find it.

    Raises:
        UserError: a version that does not exist, no network, a tree without a framework.
    """
    if wanted.environment is not None:
        return Prepared(wanted, _of_environment(label, wanted.environment), "your environment")
    if wanted.tree is not None:
        return Prepared(wanted, _of_tree(label, wanted.tree, adapters), "tree")
    # of a lock file, what the current environment has already is no part of the overlay
    rows = [r for r in wanted.requirements if wanted.lock is None or not needs.installed(r)]
    if not rows:
        return Prepared(wanted, Side(label, paths=current_paths()), "installed")
    if any(canonicalize_name(Requirement(row).name) == "torch" for row in rows):
        why = ["an overlay cannot hold another torch"]
        capped: frozenset[str] = frozenset()
    else:
        folder, cached = overlay(rows, say)
        unmet = needs.unmet(folder)
        if not unmet.capped:
            side = Side(label, paths=(str(folder), *current_paths()))
            notes = tuple(needs.against(folder, adapters))
            return Prepared(wanted, side, "overlay", cached, notes=notes)
        why, capped = list(unmet.capped), unmet.names
    folder, cached = environment(wanted, adapters, capped, say)
    python = str(folder / "bin" / "python")
    side = Side(label, python=python)
    return Prepared(wanted, side, "environment", cached, tuple(why), capped=capped)


def _of_environment(label: str, folder: Path) -> Side:
    python = folder / "bin" / "python"
    if not python.exists():
        raise UserError(f"{folder} is an environment without a Python; expected {python}")
    return Side(label, python=str(python))


def _of_tree(label: str, tree: Path, adapters: Sequence[Adapter]) -> Side:
    for adapter in adapters:
        if adapter.checkout and adapter.is_checkout(tree):
            return Side(label, paths=current_paths(), variables={adapter.checkout: str(tree)})
        root = root_of(adapter, tree)
        if root is not None:
            return Side(label, paths=(str(root), *current_paths()))
    if not adapters:
        # of a script: whatever it imports
        for root in reversed(roots(tree)):
            if modules(root):
                return Side(label, paths=(str(root), *current_paths()))
    known = ", ".join(m for name in frameworks.names() for m in frameworks.get(name).modules[:1])
    raise UserError(
        f"{tree} holds no framework; expected a working tree with the package {known}, a checkout "
        "of scripts, or a virtual environment"
    )


def roots(tree: Path) -> tuple[Path, Path]:
    """Where the packages of a working tree may lie."""
    return tree, tree / "src"


def root_of(adapter: Adapter, tree: Path) -> Path | None:
    """The folder of a working tree with a package of the framework; None: there is none."""
    for root in roots(tree):
        if any((root / module / "__init__.py").is_file() for module in adapter.modules):
            return root
    return None


def modules(root: Path) -> list[str]:
    """Importable packages and modules in a folder."""
    packages = [path.parent.name for path in root.glob("*/__init__.py")]
    return sorted(packages + [path.stem for path in root.glob("*.py") if path.stem != "setup"])


# -- overlays ------------------------------------------------------------------------------------


def _key(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def overlay(rows: Sequence[str], say: making.Say, python: str = "") -> tuple[Path, bool]:
    """Folder of the packages, and of what they need of which nothing is installed yet.

    Args:
        python: the interpreter of the environment below it; empty: the current one.
    """
    there = interpreters.distributions(python) if python else None
    parts = [*rows, *([f"on {python}"] if python else [])]
    folder = making.cache() / "overlays" / f"{_TAG}-{_key(*parts)}"
    found = making.ready(folder)
    if found is not None and needs.unmet(folder, there).missing:
        # made in an environment that had more
        folder = folder.with_name(f"{_TAG}-{_key(*parts, *needs.unmet(folder, there).missing)}")

    def make(target: Path) -> dict[str, Any]:
        say(f"installing {' '.join(rows)} without dependencies")
        added: list[str] = []
        asked = list(rows)
        while asked:
            making.pip(["--no-deps", "--upgrade", "--target", str(target)], asked)
            asked = [row for row in needs.unmet(target, there).missing if row not in added]
            added += asked
        return {"requirements": list(rows), "added": added}

    return folder, making.made(folder, make, say)


# -- environments of their own -------------------------------------------------------------------


def environment(
    wanted: Wanted,
    adapters: Sequence[Adapter],
    capped: frozenset[str],
    say: making.Say,
    also: Sequence[str] = (),
) -> tuple[Path, bool]:
    """Folder of an environment with what is wanted, and whether it was there.

    Args:
        capped: packages that are not to be held at the version that is installed here.
        also: requirements that have to be met beside its own.
    """
    others = needs.own(adapters, wanted.packages)
    torch = [] if "torch" in wanted.packages else needs.current(["torch"])
    key = _key(*wanted.requirements, *also, *torch, "with", *others)
    folder = making.cache() / "environments" / f"{_TAG}-{key}"
    if making.ready(folder) is not None and not (folder / "bin" / "python").exists():
        # its interpreter is gone: a link that leads nowhere
        (folder / making.READY).unlink()
    free = capped | wanted.packages

    def make(target: Path) -> dict[str, Any]:
        subprocess.run(
            [sys.executable, "-m", "venv", "--without-pip", str(target)],
            check=True,
            capture_output=True,
        )
        chosen = _installed(target, [*wanted.requirements, *also, *torch], others, free, say)
        return {"requirements": list(wanted.requirements), "chosen": chosen}

    return folder, making.made(folder, make, say)


def _installed(
    target: Path, asked: list[str], others: list[str], free: frozenset[str], say: making.Say
) -> str:
    """Install with as much as can be at the versions of this environment; how much that was."""
    same = [row for row in needs.current() if canonicalize_name(Requirement(row).name) not in free]
    below = needs.current(sorted({"gymnasium", "mujoco", "numpy"} - free))
    attempts: list[tuple[str, list[str], list[str]]] = [
        ("everything else as installed here", others, same),
        ("gymnasium, mujoco and numpy as installed here where possible", others, below),
        ("other versions of what it stands on", others, []),
        ("only what it needs itself", list(needs.ESSENTIAL), []),
    ]
    python = str(target / "bin" / "python")
    for number, (how, rows, pins) in enumerate(attempts, start=1):
        say(f"installing {' '.join(asked)} into an environment of its own ({how})")
        constraints = target / "constraints.txt"
        constraints.write_text("\n".join(pins) + "\n", encoding="utf-8")
        try:
            making.pip(["-c", str(constraints)], [*asked, *rows], python)
            return how
        except making.Unreachable:
            raise
        except UserError:
            # nothing fits these pins: with fewer of them something may
            if number == len(attempts):
                raise
    raise AssertionError
