"""Working trees: where the packages in them lie, and what can be imported from there."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

from packaging.version import InvalidVersion, Version

from rlregress.upgrade.versions import declarations

#: files in which a working tree may declare its requirements.
PROJECT = ("pyproject.toml", "setup.cfg", "setup.py")

#: names of folders and modules that are not the package that a repository is for.
_BESIDE = {"benchmarks", "conftest", "docs", "examples", "scripts", "setup", "test", "tests"}


def list_package_roots(tree: Path) -> list[Path]:
    """Return the folders that hold the packages of a working tree: itself, src, or deeper ones."""
    usual = [tree, tree / "src"]
    if any(set(list_modules_in_folder(root)) - _BESIDE for root in usual):
        return usual
    return usual + _list_deeper_roots(tree, "*")


def _list_deeper_roots(tree: Path, module: str) -> list[Path]:
    """Return folders, up to three deep, that hold a package and are not inside one."""
    folders = {
        path.parent.parent
        for stars in ("*", "*/*", "*/*/*")
        for path in tree.glob(f"{stars}/{module}/__init__.py")
        if not {*path.relative_to(tree).parts} & _BESIDE
        and not any(part.startswith(".") for part in path.relative_to(tree).parts)
    }
    return sorted(root for root in folders if not (root / "__init__.py").is_file())


def find_package_root(packages: Sequence[str], tree: Path) -> Path | None:
    """Return the folder of a working tree with one of some packages; None: there is none."""
    deeper = (place for package in packages[:1] for place in _list_deeper_roots(tree, package))
    for root in chain(list_package_roots(tree), deeper):
        if any((root / package / "__init__.py").is_file() for package in packages):
            return root
    return None


def list_modules_in_folder(root: Path) -> list[str]:
    """Return importable packages and modules in a folder."""
    packages = [path.parent.name for path in root.glob("*/__init__.py")]
    return sorted(packages + [path.stem for path in root.glob("*.py") if path.stem != "setup"])


def find_project_folder(tree: Path, root: Path) -> Path | None:
    """Return the folder that declares the requirements of the packages in a root; None: none does.

    The folder is the root or one above it, inside the tree, or the one whose ``src`` is the root.
    """
    above = [folder for folder in (root, *root.parents) if folder.is_relative_to(tree)]
    above += [root.parent] if root.name == "src" else []
    declaring = (x for x in above if any((x / name).is_file() for name in PROJECT))
    return next(declaring, None)


def read_package_version(package: Path, project: Path | None) -> str:
    """Return the version that a package's own files state; empty: none, or a computed one.

    That is ``version`` of its project, ``version.txt``, or ``__version__``, a literal.
    """
    stated = declarations.read_declarations_of_tree(project).version if project is not None else ""
    folders = [package, *([project] if project is not None else [])]
    texts = [stated, *(_read_text(folder / "version.txt").strip() for folder in folders)]
    for name in ("__init__.py", "version.py", "_version.py", "__about__.py"):
        texts += re.findall(
            r"^__version__[^=\n]*= *[\"']([^\"']+)", _read_text(package / name), re.M
        )
    for text in texts:
        try:
            return str(Version(text))
        except InvalidVersion:
            continue
    return ""


def _read_text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
