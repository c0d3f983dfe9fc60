"""The public names of an importable package, read from its source without importing it."""

from __future__ import annotations

import ast
import functools
import gc
import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import griffe

from rlregress.errors import UserError

_LOGGER = logging.getLogger("griffe")
#: folders and modules that are no part of what users call.
_TESTS = re.compile(r"(test|tests|conftest|test_.*|__main__)")


@dataclass(frozen=True, kw_only=True)
class Name:
    """What a public dotted path stands for.

    Attributes:
        object: its definition; None: it is of another package, or could not be read.
        explicit: defined here, listed in ``__all__``, or imported by a package's ``__init__``; else
            it is in the namespace of a module only because that module uses it.
        target: where it is imported from.
        why: why there is no definition; empty: it is of another package.
    """

    object: griffe.Object | None
    explicit: bool
    target: str = ""
    file: str = ""
    line: int = 0
    why: str = ""


@dataclass(frozen=True, kw_only=True)
class Package:
    """A package as its source defines it.

    Attributes:
        names: public dotted path -> what it stands for; modules, and what is in them.
        unread: file below the folder of the package -> why it was not read.
    """

    folder: Path
    names: dict[str, Name] = field(default_factory=dict)
    unread: dict[str, str] = field(default_factory=dict)

    @functools.cached_property
    def paths(self) -> dict[str, str]:
        """Where an object is defined -> the shortest explicit path to it, or else the shortest."""
        shortest: dict[str, tuple[bool, int, str]] = {}
        for path, name in self.names.items():
            if name.object is not None:
                rank = (not name.explicit, path.count("."), path)
                key = name.object.path
                shortest[key] = min(shortest.get(key, rank), rank)
        return {key: path for key, (_, _, path) in shortest.items()}

    def file(self, of: griffe.Object | griffe.Alias) -> str:
        """The file of an object, below the parent of the package's folder."""
        found = of.filepath
        if isinstance(found, list):
            found = found[0]
        return found.relative_to(self.folder.parent).as_posix()


def read(folder: Path) -> Package:
    """Read a package; what cannot be read is listed, and what can is.

    Raises:
        UserError: the folder is no package.
    """
    folder = folder.absolute()
    if not (folder / "__init__.py").is_file():
        raise UserError(f"{folder} is no package; expected a folder with an __init__.py")
    loader = griffe.GriffeLoader(search_paths=[folder.parent], allow_inspection=False)
    package = Package(folder=folder)
    with _fast_and_quiet():
        try:
            root = loader.load(folder.name, submodules=True, try_relative_path=False)
            loader.resolve_aliases(implicit=True, external=False)
        except (griffe.GriffeError, ImportError, SyntaxError) as error:
            package.unread[f"{folder.name}/__init__.py"] = str(error)
            return package
        assert isinstance(root, griffe.Module)
        read_files: set[Path] = set()
        for module in _modules(root):
            if isinstance(module.filepath, Path):
                read_files.add(module.filepath)
            if not is_private(module.path):
                _collect(package, module)
    for path in sorted(folder.rglob("*")):
        if path.suffix in (".py", ".so", ".pyd") and path not in read_files:
            package.unread[path.relative_to(folder.parent).as_posix()] = _why(path)
    return package


@contextmanager
def _fast_and_quiet() -> Iterator[None]:
    """Without collecting garbage among millions of nodes that all stay, and without log lines."""
    collecting, level = gc.isenabled(), _LOGGER.level
    gc.disable()
    _LOGGER.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        _LOGGER.setLevel(level)
        if collecting:
            gc.enable()


def _why(path: Path) -> str:
    if path.suffix != ".py":
        return "it is compiled"
    try:
        ast.parse(path.read_bytes())
    except (SyntaxError, ValueError) as error:
        return f"it does not parse: {error}"
    return "it is in no package: an __init__.py is missing above it"


def _modules(module: griffe.Module) -> Iterator[griffe.Module]:
    yield module
    for member in list(module.members.values()):
        if isinstance(member, griffe.Module):
            yield from _modules(member)


def is_private(path: str) -> bool:
    """Whether a dotted path or a file is internal, or belongs to tests."""
    return any(
        _TESTS.fullmatch(part) or (part.startswith("_") and not part.startswith("__"))
        for part in re.split(r"[./]", path)[1:]
    )


def _collect(package: Package, module: griffe.Module) -> None:
    """Add a public module and the public names in it."""
    file = package.file(module)
    package.names[module.path] = Name(object=module, explicit=True, file=file, line=1)
    listed = {str(x) if isinstance(x, str) else x.name for x in module.exports or ()}
    for name in listed - module.members.keys():
        why = "it is in __all__, and no statement of its module defines it"
        package.names[f"{module.path}.{name}"] = Name(
            object=None, explicit=True, file=file, line=1, why=why
        )
    for name, member in module.members.items():
        if isinstance(member, griffe.Module) or "/" in name or "*" in name:
            continue
        if name not in listed and (name.startswith("_") or _TESTS.fullmatch(name)):
            continue
        path = f"{module.path}.{name}"
        if not isinstance(member, griffe.Alias):
            line = member.lineno or 1
            package.names[path] = Name(object=member, explicit=True, file=file, line=line)
            continue
        if not member.runtime:
            # imported for type checkers alone
            continue
        target = member.target_path
        explicit = name in listed or module.is_init_module
        found = {"target": target, "file": file, "line": member.alias_lineno or 1}
        if target.partition(".")[0] != package.folder.name:
            if name in listed:
                package.names[path] = Name(object=None, explicit=True, **found)
            continue
        try:
            definition = member.final_target
        except (griffe.AliasResolutionError, griffe.CyclicAliasError) as error:
            last = getattr(error, "alias", member).target_path
            if last.partition(".")[0] == package.folder.name:
                why = f"{last} is defined by no statement of the package"
                package.names[path] = Name(object=None, explicit=explicit, why=why, **found)
            elif name in listed:
                package.names[path] = Name(object=None, explicit=True, **found)
            continue
        if not isinstance(definition, griffe.Module):
            package.names[path] = Name(object=definition, explicit=explicit, **found)
