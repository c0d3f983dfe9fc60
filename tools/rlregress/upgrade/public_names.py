"""What changed in the public names of one package between two folders, read without importing it.

griffe reads the sources and finds what breaks a caller of a function. Which names are gone and
where they are now, base classes, literal values and deprecations are compared here. What changed
inside of functions is compared elsewhere.
"""

from __future__ import annotations

import ast
import builtins
import gc
import logging
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import griffe

from rlregress.errors import UserError
from rlregress.model.code import Changed, Function
from rlregress.source import UNREADABLE, below
from rlregress.tracing import child_processes

_LOGGER = logging.getLogger("griffe")
#: what griffe raises where a name leads nowhere.
_UNRESOLVED = (griffe.GriffeError, KeyError, ValueError, AttributeError)
#: folders and modules that are no part of what users call.
_TESTS = re.compile(r"test|tests|conftest|test_.*|__main__")
#: base classes that bring no attributes, and that nobody asks an object for.
_EMPTY = ("ABC", "Generic", "NamedTuple", "Protocol", "object")
#: words of a warning that something will be gone.
_GOES = re.compile(r"deprecat|FutureWarning|(will|to) be removed", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class PublicChange:
    """One difference in what a package offers.

    Attributes:
        kind: "gone", "moved", "signature", "base class", "value", "kind", "deprecated" or "unread".
        name: the shortest dotted path that a caller writes.
        file, line: below the folder that holds the package; of the old version for what is gone.
        summary: one sentence.
    """

    kind: str
    name: str
    file: str
    line: int
    summary: str

    @property
    def breaks(self) -> bool:
        """Whether a caller written for the old version can fail or get another value."""
        return self.kind not in ("deprecated", "unread")


@dataclass(frozen=True, kw_only=True)
class Package:
    """A package as its source defines it.

    Attributes:
        root: its tree; None: it could not be read.
        names: public path -> definition, of modules, what is in them, and members of classes.
        paths: path of a definition -> the shortest public path to it.
        unread: file, or public path -> its file and why it was not read.
    """

    folder: Path
    root: griffe.Module | None = None
    names: dict[str, griffe.Object] = field(default_factory=dict)
    paths: dict[str, str] = field(default_factory=dict)
    unread: dict[str, tuple[str, str]] = field(default_factory=dict)

    def find(self, path: str) -> griffe.Object | None:
        """Return the definition of a name, also of one that is not public."""
        with suppress(*_UNRESOLVED):
            if self.root is not None:
                return self.names.get(path) or _resolved(self.root[path.partition(".")[2]])
        return None

    def paths_of(self, name: str) -> set[str]:
        """Return the given path, the shortest one, and that of the definition; empty: no such."""
        found = self.find(name)
        return {name, found.path, self.paths.get(found.path, name)} if found is not None else set()

    def signatures(self, name: str) -> dict[str, str]:
        """Return the signature of a name, and of each public name below it, by its full name."""
        found = self.find(name)
        path = name if found is None else self.paths.get(found.path, name)
        own = {} if found is None else {path: found}
        below_it = {n: of for n, of in self.names.items() if n.startswith(f"{path}.")}
        return {n.removeprefix(path): _signature(of) for n, of in {**own, **below_it}.items()}


def changes(old: Path, new: Path, until: float | None = None) -> list[PublicChange]:
    """Return what changed in the public names of a package, what breaks a caller first.

    Args:
        old, new: folders of the package.
        until: the time at which the comparison ends; None: with that of the command.

    Raises:
        OutOfTime: they were not compared by then.
        UserError: one of the folders is no package.
    """
    return between(read(old, until), read(new, until), until)


def between(old: Package, new: Package, until: float | None = None) -> list[PublicChange]:
    """As ``changes``, of packages that were read."""
    for side in (old, new):
        if side.root is None:
            return [not_compared(side.folder.name, why) for _, why in side.unread.values()]
    found = [*_unread(old, new)]
    with _fast_and_quiet():
        for change in (*_lost(old, new), *_incompatible(old, new, until), *_noticed(old, new)):
            # nothing is known of a file that was not read
            if change.file not in new.unread:
                found.append(change)
    return sorted(set(found), key=lambda c: (not c.breaks, c.kind, c.name, c.summary))


def can_differ(pieces: Iterable[Changed]) -> bool:
    """Return whether pieces of code that differ can change a public name.

    To read a large package takes many seconds, and most edits are of the bodies of functions.
    """
    return any(
        piece.a is None
        or piece.b is None
        or piece.at_import
        or piece.was
        or piece.name.endswith("__init__")
        or _head(piece.a) != _head(piece.b)
        or _GOES.search(piece.b.whole)
        for piece in pieces
    )


def _head(function: Function) -> str:
    """Return decorators and arguments."""
    decorators, _, rest = function.code.partition("\narguments(")
    return decorators + rest.partition("\n")[0]


def not_compared(package: str, why: str) -> PublicChange:
    """Return the entry of a package whose names were not compared."""
    summary = f"the public names of {package} were not compared: {why}"
    return PublicChange(
        kind="unread", name=package, file=f"{package}/__init__.py", line=1, summary=summary
    )


# -- reading ---------------------------------------------------------------------------------------


class _TimeLimit(griffe.Extension):
    """Ends the reading of a package between two modules when a time is over."""

    def __init__(self, until: float | None) -> None:
        super().__init__()
        self._until = until

    def on_module_node(self, **_: Any) -> None:
        """Raise OutOfTime if a module is about to be read too late."""
        child_processes.check_time(self._until)


def read(folder: Path, until: float | None = None) -> Package:
    """Read a package; what cannot be read is listed, and what can is.

    Raises:
        OutOfTime: it was not read by ``until``.
        UserError: the folder is no package.
    """
    folder = folder.absolute()
    if not (folder / "__init__.py").is_file():
        raise UserError(f"{folder} is no package; expected a folder with an __init__.py")
    # with the extensions that read dataclasses
    loader = griffe.GriffeLoader(
        search_paths=[folder.parent], allow_inspection=False,
        extensions=griffe.load_extensions(_TimeLimit(until)),
    )  # fmt: skip
    with _fast_and_quiet():
        try:
            root = loader.load(folder.name, submodules=True, try_relative_path=False)
            loader.resolve_aliases(implicit=True, external=False)
        except (griffe.GriffeError, ImportError, *UNREADABLE) as error:
            return Package(folder=folder, unread={folder.name: ("", str(error))})
        assert isinstance(root, griffe.Module)
        package = Package(folder=folder, root=root)
        modules = list(_modules(root))
        defined: dict[str, list[griffe.Object]] = {}
        for module in modules:
            for name, member in module.members.items():
                if isinstance(member, griffe.Function | griffe.Class):
                    defined.setdefault(name, []).append(member)
        for module in modules:
            if not _is_private(module.path):
                _collect(package, module, defined)
        # a method is known by the class that defines it
        shortest = {*package.paths.values()}
        classes = [
            (name, owner)
            for name in sorted(package.names, key=lambda name: (name not in shortest, name))
            if isinstance(owner := package.names[name], griffe.Class)
        ]
        for name, owner in classes:
            _add_constructor(owner)
            _collect_members(package, name, owner.members)
        for name, owner in classes:
            _collect_members(package, name, owner.inherited_members)
    known = {module.filepath for module in modules}
    for path in below(folder):
        file = path.relative_to(folder.parent).as_posix()
        if path.suffix == ".py" and path not in known and not _is_private(file):
            package.unread[file] = (file, _why_unread(path))
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


def _why_unread(path: Path) -> str:
    try:
        ast.parse(path.read_bytes())
    except UNREADABLE as error:
        return f"it does not parse: {error}"
    return "it is in no package: an __init__.py is missing above it"


def _modules(module: griffe.Module) -> Iterator[griffe.Module]:
    yield module
    for member in list(module.members.values()):
        if isinstance(member, griffe.Module):
            yield from _modules(member)


def _is_private(path: str) -> bool:
    """Return whether a dotted path or a file is internal, or belongs to tests."""
    return any(
        _TESTS.fullmatch(part) or (part.startswith("_") and not part.startswith("__"))
        for part in re.split(r"[./]", path.removesuffix(".py"))[1:]
    )


def _collect(
    package: Package, module: griffe.Module, defined: dict[str, list[griffe.Object]]
) -> None:
    """Add a public module and the public names in it."""
    file = _file(module)
    found: dict[str, griffe.Object] = {module.path: module}
    listed = {str(name) for name in module.exports or ()}
    for name in listed - module.members.keys():
        # a module may import a name when it is first used: the nearest that it can mean
        meant = defined.get(name, [])
        depths = [(not d.path.startswith(f"{module.path}."), d.path.count(".")) for d in meant]
        if depths.count(min(depths, default=(True, 0))) == 1:
            found[f"{module.path}.{name}"] = meant[depths.index(min(depths))]
        else:
            why = "__all__ lists it, and no statement of the module defines it"
            package.unread[f"{module.path}.{name}"] = (file, why)
    for name, member in module.members.items():
        path = f"{module.path}.{name}"
        if isinstance(member, griffe.Module) or _TESTS.fullmatch(name) or "*" in name:
            continue
        if isinstance(member, griffe.Alias):
            own = member.target_path.partition(".")[0] == package.folder.name
            # a package offers what it imports from its own modules
            is_from_package = not listed and module.is_init_module and not name.startswith("_")
            if not (member.is_public if listed else is_from_package and own and member.runtime):
                continue
            try:
                found[path] = _meant(member.final_target)
            except (griffe.AliasResolutionError, griffe.CyclicAliasError) as error:
                target = getattr(error, "alias", member).target_path
                module_file = package.folder.parent.joinpath(*target.split(".")[:-1])
                if target.partition(".")[0] != package.folder.name or _is_compiled(module_file):
                    found[path] = _resolved(member)
                else:
                    why = f"{target} is defined by no statement of the package"
                    package.unread[path] = (file, why)
        elif member.is_public and not _is_annotation(member):
            found[path] = _meant(member)
    package.names.update(found)
    for path, definition in found.items():
        known = package.paths.get(definition.path, path)
        package.paths[definition.path] = min(known, path, key=_length)


def _is_compiled(module: Path) -> bool:
    return any(path.suffix in (".so", ".pyd") for path in module.parent.glob(f"{module.name}.*"))


def _collect_members(
    package: Package, path: str, members: Mapping[str, griffe.Object | griffe.Alias]
) -> None:
    """Add public members of a class."""
    for name, member in members.items():
        with suppress(*_UNRESOLVED):
            definition = _resolved(member)
            if member.is_special or not (name.startswith("_") or _is_annotation(definition)):
                package.names[f"{path}.{name}"] = definition
                package.paths.setdefault(definition.path, f"{path}.{name}")


def _add_constructor(of: griffe.Class) -> None:
    """Give a named tuple the constructor that is made of its fields, as griffe does others."""
    if "__init__" not in of.members and any(base.endswith("NamedTuple") for base in _bases(of)):
        kind = griffe.ParameterKind.positional_or_keyword
        of.members["__init__"] = griffe.Function(
            "__init__", parent=of, lineno=of.lineno, endlineno=of.lineno,
            parameters=griffe.Parameters(*(
                griffe.Parameter(m.name, kind=kind, default=m.value)
                for m in of.members.values()
                if isinstance(m, griffe.Attribute) and m.annotation is not None
            )),
        )  # fmt: skip


def _is_annotation(of: griffe.Object) -> bool:
    """Return whether an attribute is none of a caller: special, without a value, or of types alone.

    Fields are parameters of a constructor.
    """
    if not isinstance(of, griffe.Attribute) or "property" in of.labels:
        return False
    owner = of.parent
    has_fields = isinstance(owner, griffe.Class) and (
        "dataclass" in owner.labels or any(base.endswith("NamedTuple") for base in _bases(owner))
    )
    is_field = has_fields and of.annotation is not None
    is_type = str(of.value).partition("(")[0].endswith(("TypeVar", "ParamSpec"))
    return of.name.startswith("__") or is_field or is_type or of.value is None


def _meant(member: griffe.Object) -> griffe.Object:
    """Return the class or function that an assignment gives another name, or the member."""
    found = _named(member.value) if isinstance(member, griffe.Attribute) else None
    return found if isinstance(found, griffe.Class | griffe.Function) else member


def _named(value: str | griffe.Expr | None) -> griffe.Object | None:
    """Return the definition in the package of what a value names."""
    if isinstance(value, griffe.ExprName) and isinstance(value.parent, griffe.Object):
        with suppress(*_UNRESOLVED):
            return _resolved(value.parent.modules_collection[value.canonical_path])
    return None


def _resolved(member: griffe.Object | griffe.Alias) -> griffe.Object:
    """Return the definition of a member; of what another package defines, an empty one."""
    if isinstance(member, griffe.Object):
        return member
    try:
        return member.final_target
    except (griffe.AliasResolutionError, griffe.CyclicAliasError):
        return griffe.Attribute(member.name, lineno=member.alias_lineno, parent=member.parent)


def _kind(of: griffe.Object) -> str:
    return "property" if "property" in of.labels else of.kind.value


def _signature(of: griffe.Object) -> str:
    if isinstance(of, griffe.Function):
        given = (p.name if p.default is None else f"{p.name}={p.default}" for p in of.parameters)
        return f"({', '.join(given)})"
    if isinstance(of, griffe.Class):
        return f"({', '.join(_bases(of))})"
    return f" = {of.value}" if isinstance(of, griffe.Attribute) else ""


def _length(path: str) -> tuple[int, str]:
    return path.count("."), path


def _file(of: griffe.Object) -> str:
    """Return the file of an object, below the folder that holds the package."""
    module = of if isinstance(of, griffe.Module) else of.module
    return module.path.replace(".", "/") + ("/__init__.py" if module.is_init_module else ".py")


# -- comparing -------------------------------------------------------------------------------------


def _unread(old: Package, new: Package) -> Iterator[PublicChange]:
    """Yield what the old version has and was not read in both, if its file is not the same."""
    for name, (file, why) in {**old.unread, **new.unread}.items():
        paths = [side.folder.parent / file for side in (old, new)]
        contents = [path.read_bytes() if path.is_file() else None for path in paths]
        is_old = name in old.unread or name in old.names or (name == file and contents[0])
        if is_old and contents[0] != contents[1]:
            summary = f"{name} was not read: {why}"
            yield PublicChange(kind="unread", name=name, file=file, line=1, summary=summary)


def _lost(old: Package, new: Package) -> Iterator[PublicChange]:
    """Yield names that are gone, and where they are now."""
    every: dict[str, list[str]] = {}
    for path, definition in old.names.items():
        every.setdefault(definition.path, []).append(path)
    # what the new version alone has
    homes: dict[tuple[str, griffe.Kind], set[str]] = {}
    for path in new.names.keys() - old.names.keys():
        definition = new.names[path]
        if not isinstance(definition.parent, griffe.Class):
            homes.setdefault((definition.name, definition.kind), set()).add(
                new.paths[definition.path]
            )
    for path, definition in old.names.items():
        if new.find(path) is not None:
            continue
        owner = path.rpartition(".")[0]
        new_owner = new.find(owner)
        kind = _kind(definition)
        is_shortest = path == old.paths[definition.path]
        if isinstance(old.names.get(owner), griffe.Class):
            if (
                is_shortest
                and isinstance(new_owner, griffe.Class)
                and not _is_used(new_owner, definition.name)
            ):
                outside = _bases_outside(new_owner)
                built_in = [getattr(builtins, base, object) for base in ("object", *outside)]
                # such as a constructor: every class has one
                if any(definition.name in dir(base) for base in built_in):
                    continue
                unless = f"; {', '.join(outside)} may still define it" if outside else ""
                yield _change("gone", path, definition, f"{kind} {path} is gone{unless}")
        # with its module, everything in it is gone
        elif new_owner is None and owner:
            continue
        elif still := [p for p in every[definition.path] if p in new.names]:
            home = min(still, key=_length)
            yield _change("moved", path, definition, f"{path} is gone; it is still {home}")
        elif is_shortest:
            moved_to = homes.get((definition.name, definition.kind), set())
            if len(moved_to) == 1:
                yield _change("moved", path, definition, f"{path} has moved to {min(moved_to)}")
            else:
                yield _change("gone", path, definition, f"{kind} {path} is gone")


def _is_used(owner: griffe.Class, name: str) -> bool:
    """Return whether a class uses an attribute or method: it has it, from wherever."""
    used = re.compile(rf"self\.{re.escape(name)}\b|[\"']{re.escape(name)}[\"']")
    return any(used.search(each.source) for each in _lineage(owner))


#: what has nothing to compare but its members.
_CONTAINERS = {griffe.Module, griffe.Class}
#: kind of a breakage of griffe -> a sentence on a parameter.
_SENTENCES = {
    "PARAMETER_REMOVED": "parameter `{name}` of {where} was removed",
    "PARAMETER_MOVED": "parameter `{name}` of {where} is at another position",
    "PARAMETER_CHANGED_KIND": "parameter `{name}` of {where} is {new.kind.value} "
    "(was {old.kind.value})",
    "PARAMETER_CHANGED_DEFAULT": "the default of `{name}` of {where} is {new.default} "
    "(was {old.default})",
    "PARAMETER_CHANGED_REQUIRED": "parameter `{name}` of {where} is required now",
    "PARAMETER_ADDED_REQUIRED": "parameter `{name}` of {where} is new and required",
}


def _incompatible(old: Package, new: Package, until: float | None) -> Iterator[PublicChange]:
    """Yield what griffe finds of names that both versions have.

    It compares no definition with one that is imported or inherited now: it is given definitions.
    """
    compared = set()
    # a method first by the class that defines it
    for path in sorted(old.names, key=lambda p: (p != old.paths[old.names[p].path], _length(p))):
        child_processes.check_time(until)
        before, after = old.names[path], new.find(path)
        if after is None or (before.path, after.path) in compared:
            continue
        if {type(before), type(after)} <= _CONTAINERS:
            continue
        compared.add((before.path, after.path))
        modules = griffe.Module("names"), griffe.Module("names")
        for module, definition in zip(modules, (before, after), strict=True):
            module.members["name"] = definition
        # griffe takes a name for private that __all__ of its module does not list
        before.public = True
        yield from _breakages(path, griffe.find_breaking_changes(*modules))


def _breakages(path: str, found: Iterable[griffe.Breakage]) -> Iterator[PublicChange]:
    """Yield the differences in one definition that a caller can notice."""
    is_moved = False
    for breakage in found:
        kind, at = breakage.kind.name, breakage.obj
        before, after = breakage.old_value, breakage.new_value
        in_class = isinstance(at.parent, griffe.Class)
        if kind == "OBJECT_CHANGED_KIND":
            # whatever a module assigns or imports may be called, too
            if in_class or "attribute" not in (before.value, after.value):
                sentence = f"{path} is now of kind {_kind(at)} (was {before.value})"
                yield _change("kind", path, at, sentence)
        elif kind in _SENTENCES:
            name = (before or after).name
            same = kind == "PARAMETER_CHANGED_DEFAULT" and _is_same(before.default, after.default)
            # those behind one that has moved have moved, too
            same |= kind == "PARAMETER_MOVED" and is_moved
            is_moved |= kind == "PARAMETER_MOVED"
            if not same and name not in ("self", "cls"):
                where = ".".join(path.split(".")[-2 if in_class else -1 :])
                sentence = _SENTENCES[kind].format(name=name, where=where, old=before, new=after)
                yield _change("signature", path, at, sentence)


def _noticed(old: Package, new: Package) -> Iterator[PublicChange]:
    """Yield what a caller notices and griffe does not look for."""
    for path, after in new.names.items():
        before = old.names.get(path)
        if path != new.paths[after.path]:
            continue
        was_abstract = before is not None and "abstractmethod" in before.labels
        is_method = isinstance(old.names.get(path.rpartition(".")[0]), griffe.Class)
        if is_method and "abstractmethod" in after.labels and not was_abstract:
            yield _change("kind", path, after, f"{path} has to be defined by a subclass now")
        if before is None:
            continue
        if isinstance(before, griffe.Class) and isinstance(after, griffe.Class):
            still = {_base_name(base, after) for each in _lineage(after) for base in _bases(each)}
            for base in _bases(before):
                if _base_name(base, before) not in still and not base.endswith(_EMPTY):
                    sentence = f"{path} is no longer a subclass of {base}"
                    yield _change("base class", path, after, sentence)
        if isinstance(before, griffe.Attribute) and isinstance(after, griffe.Attribute):
            one, other = _literal(before.value), _literal(after.value)
            is_shared = after.labels & {"module-attribute", "class-attribute"}
            if is_shared and None not in (one, other) and one != other:
                if isinstance(one, dict) and isinstance(other, dict):
                    one, other = (
                        {key: a[key] for key in a if key not in b or a[key] != b[key]}
                        for a, b in ((one, other), (other, one))
                    )
                yield _change("value", path, after, f"{path} is {other} (was {one})")
        for text in sorted(_deprecations(after) - _deprecations(before)):
            yield _change("deprecated", path, after, f"{path} warns now: {text}")


def _lineage(of: griffe.Class) -> list[griffe.Class]:
    """Return a class and what it inherits from in the package."""
    try:
        return [of, *of.mro()]
    except ValueError:
        return [of]


def _bases(of: griffe.Class) -> list[str]:
    return [base if isinstance(base, str) else base.canonical_path for base in of.bases]


def _base_name(base: str, of: griffe.Class) -> str:
    """Return what a base class is known by: of the same package it may have moved."""
    return base.rpartition(".")[2] if base.partition(".")[0] == of.package.name else base


def _bases_outside(of: griffe.Class) -> list[str]:
    """Return the base classes from other packages, which may bring attributes."""
    found = {base for each in _lineage(of) for base in _bases(each)}
    return sorted(
        base for base in found
        if base.partition(".")[0] != of.package.name and not base.endswith(_EMPTY)
    )  # fmt: skip


def _literal(value: str | griffe.Expr | None) -> Any:
    """Return the value of a literal, or of the name of one; None: it is neither."""
    named = _named(value)
    try:
        return ast.literal_eval(str(named.value if isinstance(named, griffe.Attribute) else value))
    except (*UNREADABLE, TypeError):
        return None


def _is_same(old: str | griffe.Expr | None, new: str | griffe.Expr | None) -> bool:
    """Return whether two defaults are the same, as literals or as text."""
    return str(old) == str(new) or None is not _literal(old) == _literal(new)


def _deprecations(of: griffe.Object) -> set[str]:
    """Return the warnings of a function, or the decorators of a class, that it will be gone."""
    is_code = isinstance(of, griffe.Function | griffe.Class) or "property" in of.labels
    if not is_code or not _GOES.search(of.source):
        return set()
    try:
        (definition,) = ast.parse(textwrap.dedent(of.source)).body
    except UNREADABLE:
        return set()
    # what the methods of a class announce is theirs
    nodes = definition.decorator_list if isinstance(definition, ast.ClassDef) else [definition]
    return {
        ast.unparse(given[0]).lstrip("f").strip("'\"")
        for node in (inner for outer in nodes for inner in ast.walk(outer))
        if isinstance(node, ast.Call)
        and ast.unparse(node.func).rpartition(".")[2] in ("warn", "deprecated")
        and _GOES.search(ast.unparse(node))
        and (given := [*node.args, *(k.value for k in node.keywords if k.arg == "message")])
    }


def _change(kind: str, path: str, at: griffe.Object, summary: str) -> PublicChange:
    # a constructor that is generated has no line
    line = at.lineno or (at.parent.lineno if at.parent is not None else None) or 1
    return PublicChange(kind=kind, name=path, file=_file(at), line=line, summary=summary)
