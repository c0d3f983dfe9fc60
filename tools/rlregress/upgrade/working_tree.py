"""Working trees: where the packages in them lie, and what can be imported from there."""

from __future__ import annotations

from pathlib import Path

from rlregress.frameworks.base import Adapter


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
