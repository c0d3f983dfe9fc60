"""Modules of an adapter, imported although the installed version lacks some of what they name.

What a module imports and this version does not have is replaced by an ``Absent``: the module is
there all the same, and only what uses the absent thing fails, with the reason.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import functools
import importlib
import importlib.util
import pkgutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

from rlregress.errors import UserError
from rlregress.probing.interface import Unsupported


class Absent:
    """Stands for what the installed version does not have; whoever uses it is told so.

    Args:
        name: as it was imported.
        error: what the import ended with.
    """

    def __init__(self, name: str, error: BaseException) -> None:
        self._name, self._error = name, error

    def _refuse(self, *_: Any, **__: Any) -> Any:
        if broken(self._error, self._name):
            raise self._error
        raise Unsupported(f"{self._name} is not to be had: {self._error}") from self._error

    __call__ = __iter__ = __instancecheck__ = __subclasscheck__ = _refuse
    __enter__ = __exit__ = __contains__ = __len__ = _refuse

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Absent(f"{self._name}.{name}", self._error)

    def __getitem__(self, key: Any) -> Any:
        return self

    def __mro_entries__(self, bases: Any) -> tuple[type, ...]:
        # a class can be derived from it; none of its objects can be made
        return (type("Absent", (), {"__new__": lambda cls, *_, **__: self._refuse()}),)

    def __repr__(self) -> str:
        return f"<absent: {self._name}>"


class Unread(dict[str, Any]):
    """Values that could not be read: none, and why.

    Attributes:
        reason: what kept them from being read.
    """

    def __init__(self, reason: str) -> None:
        super().__init__()
        self.reason = reason


def read_each(readers: Mapping[Any, Callable[[], Mapping[str, Any]]]) -> dict[Any, Any]:
    """What each reader returns, by its key; ``Unread`` where it ends in an error."""
    answers: dict[Any, Any] = {}
    for key, reader in readers.items():
        try:
            answers[key] = reader()
        except Exception as error:  # foreign code may raise whatever it likes
            answers[key] = Unread(error_text(error))
    return answers


def error_text(error: BaseException) -> str:
    """An error in one line: its kind and its words."""
    return f"{type(error).__name__}: {error}".strip().splitlines()[0]


def broken(error: BaseException, name: str) -> bool:
    """Whether a module of the framework is there and ends in an error when it is imported.

    That is no statement of the framework about what it has: it fails.
    """
    if not isinstance(error, ImportError):
        return not isinstance(error, AttributeError)
    # what is missing is what was asked for, or a package that it would be in
    return error.name is not None and not f"{name}.".startswith(f"{error.name}.")


def absent(thing: Any) -> bool:
    """Whether the installed version does not have what a name stands for."""
    return isinstance(thing, Absent)


class _Found:
    """A module; what is not in it is absent."""

    def __init__(self, name: str, module: Any) -> None:
        self._name, self._module = name, module

    def __getattr__(self, name: str) -> Any:
        try:
            return getattr(self._module, name)
        except AttributeError:
            pass
        full = f"{self._name}.{name}"
        try:
            return importlib.import_module(full)
        except Exception as error:  # whatever keeps a foreign module from being imported
            if isinstance(error, ImportError) and error.name == full:
                error = ImportError(f"cannot import '{name}' from '{self._name}'", name=self._name)
            return Absent(full, error)


@functools.cache
def _guarded(file: str | None) -> frozenset[int]:
    """The lines of a file within ``try``."""
    lines: list[int] = []
    text = Path(file).read_text(encoding="utf-8") if file else ""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Try) and node.handlers:
            lines += range(node.body[0].lineno, (node.body[-1].end_lineno or 0) + 1)
    return frozenset(lines)


@contextlib.contextmanager
def _leniently(within: str) -> Iterator[None]:
    """What modules of the package ``within`` import is replaced where it is absent."""
    strict = builtins.__import__

    def lenient(
        name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0
    ) -> Any:
        importer = globals or {}
        ours = f"{importer.get('__name__')}.".startswith(f"{within}.")
        # whoever writes "try" knows what to do without
        if not ours or sys._getframe(1).f_lineno in _guarded(importer.get("__file__")):
            return strict(name, globals, locals, fromlist, level)
        if not fromlist:
            return _found(name.partition(".")[0], name)
        full = importlib.util.resolve_name("." * level + name, importer["__package__"])
        return _found(full, full)

    builtins.__import__ = lenient
    try:
        yield
    finally:
        builtins.__import__ = strict


def _found(name: str, imported: str) -> Any:
    """The module ``name``, or a stand-in, after ``imported`` has been tried."""
    error: BaseException = ImportError(name)
    for tried in (imported, name):
        try:
            importlib.import_module(tried)
        except Exception as raised:  # whatever keeps a foreign module from being imported
            error = raised
    module = sys.modules.get(name)
    return Absent(name, error) if module is None else _Found(name, module)


def load(name: str) -> ModuleType:
    """Import a module of an adapter's package; what it lacks by that is absent."""
    return _load(name, name.rpartition(".")[0])


def _load(name: str, within: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except Exception:  # as above
        with _leniently(within):
            return importlib.import_module(name)


def find_in(package: str, **functions: Sequence[str]) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a package whose functions are in modules of it.

    A module is imported when one of its functions is needed.

    Args:
        functions: by module, the names of those that the package has.
    """
    modules = {name: module for module, names in functions.items() for name in names}

    def find(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        try:
            return getattr(_load(f"{package}.{modules[name]}", package.rpartition(".")[0]), name)
        except AttributeError as error:  # which would stand for a function that is left out
            raise UserError(f"{package}.{modules[name]} gives no {name}: {error}") from error

    return find


@functools.cache
def load_all(package: str) -> tuple[Any, ...]:
    """Import the families of probes of an adapter: all modules of a package.

    A family that cannot be imported at all has the probes that its file names, and each of them
    raises what kept it from being imported.
    """
    families: list[Any] = []
    for module in pkgutil.iter_modules(importlib.import_module(package).__path__):
        if not module.ispkg:
            try:
                families.append(_load(f"{package}.{module.name}", package.rpartition(".")[0]))
            except Exception as error:  # as above
                families.append(_unread(f"{package}.{module.name}", error))
    return tuple(families)


def probes_of(package: str, scope: str = "library") -> dict[tuple[str, str], Any]:
    """Return what the families of a package have in ``PROBES``, by detail and scope.

    Args:
        scope: of the probes that have a detail alone as their key.
    """
    return {
        key if isinstance(key, tuple) else (key, scope): probe
        for family in load_all(package)
        for key, probe in family.PROBES.items()
    }


def absent_in(package: str) -> dict[str, str]:
    """Return what the families of a package state in ``ABSENT``: detail -> what is not there."""
    return {
        detail: reason
        for family in load_all(package)
        for detail, reason in getattr(family, "ABSENT", {}).items()
    }


def _unread(module: str, error: Exception) -> Any:
    spec = importlib.util.find_spec(module)
    text = Path(spec.origin).read_text(encoding="utf-8") if spec and spec.origin else ""
    probes = {key: _raising(error) for key in _keys(ast.parse(text))}
    return SimpleNamespace(__name__=module, PROBES=probes, ABSENT={}, UNREAD=error)


def _keys(tree: ast.Module) -> list[Any]:
    """Detail ids, or pairs of an id and a scope, of the tables of probes that a module makes.

    They are keys of dictionaries, or are made of tables of measurements; what ``ABSENT`` holds has
    no probe.
    """
    keys: dict[Any, None] = {}
    for statement in tree.body:
        stored = {n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and _is_set(n)}
        for node in ast.walk(statement) if "ABSENT" not in stored else ():
            if isinstance(node, ast.DictComp):
                keys.update(dict.fromkeys(_measured(tree, node)))
            for key in node.keys if isinstance(node, ast.Dict) else ():
                with contextlib.suppress(ValueError):
                    given = ast.literal_eval(key) if key is not None else None
                    id = given[0] if isinstance(given, tuple) and len(given) == 2 else given
                    if isinstance(id, str) and "." in id:
                        keys[given] = None
    return list(keys)


def _is_set(name: ast.Name) -> bool:
    return isinstance(name.ctx, ast.Store)


def _measured(tree: ast.Module, node: ast.DictComp) -> list[Any]:
    """The keys that a dictionary makes of the ``MEASUREMENTS`` of an imported module."""
    scope = node.key.elts[1] if isinstance(node.key, ast.Tuple) else None
    named = ast.unparse(node.generators[0].iter).partition(".MEASUREMENTS")
    for imported in (node for node in tree.body if isinstance(node, ast.ImportFrom)):
        for alias in imported.names if named[1] else ():
            if named[0] == (alias.asname or alias.name):
                table = importlib.import_module(f"{imported.module}.{alias.name}").MEASUREMENTS
                return [(id, ast.literal_eval(scope)) if scope else id for id in table]
    return []


def _raising(error: Exception) -> Callable[[Mapping[str, Any]], Any]:
    raised_at = error.__traceback__

    def probe(inputs: Mapping[str, Any]) -> Any:
        del inputs
        raise error.with_traceback(raised_at)

    return probe
