"""Changes of the public names of one package between two folders, read without importing it.

griffe reads the sources and finds changes of parameters. Names that are gone or have moved, kinds,
base classes, literal values and deprecations are compared here. Bodies of functions are compared
elsewhere. Of a name that branches of a condition define differently, one definition is compared.
"""

from __future__ import annotations

import ast
import builtins
import dis
import enum
import gc
import re
import textwrap
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import griffe

from rlregress.errors import UserError
from rlregress.model.code import ChangedPiece
from rlregress.source import UNREADABLE, list_sources_below
from rlregress.trace import child_processes
from rlregress.upgrade.differences.name_origins import find_full_names, parse_with_origins
from rlregress.upgrade.differences.offered_names import OfferedNames

#: errors of griffe for a name whose definition it does not find.
_UNRESOLVED = (griffe.GriffeError, KeyError, ValueError, AttributeError)
#: names of folders and modules that users do not import.
_TESTS = re.compile(r"test|tests|conftest|test_.*|__main__")
#: base classes whose attributes are not compared.
_EMPTY = ("ABC", "Generic", "NamedTuple", "Protocol", "object")
#: reasons why it is not known which names a module offers.
_UNDEFINED = "__all__ lists it, and no statement of the module defines it"
_AMBIGUOUS = "it is imported when it is used, and several definitions have its name"
_UNSPELLED = "its __getattr__ spells none of the names that it offers"
#: options of a dataclass that do not change its constructor, and their defaults.
_DATACLASS = {"eq": "True", "order": "False", "unsafe_hash": "False", "frozen": "False",
              "slots": "False"}  # fmt: skip
#: finds words that announce a removal.
_GOES = re.compile(r"deprecat|FutureWarning|(will|to) be removed", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class PublicChange:
    """One difference in the public names of a package.

    Attributes:
        kind: "gone", "moved", "signature", "base class", "value", "kind", "deprecated" or "unread".
        name: the shortest dotted path that a caller writes.
        file, line: below the folder that holds the package; of the old version for lost names.
        summary: one sentence.
    """

    kind: str
    name: str
    file: str
    line: int
    summary: str

    @property
    def breaks_callers(self) -> bool:
        """Return whether a caller written for the old version can fail or get another value."""
        return self.kind not in ("deprecated", "unread")


@dataclass(frozen=True, kw_only=True)
class Package:
    """A package as its source defines it.

    Attributes:
        root: its tree; None: it could not be read.
        names: public path -> definition, of modules, their contents, and members of classes.
        paths: path of a definition -> the shortest public path to it.
        unread: file, or public path -> its file and why it was not read.
    """

    folder: Path
    root: griffe.Module | None = None
    names: dict[str, griffe.Object] = field(default_factory=dict)
    paths: dict[str, str] = field(default_factory=dict)
    unread: dict[str, tuple[str, str]] = field(default_factory=dict)

    def find_definition(self, path: str) -> griffe.Object | None:
        """Return the definition of a name, also of one that is not public."""
        with suppress(*_UNRESOLVED):
            if self.root is not None:
                return self.names.get(path) or _resolve_member(self.root[path.partition(".")[2]])
        return None

    def list_paths_of_definition(self, name: str) -> set[str]:
        """Return all dotted paths of a definition; empty if there is no such definition."""
        definition = self.find_definition(name)
        if definition is None:
            return set()
        return {name, definition.path, self.paths.get(definition.path, name)}

    def list_signatures(self, name: str) -> dict[str, str]:
        """Return the signatures of a name (key "") and of the public names x in it (key ".x")."""
        definition = self.find_definition(name)
        path = name if definition is None else self.paths.get(definition.path, name)
        below_it = {n: d for n, d in self.names.items() if n.startswith(f"{path}.")}
        own = {} if definition is None else {path: definition}
        return {n.removeprefix(path): _format_signature(d) for n, d in {**own, **below_it}.items()}


def list_public_changes(old: Path, new: Path) -> list[PublicChange]:
    """Return the changes of the public names of a package, those that break a caller first.

    Args:
        old, new: folders of the package.

    Raises:
        OutOfTime: time was over before the names were compared.
        UserError: one of the folders is no package.
    """
    listed = _compare_packages(read_package(old), read_package(new))
    return sorted(set(listed), key=lambda c: (not c.breaks_callers, c.kind, c.name, c.summary))


def _read_file_of_package(package: Package, file: str) -> bytes | None:
    path = package.folder.parent / file
    return path.read_bytes() if path.is_file() else None


def _compare_packages(old: Package, new: Package) -> list[PublicChange]:
    """Return the changes between packages that were read."""
    for version in (old, new):
        if version.root is None:
            return [
                make_entry_not_compared(version.folder.name, why)
                for _, why in version.unread.values()
            ]
    listed = [*_list_unread_names_in_changed_files(old, new)]
    with _pause_garbage_collection_and_logs():
        for kind, path, definition, summary in (
            *_list_gone_names(old, new),
            *_list_incompatible_uses(old, new),
            *_list_class_changes_and_deprecations(old, new),
        ):
            file = _locate_file(definition)
            # a constructor that is generated has no line
            line = definition.lineno or getattr(definition.parent, "lineno", None) or 1
            # a file that was not read has unknown names
            if file not in new.unread:
                listed.append(
                    PublicChange(kind=kind, name=path, file=file, line=line, summary=summary)
                )
    return listed


def can_change_public_names(pieces: Iterable[ChangedPiece]) -> bool:
    """Return whether pieces of code that differ can change a public name.

    Reading a large package takes many seconds, and most edits change only bodies of functions.
    """
    return any(
        piece.old is None
        or piece.new is None
        or piece.runs_at_import
        or piece.was
        or piece.name.endswith("__init__")
        or piece.old.head != piece.new.head
        or _GOES.search(piece.new.whole)
        for piece in pieces
    )


def make_entry_not_compared(package: str, reason: str) -> PublicChange:
    """Return the entry of a package whose names were not compared."""
    summary = f"the public names of {package} were not compared: {reason}"
    return PublicChange(
        kind="unread", name=package, file=f"{package}/__init__.py", line=1, summary=summary
    )


# -- reading ---------------------------------------------------------------------------------------


def read_package(folder: Path) -> Package:
    """Read a package. Files and names that cannot be read are listed as ``unread``.

    Raises:
        OutOfTime: time was over before the package was read.
        UserError: the folder is no package.
    """
    folder = folder.absolute()
    if not (folder / "__init__.py").is_file():
        raise UserError(f"{folder} is no package; expected a folder with an __init__.py")
    # with the extensions that read dataclasses
    offered = OfferedNames()
    loader = griffe.GriffeLoader(
        search_paths=[folder.parent], allow_inspection=False,
        extensions=griffe.load_extensions(offered),
    )  # fmt: skip
    with _pause_garbage_collection_and_logs():
        try:
            root = loader.load(folder.name, submodules=True, try_relative_path=False)
            loader.resolve_aliases(implicit=True, external=False)
        except (griffe.GriffeError, ImportError, *UNREADABLE) as error:
            return Package(folder=folder, unread={folder.name: ("", str(error))})
        assert isinstance(root, griffe.Module)
        package = Package(folder=folder, root=root)
        modules = list(_walk_modules(root))
        _collect_public_names_of_modules(package, modules, offered)
    files = {module.filepath for module in modules}
    for path in list_sources_below(folder):
        file = _path_below_parent(path, folder)
        if path not in files and not _is_internal_or_test(file):
            package.unread[file] = (file, _explain_unread_file(path))
    return package


def _collect_public_names_of_modules(
    package: Package, modules: Sequence[griffe.Module], offered: OfferedNames
) -> None:
    """Add all public names of the modules of a package."""
    defined: dict[str, list[griffe.Object]] = {}
    for module in modules:
        for name, member in module.members.items():
            if isinstance(member, griffe.Function | griffe.Class):
                defined.setdefault(name, []).append(member)
    for module in modules:
        if not _is_internal_or_test(module.path):
            _collect_public_names(package, module, defined, offered.lazy.get(module.path))
            if module.path in offered.computed:
                package.unread[module.path] = (_locate_file(module), offered.computed[module.path])
    # a method is known by the class that defines it
    shortest = {*package.paths.values()}
    classes = [
        (name, owner)
        for name in sorted(package.names, key=lambda name: (name not in shortest, name))
        if isinstance(owner := package.names[name], griffe.Class)
    ]
    # those that are defined in a class are appended to the list
    for name, owner in classes:
        classes += _collect_members(package, name, owner.members)
    for name, owner in classes:
        _collect_members(package, name, owner.inherited_members)


@contextmanager
def _pause_garbage_collection_and_logs() -> Iterator[None]:
    """Pause garbage collection, which is slow with millions of live nodes, and logging."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        with griffe.logger.disable():
            yield
    finally:
        if collecting:
            gc.enable()


def _path_below_parent(path: Path, folder: Path) -> str:
    return path.relative_to(folder.parent).as_posix()


def _explain_unread_file(path: Path) -> str:
    try:
        ast.parse(path.read_bytes())
    except UNREADABLE as error:
        return f"it does not parse: {error}"
    return "it is in no package: an __init__.py is missing above it"


def _walk_modules(module: griffe.Module) -> Iterator[griffe.Module]:
    yield module
    for member in list(module.members.values()):
        if isinstance(member, griffe.Module):
            yield from _walk_modules(member)


def _is_internal_or_test(path: str) -> bool:
    """Return whether a dotted path or a file is internal, or belongs to tests."""
    return any(
        _TESTS.fullmatch(part) or (part.startswith("_") and not part.startswith("__"))
        for part in re.split(r"[./]", path.removesuffix(".py"))[1:]
    )


def _collect_public_names(
    package: Package,
    module: griffe.Module,
    defined: Mapping[str, Sequence[griffe.Object]],
    lazy: set[str] | None,
) -> None:
    """Add a public module and the public names in it.

    Args:
        defined: what the package defines by name.
        lazy: words that may be names which the module imports at their first use; None: it has
            no such names.
    """
    file = _locate_file(module)
    names: dict[str, griffe.Object] = {module.path: module}
    listed = {str(name) for name in module.exports or ()}
    offered = listed | {word for word in lazy or () if word in defined and not word.startswith("_")}
    for name in offered - module.members.keys():
        definition = (
            _choose_shallowest_definition(module, defined.get(name, ()))
            if lazy is not None
            else None
        )
        if definition is not None:
            names[f"{module.path}.{name}"] = definition
        elif name in listed:
            why = _UNDEFINED if lazy is None else _AMBIGUOUS
            package.unread[f"{module.path}.{name}"] = (file, why)
    if lazy == set():
        package.unread[module.path] = (file, _UNSPELLED)
    for name, member in module.members.items():
        path = f"{module.path}.{name}"
        if isinstance(member, griffe.Module) or _TESTS.fullmatch(name) or "*" in name:
            continue
        if isinstance(member, griffe.Alias):
            own = member.target_path.partition(".")[0] == package.folder.name
            # a package offers what it imports from its own modules
            is_from_package = not listed and module.is_init_module and not name.startswith("_")
            if not (member.is_public if listed else is_from_package and own):
                continue
            try:
                names[path] = _resolve_assignment(member.final_target)
            except (griffe.AliasResolutionError, griffe.CyclicAliasError) as error:
                target = getattr(error, "alias", member).target_path
                module_file = package.folder.parent.joinpath(*target.split(".")[:-1])
                if target.partition(".")[0] != package.folder.name or _is_compiled(module_file):
                    names[path] = _resolve_member(member)
                else:
                    why = f"{target} is defined by no statement of the package"
                    package.unread[path] = (file, why)
        elif member.is_public and not _is_useless_to_callers(member):
            names[path] = _resolve_assignment(member)
    package.names.update(names)
    for path, definition in names.items():
        shorter = package.paths.get(definition.path, path)
        package.paths[definition.path] = min(shorter, path, key=_rank_shortest_path)


def _choose_shallowest_definition(
    module: griffe.Module, definitions: Sequence[griffe.Object]
) -> griffe.Object | None:
    """Return the definition nearest to a module, preferably below it; None: several are."""
    depths = [(not d.path.startswith(f"{module.path}."), d.path.count(".")) for d in definitions]
    nearest = min(depths, default=(True, 0))
    return definitions[depths.index(nearest)] if depths.count(nearest) == 1 else None


def _is_compiled(module: Path) -> bool:
    return any(path.suffix in (".so", ".pyd") for path in module.parent.glob(f"{module.name}.*"))


def _collect_members(
    package: Package, path: str, members: Mapping[str, griffe.Object | griffe.Alias]
) -> list[tuple[str, griffe.Class]]:
    """Add public members of a class, and return the classes among them."""
    classes = []
    for name, member in members.items():
        with suppress(*_UNRESOLVED):
            definition = _resolve_member(member)
            if member.is_special or not (
                name.startswith("_") or _is_useless_to_callers(definition)
            ):
                package.names[f"{path}.{name}"] = definition
                if isinstance(definition, griffe.Class) and definition.path not in package.paths:
                    classes.append((f"{path}.{name}", definition))
                package.paths.setdefault(definition.path, f"{path}.{name}")
    return classes


def _is_useless_to_callers(definition: griffe.Object) -> bool:
    """Return whether a caller has no use for an attribute: special, without a value, or a type.

    Fields are parameters of a constructor.
    """
    if not isinstance(definition, griffe.Attribute) or "property" in definition.labels:
        return False
    owner = definition.parent
    is_field = (
        isinstance(owner, griffe.Class)
        and "dataclass" in owner.labels
        and definition.annotation is not None
    )
    is_type = str(definition.value).partition("(")[0].endswith(("TypeVar", "ParamSpec"))
    return definition.name.startswith("__") or is_field or is_type or definition.value is None


def _resolve_assignment(member: griffe.Object) -> griffe.Object:
    """Return the class or function of which an assignment makes an alias, or else the member."""
    named = _find_named_definition(member.value) if isinstance(member, griffe.Attribute) else None
    return named if isinstance(named, griffe.Class | griffe.Function) else member


def _find_named_definition(value: str | griffe.Expr | None) -> griffe.Object | None:
    """Return the definition in the package that a value names."""
    if isinstance(value, griffe.ExprName) and isinstance(value.parent, griffe.Object):
        with suppress(*_UNRESOLVED):
            return _resolve_member(value.parent.modules_collection[value.canonical_path])
    return None


def _resolve_member(member: griffe.Object | griffe.Alias) -> griffe.Object:
    """Return the definition of a member; an empty one if another package defines it."""
    if isinstance(member, griffe.Object):
        return member
    try:
        return member.final_target
    except (griffe.AliasResolutionError, griffe.CyclicAliasError):
        return griffe.Attribute(member.name, lineno=member.alias_lineno, parent=member.parent)


def _get_kind(definition: griffe.Object) -> str:
    """Return the kind of an object as a caller uses it."""
    if "property" in definition.labels:
        return "property"
    if isinstance(definition, griffe.Function):
        if any(d.callable_path.endswith("contextmanager") for d in definition.decorators):
            return "context manager"
        if "async" in definition.labels:
            return "async function"
    return definition.kind.value


def _format_signature(definition: griffe.Object) -> str:
    if isinstance(definition, griffe.Function):
        parameters = (
            p.name if p.default is None else f"{p.name}={p.default}" for p in definition.parameters
        )
        return f"({', '.join(parameters)})"
    if isinstance(definition, griffe.Class):
        return f"({', '.join(_list_base_names(definition))})"
    return f" = {definition.value}" if isinstance(definition, griffe.Attribute) else ""


def _rank_shortest_path(path: str) -> tuple[int, str]:
    return path.count("."), path


def _locate_file(definition: griffe.Object) -> str:
    """Return the file that defines an object, relative to the folder that holds the package."""
    module = definition if isinstance(definition, griffe.Module) else definition.module
    return module.path.replace(".", "/") + ("/__init__.py" if module.is_init_module else ".py")


# -- comparing -------------------------------------------------------------------------------------


def _list_unread_names_in_changed_files(old: Package, new: Package) -> Iterator[PublicChange]:
    """Yield names and files of the old version that were not read, if their file differs."""
    for name, (file, why) in {**old.unread, **new.unread}.items():
        before, after = _read_file_of_package(old, file), _read_file_of_package(new, file)
        is_old = name in old.unread or name in old.names or (name == file and before)
        is_gone = why == _UNDEFINED and name in old.names
        if is_old and not is_gone and (before != after or why == _UNSPELLED):
            summary = f"{name} was not read: {why}"
            yield PublicChange(kind="unread", name=name, file=file, line=1, summary=summary)


#: kind, public path, definition and sentence of a change.
_Change = tuple[str, str, griffe.Object, str]


def _list_gone_names(old: Package, new: Package) -> Iterator[_Change]:
    """Yield names that are gone, and where they are now."""
    paths_of: dict[str, list[str]] = defaultdict(list)
    for path, definition in old.names.items():
        paths_of[definition.path].append(path)
    # names that only the new version has
    homes: dict[tuple[str, griffe.Kind], set[str]] = defaultdict(set)
    for path in new.names.keys() - old.names.keys():
        definition = new.names[path]
        if not isinstance(definition.parent, griffe.Class):
            homes[definition.name, definition.kind].add(new.paths[definition.path])
    for path, definition in old.names.items():
        owner = path.rpartition(".")[0]
        # the module may import it when it is used
        unknown = {new.unread[p][1] for p in (path, owner) if p in new.unread}
        if new.find_definition(path) is not None or unknown & {_AMBIGUOUS, _UNSPELLED}:
            continue
        new_owner = new.find_definition(owner)
        is_shortest = path == old.paths[definition.path]
        change, sentence = "gone", f"{_get_kind(definition)} {path} is gone"
        if isinstance(old.names.get(owner), griffe.Class):
            if (
                not is_shortest
                or not isinstance(new_owner, griffe.Class)
                or _does_class_use_name(new_owner, definition.name)
            ):
                continue
            outside, known_bases = _list_outside_bases(new_owner)
            # the class still has it from a base, as every class has a constructor
            if any(definition.name in dir(base) for base in (object, *known_bases)):
                continue
            sentence += f"; {', '.join(outside)} may still define it" if outside else ""
        # with its module, everything in it is gone
        elif new_owner is None and owner:
            continue
        elif still := [p for p in paths_of[definition.path] if p in new.names]:
            home = min(still, key=_rank_shortest_path)
            change, sentence = "moved", f"{path} is gone; it is still {home}"
        elif not is_shortest:
            continue
        elif len(moved_to := homes[definition.name, definition.kind]) == 1:
            change, sentence = "moved", f"{path} has moved to {min(moved_to)}"
        yield change, path, definition, sentence


def _does_class_use_name(owner: griffe.Class, name: str) -> bool:
    """Return whether the source of a class, or of its bases in the package, names an attribute."""
    used = re.compile(rf"self\.{re.escape(name)}\b|[\"']{re.escape(name)}[\"']")
    return any(used.search(ancestor.source) for ancestor in _list_class_and_bases(owner))


#: types of which only the members are compared.
_CONTAINERS = {griffe.Module, griffe.Class}
#: griffe's name for a kind of breakage -> the sentence about a parameter.
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


def _list_incompatible_uses(old: Package, new: Package) -> Iterator[_Change]:
    """Yield incompatible uses and parameters of names that both versions have.

    griffe cannot compare a definition with an imported or inherited one: both are resolved first.
    """
    compared = set()
    # a method first by the class that defines it
    for path in sorted(
        old.names, key=lambda p: (p != old.paths[old.names[p].path], _rank_shortest_path(p))
    ):
        child_processes.raise_if_time_is_over()
        before, after = old.names[path], new.find_definition(path)
        if after is None or (before.path, after.path) in compared:
            continue
        if {type(before), type(after)} <= _CONTAINERS:
            continue
        compared.add((before.path, after.path))
        for kind, sentence in _list_lost_uses(path, before, after):
            yield kind, path, after, sentence
        for sentence in _list_parameter_breakages(path, before, after):
            yield "signature", path, after, sentence


def _list_lost_uses(path: str, old: griffe.Object, new: griffe.Object) -> Iterator[tuple[str, str]]:
    """Yield the ways in which a definition can no longer be used, apart from its parameters."""
    if isinstance(old, griffe.Attribute) and isinstance(new, griffe.Attribute):
        if _can_be_set(old) and not _can_be_set(new):
            yield "kind", f"{path} can no longer be set"
        if "deletable" in old.labels - new.labels:
            yield "kind", f"{path} can no longer be deleted"
        yield from _list_changed_values(path, old, new)
        return
    in_class = isinstance(new.parent, griffe.Class)
    assigned = next((d for d in (new, old) if isinstance(d, griffe.Attribute)), None)
    if assigned is not None and not in_class and _read_literal(assigned.value) is _COMPUTED:
        # whatever a module assigns may be called, too
        if assigned is new and new.value is not None:
            yield "unread", f"{path} was not read: it is {new.value} now"
    elif _get_kind(old) != _get_kind(new):
        yield "kind", f"{path} is now of kind {_get_kind(new)} (was {_get_kind(old)})"
    on_class = {"classmethod", "staticmethod"}
    if on_class & old.labels and not on_class & new.labels and not old.is_special:
        yield "kind", f"{path} can no longer be called on its class"


def _can_be_set(attribute: griffe.Attribute) -> bool:
    return "property" not in attribute.labels or bool({"writable", "cached"} & attribute.labels)


def _list_changed_values(
    path: str, before: griffe.Attribute, after: griffe.Attribute
) -> Iterator[tuple[str, str]]:
    """Yield the change of the value of a constant or of a class attribute."""
    is_shared = after.labels & {"module-attribute", "class-attribute"}
    values = before.value, after.value
    if not is_shared or None in values or _are_same_values(*values):
        return
    old, new = map(_read_literal, values)
    # a change of another computed value counts if code that uses it is executed
    if new is _COMPUTED and (old is not _COMPUTED or _makes_callable(after.value)):
        yield "unread", f"{path} was not read: it is {after.value} now"
    elif new is not _COMPUTED and old is not _COMPUTED:
        if isinstance(old, dict) and isinstance(new, dict):
            old, new = (
                {key: own[key] for key in own if key not in other or own[key] != other[key]}
                for own, other in ((old, new), (new, old))
            )
        yield "value", f"{path} is {new} (was {old})"


def _makes_callable(value: str | griffe.Expr | None) -> bool:
    """Return whether an expression makes a function or a class, with parameters not compared."""
    if isinstance(value, griffe.ExprCall):
        return value.canonical_path.rpartition(".")[2] in ("namedtuple", "partial", "NewType")
    return isinstance(value, griffe.ExprLambda)


def _list_parameter_breakages(path: str, old: griffe.Object, new: griffe.Object) -> Iterator[str]:
    """Yield the differences in the parameters of one definition that a caller can notice."""
    modules = griffe.Module("names"), griffe.Module("names")
    for module, definition in zip(modules, (old, new), strict=True):
        module.members["name"] = definition
    # griffe takes a name for private that __all__ of its module does not list
    old.public = True
    where = ".".join(path.split(".")[-2 if isinstance(new.parent, griffe.Class) else -1 :])
    is_moved = False
    for breakage in griffe.find_breaking_changes(*modules):
        kind, before, after = breakage.kind.name, breakage.old_value, breakage.new_value
        if kind in _SENTENCES:
            name = (before or after).name
            same = kind == "PARAMETER_CHANGED_DEFAULT" and _are_same_values(
                before.default, after.default
            )
            # one parameter that moves takes along all those after it: only the first is reported
            same |= kind == "PARAMETER_MOVED" and is_moved
            is_moved |= kind == "PARAMETER_MOVED"
            if not same and name not in ("self", "cls"):
                yield _SENTENCES[kind].format(name=name, where=where, old=before, new=after)


def _list_class_changes_and_deprecations(old: Package, new: Package) -> Iterator[_Change]:
    """Yield lost bases, changed dataclasses, new abstract methods and new deprecations."""
    for path, after in new.names.items():
        before = old.names.get(path)
        if path != new.paths[after.path]:
            continue
        was_abstract = before is not None and "abstractmethod" in before.labels
        is_method = isinstance(old.names.get(path.rpartition(".")[0]), griffe.Class)
        if is_method and "abstractmethod" in after.labels and not was_abstract:
            yield "kind", path, after, f"{path} has to be defined by a subclass now"
        if before is None:
            continue
        if isinstance(before, griffe.Class) and isinstance(after, griffe.Class):
            still = {
                _identify_base(base, after)
                for owner in _list_class_and_bases(after)
                for base in _list_base_names(owner)
            }
            for base in _list_base_names(before):
                if _identify_base(base, before) not in still and _is_missed(base, before, after):
                    yield "base class", path, after, f"{path} is no longer a subclass of {base}"
            for sentence in _describe_changed_dataclass_options(before, after):
                yield "kind", path, after, f"{path} {sentence}"
        for text in sorted(_list_deprecations(after) - _list_deprecations(before)):
            yield "deprecated", path, after, f"{path} warns now: {text}"


def _describe_changed_dataclass_options(old: griffe.Class, new: griffe.Class) -> Iterator[str]:
    """Yield the changed options of a dataclass."""
    before, after = _read_dataclass_options(old), _read_dataclass_options(new)
    if before is not None and after is None:
        yield "is no longer a dataclass"
    if before is not None and after is not None:
        for option, default in _DATACLASS.items():
            was, now = before.get(option, default), after.get(option, default)
            if was != now:
                yield f"is a dataclass with {option}={now} (was {option}={was})"


def _read_dataclass_options(owner: griffe.Class) -> dict[str, str] | None:
    """Return the options of a dataclass, or of its nearest base; None: it is no dataclass."""
    for ancestor in _list_class_and_bases(owner):
        for decorator in ancestor.decorators:
            if decorator.callable_path.rpartition(".")[2] == "dataclass":
                arguments = getattr(decorator.value, "arguments", ())
                return {a.name: str(a.value) for a in arguments if hasattr(a, "name")}
    return None


def _list_class_and_bases(owner: griffe.Class) -> list[griffe.Class]:
    """Return a class and its bases in the package."""
    try:
        return [owner, *owner.mro()]
    except ValueError:
        return [owner]


def _list_base_names(owner: griffe.Class) -> list[str]:
    return [base if isinstance(base, str) else base.canonical_path for base in owner.bases]


def _identify_base(base: str, owner: griffe.Class) -> str:
    """Return the identity of a base class: its name alone if several modules may offer it."""
    if base == "collections.namedtuple":
        return "NamedTuple"
    # it may have moved in the package, which may also pass on a class of typing
    several = (owner.package.name, "typing", "typing_extensions")
    return base.rpartition(".")[2] if base.partition(".")[0] in several else base


def _is_missed(base: str, old: griffe.Class, new: griffe.Class) -> bool:
    """Return whether a caller of a class can notice that it has lost a base class."""
    name = base.rpartition(".")[2]
    if name == "Generic":
        # a base that takes types makes the class generic, too
        takes_types = any(isinstance(other, griffe.ExprSubscript) for other in new.bases)
        return not (takes_types or new.type_parameters or "__class_getitem__" in new.members)
    if name == "Protocol":
        # isinstance() refuses other protocols
        return any(d.callable_path.endswith("runtime_checkable") for d in old.decorators)
    return name not in ("ABC", "object")


def _list_outside_bases(owner: griffe.Class) -> tuple[list[str], list[type]]:
    """Return the base classes from other packages: names of unknown ones, and known classes.

    The known ones are those of builtins and ``enum``. All may bring attributes.
    """
    names = {
        base for ancestor in _list_class_and_bases(owner) for base in _list_base_names(ancestor)
    }
    outside = sorted(
        base for base in names
        if base.partition(".")[0] != owner.package.name and base.rpartition(".")[2] not in _EMPTY
    )  # fmt: skip
    known = {}
    for base in outside:
        kind = getattr(builtins, base, None) or getattr(enum, base.removeprefix("enum."), None)
        if isinstance(kind, type):
            known[base] = kind
    return [base for base in outside if base not in known], list(known.values())


#: stands for the value of an expression that is not a literal.
_COMPUTED = object()
#: instructions of code that only returns a constant.
_CONSTANT = {"RESUME", "LOAD_CONST", "LOAD_SMALL_INT", "RETURN_CONST", "RETURN_VALUE"}


def _read_literal(value: str | griffe.Expr | None) -> Any:
    """Return the value of a literal, of arithmetic with some, or of the name of one.

    ``_COMPUTED``: it is none of them.
    """
    if value is None:
        return _COMPUTED
    named = _find_named_definition(value)
    text = str(named.value if isinstance(named, griffe.Attribute) else value)
    with suppress(*UNREADABLE, TypeError):
        return ast.literal_eval(text)
    with suppress(*UNREADABLE):
        # Python computes arithmetic with numbers as it compiles, unless the result is huge
        code = compile(text, "value", "eval")
        if {instruction.opname for instruction in dis.get_instructions(code)} <= _CONSTANT:
            return eval(code, {})  # noqa: S307
    return _COMPUTED


def _are_same_values(old: str | griffe.Expr | None, new: str | griffe.Expr | None) -> bool:
    """Return whether two values are the same, as literals, as text or by their full names."""
    before, after = _read_literal(old), _read_literal(new)
    if _COMPUTED in (before, after):
        return str(old) == str(new) or _find_full_name(old) == _find_full_name(new) != ""
    return type(before) is type(after) and before == after


def _find_full_name(value: str | griffe.Expr | None) -> str:
    """Return the only full name that a name can have in its module; "": it is not known."""
    first = value.first if isinstance(value, griffe.ExprAttribute) else value
    if not isinstance(first, griffe.ExprName) or not isinstance(first.parent, griffe.Object):
        return ""
    try:
        # a name has the same origins everywhere in its module
        last = parse_with_origins(f"{first.parent.module.source}\n{value}").body[-1]
    except UNREADABLE:
        return ""
    names = find_full_names(last.value) if isinstance(last, ast.Expr) else ()
    return min(names) if len(names) == 1 else ""


def _list_deprecations(owner: griffe.Object) -> set[str]:
    """Return a function's deprecation warnings, or a class's deprecation decorators."""
    is_code = isinstance(owner, griffe.Function | griffe.Class) or "property" in owner.labels
    if not is_code or not _GOES.search(owner.source):
        return set()
    try:
        (definition,) = ast.parse(textwrap.dedent(owner.source)).body
    except UNREADABLE:
        return set()
    # methods of a class announce their own removal
    nodes = definition.decorator_list if isinstance(definition, ast.ClassDef) else [definition]
    return {
        ast.unparse(messages[0]).lstrip("f").strip("'\"")
        for node in (inner for outer in nodes for inner in ast.walk(outer))
        if isinstance(node, ast.Call)
        and ast.unparse(node.func).rpartition(".")[2] in ("warn", "deprecated")
        and _GOES.search(ast.unparse(node))
        and (messages := [*node.args, *(k.value for k in node.keywords if k.arg == "message")])
    }
