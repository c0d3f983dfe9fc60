"""Environments of the two sides: an overlay on what is installed, or one of their own.

Everything is resolved first. What then differs from the installed environment is put in front of
it, whatever it is, but torch. Both are kept by their exact content, so that they are made once.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rlregress import frameworks
from rlregress.errors import UserError
from rlregress.frameworks.base import Adapter
from rlregress.tracing.run import Side, current_paths
from rlregress.upgrade import bytecode, making, needs, resolving, stacks, wheels
from rlregress.upgrade.resolving import Resolved
from rlregress.upgrade.wanted import Wanted


@dataclass(frozen=True)
class Prepared:
    """One side, ready to run.

    Attributes:
        how: "installed", "tree", "overlay", "environment" or "your environment".
        cached: it was there already.
        why: of an environment, in words, what kept it from being an overlay.
        beside: in words, what it has in another version than installed, beside what it pins.
        notes: what does not fit together and is run all the same.
    """

    wanted: Wanted
    side: Side
    how: str
    cached: bool = False
    why: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def lines(self) -> list[str]:
        """In words: what this side is."""
        found = ", from the cache" if self.cached else ""
        first = f"side {self.side.label}: {self.wanted.text} ({self.how}{found})"
        rows = [f"  {x}" for x in self.wanted.understood]
        rows += [f"  because {why}" for why in self.why]
        rows += [f"  with {', '.join(self.beside)}"] if self.beside else []
        return [first, *rows, *(f"  although {note}" for note in self.notes)]


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
    if not wanted.requirements:
        return Prepared(wanted, Side(label, paths=current_paths()), "installed")
    asked = resolving.problem(wanted, adapters, alone(wanted))
    return made(label, wanted, adapters, resolving.resolve(asked, say)[1], say)


def alone(wanted: Wanted) -> bool:
    """Whether a side cannot stand on what is installed: it asks for another torch."""
    return any(stacks.name_of(r) == "torch" and not needs.installed(r) for r in wanted.requirements)


def made(
    label: str, wanted: Wanted, adapters: Sequence[Adapter], found: Resolved, say: making.Say
) -> Prepared:
    """Install what was resolved, or find it."""
    if alone(wanted):
        folder, cached = environment(found, say)
        python = str(folder / "bin" / "python")
        why = ("an overlay cannot hold another torch",)
        side = Side(label, python=python)
        return Prepared(wanted, side, "environment", cached, why, notes=tuple(found.notes))
    rows = found.moved
    if not rows:
        return Prepared(wanted, Side(label, paths=current_paths()), "installed")
    folder, cached = overlay(rows, found.tools, say)
    side = Side(label, paths=(str(folder), *current_paths()))
    notes = (*found.notes, *needs.against(folder, adapters))
    beside = tuple(_beside(rows, wanted))
    return Prepared(wanted, side, "overlay", cached, beside=beside, notes=notes)


def _beside(rows: Iterable[str], wanted: Wanted) -> list[str]:
    """In words, what is installed in another version and not pinned."""
    moved = resolving.versions(rows)
    return [
        f"{name} {version} instead of {needs.version(name)}"
        for name, version in moved.items()
        if name not in wanted.packages and needs.version(name) is not None
    ]


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


# -- what is installed ---------------------------------------------------------------------------


def _folder(kind: str, rows: Iterable[str]) -> Path:
    digest = hashlib.sha256("\n".join(sorted(rows)).encode()).hexdigest()[:16]
    return making.cache() / kind / f"{wheels.TAG}-{digest}"


def overlay(rows: Sequence[str], tools: Sequence[str], say: making.Say) -> tuple[Path, bool]:
    """Folder of exactly these packages, to stand before what is installed; whether it was there."""
    folder = _folder("overlays", rows)

    def make(target: Path) -> dict[str, Any]:
        say(f"installing {' '.join(rows)}")
        wheels.install(["--python", sys.executable, "--target", str(target)], rows, tools, say)
        bytecode.keep(target)
        return {"requirements": list(rows)}

    return folder, making.made(folder, make, say)


def environment(found: Resolved, say: making.Say) -> tuple[Path, bool]:
    """Folder of an environment of its own, and whether it was there."""
    folder = _folder("environments", found.rows.values())
    if making.ready(folder) is not None and not (folder / "bin" / "python").exists():
        # its interpreter is gone: a link that leads nowhere
        (folder / making.READY).unlink()

    def make(target: Path) -> dict[str, Any]:
        say(f"installing {' '.join(found.rows.values())} into an environment of its own")
        subprocess.run(
            [sys.executable, "-m", "venv", "--without-pip", str(target)],
            check=True,
            capture_output=True,
        )
        python = ["--python", str(target / "bin" / "python")]
        wheels.install(python, list(found.rows.values()), found.tools, say)
        return {"requirements": list(found.rows.values())}

    return folder, making.made(folder, make, say)
