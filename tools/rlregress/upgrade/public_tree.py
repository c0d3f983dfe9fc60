"""The public names of an importable package, read from its source without importing it."""

from __future__ import annotations

import ast
import functools
import gc
import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import griffe

from rlregress.errors import UserError
from rlregress.source import UNREADABLE, below
from rlregress.tracing import child_processes

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


def paths_of(package: Package, name: str) -> set[str]:
    """Under which a package has a name, or a member of a class; empty: it has none.

    They are the given path, the shortest one, and those of what defines it.
    """
    owner = name
    members: list[str] = []
    while owner and owner not in package.names:
        owner, _, last = owner.rpartition(".")
        members.insert(0, last)
    if not owner:
        return set()
    found = package.names[owner].object
    paths = {name}
    if found is not None and not members:
        paths |= {found.path, package.paths.get(found.path, name)}
    for member in members:
        inside = found.all_members.get(member) if isinstance(found, griffe.Class) else None
        if inside is None:
            return set()
        found = inside.final_target if isinstance(inside, griffe.Alias) else inside
        home = found.path.rpartition(".")[0]
        paths |= {found.path, f"{package.paths.get(home, home)}.{member}"}
    return paths


def file_of(of: griffe.Object) -> str:
    """The file of an object, below the folder that holds the package."""
    module = of if isinstance(of, griffe.Module) else of.module
    parts = module.path.split(".")
    return "/".join(parts) + ("/__init__.py" if module.is_init_module else ".py")


class _TimeLimit(griffe.Extension):
    """Ends the reading of a package between two modules when a time is over."""

    def __init__(self, until: float | None) -> None:
        super().__init__()
        self._until = until

    def on_module_node(self, **_: Any) -> None:
        """A module is about to be read."""
        child_processes.check_time(self._until)


def read(folder: Path, until: float | None = None) -> Package:
    """Read a package; what cannot be read is listed, and what can is.

    Args:
        until: see ``public_names.changes``.

    Raises:
        OutOfTime: it was not read by then.
        UserError: the folder is no package.
    """
    folder = folder.absolute()
    if not (folder / "__init__.py").is_file():
        raise UserError(f"{folder} is no package; expected a folder with an __init__.py")
    loader = griffe.GriffeLoader(
        search_paths=[folder.parent],
        allow_inspection=False,
        # with those that read dataclasses
        extensions=griffe.load_extensions(_TimeLimit(until)),
    )
    package = Package(folder=folder)
    with _fast_and_quiet():
        try:
            root = loader.load(folder.name, submodules=True, try_relative_path=False)
            loader.resolve_aliases(implicit=True, external=False)
        except (griffe.GriffeError, ImportError, *UNREADABLE) as error:
            # one file that cannot be read may leave nothing of the package
            for path in below(folder):
                if path.suffix == ".py":
                    file = path.relative_to(folder.parent).as_posix()
                    package.unread[file] = _why(path, f"the package cannot be read: {error}")
            return package
        assert isinstance(root, griffe.Module)
        read_files: set[Path] = set()
        modules = list(_modules(root))
        defined = _defined(modules)
        for module in modules:
            if isinstance(module.filepath, Path):
                read_files.add(module.filepath)
            if not is_private(module.path):
                _collect(package, module, defined)
    for path in below(folder):
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


#: why a file that parses was not read.
_ALONE = "it is in no package: an __init__.py is missing above it"


def _why(path: Path, parsed: str = _ALONE) -> str:
    if path.suffix != ".py":
        return "it is compiled"
    try:
        ast.parse(path.read_bytes())
    except UNREADABLE as error:
        return f"it does not parse: {error}"
    return parsed


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


def _defined(modules: list[griffe.Module]) -> dict[str, list[griffe.Object]]:
    """Name -> the functions and classes of that name anywhere in the package."""
    found: dict[str, list[griffe.Object]] = {}
    for module in modules:
        for name, member in module.members.items():
            if isinstance(member, griffe.Function | griffe.Class):
                found.setdefault(name, []).append(member)
    return found


def _collect(
    package: Package, module: griffe.Module, defined: dict[str, list[griffe.Object]]
) -> None:
    """Add a public module and the public names in it."""
    file = file_of(module)
    package.names[module.path] = Name(object=module, explicit=True, file=file, line=1)
    listed = {str(x) if isinstance(x, str) else x.name for x in module.exports or ()}
    for name in listed - module.members.keys():
        # a module may import a name when it is first used: there may be but one that it can mean
        only = defined.get(name, [])
        package.names[f"{module.path}.{name}"] = Name(
            object=only[0] if len(only) == 1 else None,
            explicit=True,
            file=file,
            line=1,
            why=""
            if len(only) == 1
            else "__all__ lists it, and no statement of the module defines it",
        )
    for name, member in module.members.items():
        if isinstance(member, griffe.Module) or "/" in name or "*" in name:
            continue
        if name not in listed and (name.startswith("_") or _TESTS.fullmatch(name)):
            continue
        path = f"{module.path}.{name}"
        if isinstance(member, griffe.Attribute) and member.value is None:
            # an annotation alone: there is no such name when the module is imported
            continue
        if not isinstance(member, griffe.Alias):
            line = member.lineno or 1
            meant = _meant(member)
            package.names[path] = Name(object=meant, explicit=True, file=file, line=line)
            continue
        if not member.runtime:
            # imported for type checkers alone
            continue
        target = member.target_path
        explicit = name in listed or module.is_init_module
        at = functools.partial(Name, file=file, line=member.alias_lineno or 1)
        if target.partition(".")[0] != package.folder.name:
            if name in listed:
                package.names[path] = at(object=None, explicit=True, target=target)
            continue
        try:
            definition = _meant(member.final_target)
        except (griffe.AliasResolutionError, griffe.CyclicAliasError) as error:
            last = getattr(error, "alias", member).target_path
            if last.partition(".")[0] == package.folder.name:
                why = f"{last} is defined by no statement of the package"
                package.names[path] = at(object=None, explicit=explicit, target=last, why=why)
            elif name in listed:
                package.names[path] = at(object=None, explicit=True, target=target)
            continue
        if not isinstance(definition, griffe.Module):
            package.names[path] = at(object=definition, explicit=explicit, target=target)


def _meant(member: griffe.Object) -> griffe.Object:
    """The class or function that an assignment gives another name: ``MlpPolicy = ActorPolicy``."""
    value = member.value if isinstance(member, griffe.Attribute) else None
    if isinstance(value, griffe.ExprName | griffe.ExprAttribute):
        with suppress(griffe.GriffeError, KeyError, ValueError, AttributeError):
            found = member.modules_collection[value.canonical_path]
            definition = found.final_target if isinstance(found, griffe.Alias) else found
            if isinstance(definition, griffe.Class | griffe.Function):
                return definition
    return member
