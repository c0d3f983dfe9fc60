"""The calls of a function, and the conditions under which each is made.

A method is called by what can be an instance of its class: ``self`` in the class, in its bases and
in what derives from it; a name that is annotated with one of these, or made by calling it. A
function is called in its own file, and where it or its module is imported. Other calls of the name
are those of something else, such as another algorithm's function, and are no hint.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from rlregress.inside import bindings
from rlregress.model.code import Changed
from rlregress.source import UNREADABLE, below

#: places that are named.
_LISTED = 2
#: file and name of a class.
_Class = tuple[str, str]


@dataclass(frozen=True)
class _Call:
    """A call in a source.

    Attributes:
        where: qualified name of the function or class that it stands in.
        on: what its name is an attribute of: the last name of that; empty: it stands alone.
    """

    where: str
    conditions: Sequence[str]
    on: str


@dataclass
class _Source:
    """The classes and calls of a source file.

    Attributes:
        calls: by the name that is called.
        classes: qualified name of each class -> names of its bases.
        kinds: name of a variable or an attribute -> names in its annotations, and of what makes it.
        imported: what names of this file are: module, and name in it.
    """

    calls: dict[str, list[_Call]] = field(default_factory=dict)
    classes: dict[str, set[str]] = field(default_factory=dict)
    kinds: dict[str, set[str]] = field(default_factory=dict)
    imported: dict[str, tuple[str, str]] = field(default_factory=dict)


def callers(function: Changed, folders: Sequence[str]) -> list[str]:
    """Describe where a function is called from, and under which conditions.

    Args:
        folders: packages to look in.
    """
    kind, _, name = function.name.removeprefix("<class> ").rpartition(".")
    if function.at_import:
        return []
    if name in ("__init__", "__new__"):
        # a class is called by its own name
        kind, _, name = kind.rpartition(".")
    if name.startswith("__"):
        return []
    read = _read(tuple(folders))
    sentences: list[str] = []
    for file, source in read.files.items():
        for call in source.calls.get(name, ()):
            if call.where == function.name:
                continue
            if kind and not read.is_one(call, file, (function.file, kind)):
                continue
            if not kind and not _is_of_module(call, name, file, function.file, source):
                continue
            condition = f" if {' and '.join(call.conditions)}" if call.conditions else ""
            sentences.append(f"may be called by {call.where or 'the module'} ({file}){condition}")
            if len(dict.fromkeys(sentences)) >= _LISTED:
                return list(dict.fromkeys(sentences))
    return list(dict.fromkeys(sentences))


def _module(file: str) -> str:
    return file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _hands_out(module: str, file: str) -> bool:
    """Return whether a module may offer names of a file: it is that file, or a package above it."""
    return f"{_module(file)}.".startswith(f"{module}.")


def _is_of_module(call: _Call, name: str, file: str, own: str, source: _Source) -> bool:
    """Return whether a call is that of a function or a class at the top of the module ``own``."""
    if file == own and not call.on:
        return True
    module, imported = source.imported.get(call.on or name, ("", ""))
    if call.on:
        return _module(own) in (module, f"{module}.{imported}")
    return imported == name and _hands_out(module, own)


class _Sources:
    """The sources of packages: ``files`` by their names below the folders of the packages."""

    def __init__(self, files: Mapping[str, _Source]) -> None:
        self.files = files
        self._with_class: dict[str, list[str]] = {}
        for file, source in files.items():
            for name in source.classes:
                self._with_class.setdefault(name, []).append(file)
        self._ancestors: dict[_Class, set[_Class]] = {}

    def is_one(self, call: _Call, file: str, own: _Class) -> bool:
        """Return whether the object of a method call can be an instance of a class."""
        source = self.files[file]
        around = next((call.where[:end] for end in range(len(call.where), 0, -1)
                       if call.where[:end] in source.classes), "")  # fmt: skip
        names = source.kinds.get(call.on, set()) | {call.on}
        if call.on in ("self", "cls", "super"):
            names = {around}
        kinds = {kind for name in names for kind in self._classes(name, file)}
        return any(
            own in self._with_ancestors(kind) or kind in self._with_ancestors(own) for kind in kinds
        )

    def _classes(self, name: str, file: str) -> Iterator[_Class]:
        """The classes that a name of a file stands for."""
        if name in self.files[file].classes:
            yield file, name
        elif name in self.files[file].imported:
            module, theirs = self.files[file].imported[name]
            for home in self._with_class.get(theirs, ()):
                if _hands_out(module, home):
                    yield home, theirs

    def _with_ancestors(self, kind: _Class) -> set[_Class]:
        """A class and its bases, as far as the packages have them."""
        if kind not in self._ancestors:
            ancestors: set[_Class] = set()
            waiting = [kind]
            while waiting:
                file, name = waiting.pop()
                if (file, name) not in ancestors and file in self.files:
                    ancestors.add((file, name))
                    for base in self.files[file].classes.get(name, ()):
                        waiting += self._classes(base, file)
            self._ancestors[kind] = ancestors
        return self._ancestors[kind]


def _last(node: ast.AST | None) -> str:
    """Return the last name of an expression; of a call the name of the called function."""
    if isinstance(node, ast.Call):
        return _last(node.func)
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _names(node: ast.AST) -> Iterator[str]:
    """Names in an annotation; one may stand in quotes."""
    for child in ast.walk(node):
        if isinstance(child, ast.Constant) and isinstance(child.value, str):
            with suppress(*UNREADABLE):
                yield from _names(ast.parse(child.value, mode="eval"))
        elif _last(child):
            yield _last(child)


@cache
def _read(folders: tuple[str, ...]) -> _Sources:
    """The sources of packages."""
    sources = {}
    for folder in map(Path, folders):
        for path in below(folder):
            if path.suffix == ".py":
                file = path.relative_to(folder.parent).as_posix()
                sources[file] = _source(path, file.rpartition("/")[0].replace("/", "."))
    return _Sources(sources)


def _source(path: Path, package: str) -> _Source:
    found = _Source()
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, *UNREADABLE):
        return found

    def visit(node: ast.AST, where: str, conditions: list[str]) -> None:
        if isinstance(node, ast.Call):
            on = _last(node.func.value) or "?" if isinstance(node.func, ast.Attribute) else ""
            found.calls.setdefault(_last(node.func), []).append(_Call(where, conditions, on))
        elif isinstance(node, ast.ImportFrom):
            module = bindings.imported_module(node, package)
            found.imported.update(
                (alias.asname or alias.name, (module, alias.name)) for alias in node.names
            )
        elif isinstance(node, ast.Import):
            found.imported.update(
                (alias.asname or alias.name.rpartition(".")[2], (alias.name, ""))
                for alias in node.names
            )
        elif isinstance(node, (ast.AnnAssign, ast.arg)) and node.annotation is not None:
            name = node.arg if isinstance(node, ast.arg) else _last(node.target)
            found.kinds.setdefault(name, set()).update(_names(node.annotation))
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            for target in node.targets:
                found.kinds.setdefault(_last(target), set()).add(_last(node.value))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            where, conditions = f"{where}.{node.name}" if where else node.name, []
        if isinstance(node, ast.ClassDef):
            found.classes[where] = {_last(base) for base in node.bases}
        if isinstance(node, ast.If):
            visit(node.test, where, conditions)
            condition = f"`{ast.unparse(node.test)}`"
            for child in node.body:
                visit(child, where, [*conditions, condition])
            for child in node.orelse:
                visit(child, where, [*conditions, f"not {condition}"])
            return
        for inner_node in ast.iter_child_nodes(node):
            visit(inner_node, where, conditions)

    # what nests too deeply to be followed only has no hint
    with suppress(RecursionError):
        visit(tree, "", [])
    return found
