"""Working trees: where the packages in them lie, and what can be imported from there."""

from __future__ import annotations

from itertools import chain
from pathlib import Path

from rlregress.frameworks.base import Adapter

#: folders with modules that are not what a repository is about.
_BESIDE = {"benchmarks", "conftest", "docs", "examples", "scripts", "setup", "test", "tests"}


def roots(tree: Path) -> list[Path]:
    """Where the packages of a working tree lie: there, in src, or else in folders of it."""
    usual = [tree, tree / "src"]
    if any(set(modules(root)) - _BESIDE for root in usual):
        return usual
    return usual + _deeper(tree, "*")


def _deeper(tree: Path, module: str) -> list[Path]:
    """Folders, up to three deep, that hold a package and are in none."""
    found = {
        path.parent.parent
        for stars in ("*", "*/*", "*/*/*")
        for path in tree.glob(f"{stars}/{module}/__init__.py")
        if not {*path.relative_to(tree).parts} & _BESIDE
        and not any(part.startswith(".") for part in path.relative_to(tree).parts)
    }
    return sorted(root for root in found if not (root / "__init__.py").is_file())


def root_of(adapter: Adapter, tree: Path) -> Path | None:
    """The folder of a working tree with a package of the framework; None: there is none."""
    deeper = (place for module in adapter.modules[:1] for place in _deeper(tree, module))
    for root in chain(roots(tree), deeper):
        if any((root / module / "__init__.py").is_file() for module in adapter.modules):
            return root
    return None


def modules(root: Path) -> list[str]:
    """Importable packages and modules in a folder."""
    packages = [path.parent.name for path in root.glob("*/__init__.py")]
    return sorted(packages + [path.stem for path in root.glob("*.py") if path.stem != "setup"])
