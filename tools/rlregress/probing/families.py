"""Modules of an adapter, imported although the installed version lacks names that they import.

A missing name is replaced by an ``AbsentName``: the module is imported all the same, and only a
use of the name fails, with the reason.
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
from types import ModuleType, SimpleNamespace
from typing import Any

from rlregress import source
from rlregress.errors import UserError
from rlregress.probing.interface import Unsupported


class AbsentName:
    """Stands in for a name that the installed version lacks. Any use of it raises the reason.

    Args:
        name: as it was imported.
        error: of the import.
    """

    def __init__(self, name: str, error: BaseException) -> None:
        self._name, self._error = name, error

    def _refuse_use(self, *_: Any, **__: Any) -> Any:
        if is_error_of_existing_module(self._error, self._name):
            raise self._error
        raise Unsupported(f"{self._name} is not available: {self._error}") from self._error

    __call__ = __iter__ = __instancecheck__ = __subclasscheck__ = _refuse_use
    __enter__ = __exit__ = __contains__ = __len__ = _refuse_use

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return AbsentName(f"{self._name}.{name}", self._error)

    def __getitem__(self, key: Any) -> Any:
        return self

    def __mro_entries__(self, bases: Any) -> tuple[type, ...]:
        # a class can be derived from it; none of its objects can be made
        return (type("AbsentName", (), {"__new__": lambda cls, *_, **__: self._refuse_use()}),)

    def __repr__(self) -> str:
        return f"<absent: {self._name}>"


class Unread(dict[str, Any]):
    """An empty table of values that could not be read.

    Attributes:
        reason: why they could not.
    """

    def __init__(self, reason: str) -> None:
        super().__init__()
        self.reason = reason


def read_each_or_mark_unread(
    readers: Mapping[Any, Callable[[], Mapping[str, Any]]],
) -> dict[Any, Any]:
    """Call each reader; return key -> its values, or an ``Unread`` with its error."""
    answers: dict[Any, Any] = {}
    for key, reader in readers.items():
        try:
            answers[key] = reader()
        except Exception as error:  # foreign code may raise whatever it likes
            answers[key] = Unread(format_error(error))
    return answers


def format_error(error: BaseException) -> str:
    """Return an error in one line: its type and its message."""
    return f"{type(error).__name__}: {error}".strip().splitlines()[0]


def is_error_of_existing_module(error: BaseException, name: str) -> bool:
    """Return whether an error comes from a module that exists but fails when it is imported.

    Otherwise the version lacks a name that was imported.
    """
    if not isinstance(error, ImportError):
        return not isinstance(error, AttributeError)
    # a version that lacks the module names it, or a package above it, in the error
    return error.name is not None and not f"{name}.".startswith(f"{error.name}.")


def is_absent_name(value: Any) -> bool:
    """Return whether the installed version lacks a name."""
    return isinstance(value, AbsentName)


class _LenientModule:
    """Stands in for a module; names that it lacks are ``AbsentName``."""

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
            return AbsentName(full, error)


@functools.cache
def _list_try_lines(file: str | None) -> frozenset[int]:
    """Return the numbers of the lines of a file that are in the body of a ``try``."""
    lines: list[int] = []
    text = source.read_source_text(file) if file else ""
    for node in ast.walk(ast.parse(text, file or "")):
        if isinstance(node, ast.Try) and node.handlers:
            lines += range(node.body[0].lineno, (node.body[-1].end_lineno or 0) + 1)
    return frozenset(lines)


@contextlib.contextmanager
def import_absent_for_missing_names(package: str) -> Iterator[None]:
    """Make modules of ``package`` import an ``AbsentName`` for each missing name, in the block."""
    strict = builtins.__import__

    def import_or_absent(
        name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0
    ) -> Any:
        importer = globals or {}
        ours = f"{importer.get('__name__')}.".startswith(f"{package}.")
        # whoever writes "try" knows what to do without
        if not ours or sys._getframe(1).f_lineno in _list_try_lines(importer.get("__file__")):
            return strict(name, globals, locals, fromlist, level)
        if not fromlist:
            return _import_or_absent(name.partition(".")[0], name)
        full = importlib.util.resolve_name("." * level + name, importer["__package__"])
        return _import_or_absent(full, full)

    builtins.__import__ = import_or_absent
    try:
        yield
    finally:
        builtins.__import__ = strict


def _import_or_absent(name: str, imported: str) -> Any:
    """Import ``imported``, and return the module ``name`` or an ``AbsentName``."""
    error: BaseException = ImportError(name)
    for tried in (imported, name):
        try:
            importlib.import_module(tried)
        except Exception as raised:  # whatever keeps a foreign module from being imported
            error = raised
    module = sys.modules.get(name)
    return AbsentName(name, error) if module is None else _LenientModule(name, module)


def import_with_absent_names(name: str, package: str = "") -> ModuleType:
    """Import a module, with ``AbsentName`` for names that are missing.

    Args:
        package: of the adapter, whose modules may lack names; by default the one above.
    """
    try:
        return importlib.import_module(name)
    except Exception:  # as above
        with import_absent_for_missing_names(package or name.rpartition(".")[0]):
            return importlib.import_module(name)


def make_lazy_getattr(package: str, **functions: Sequence[str]) -> Callable[[str], Any]:
    """Return a package's ``__getattr__`` that finds functions in the modules of the package.

    A module is imported when one of its functions is needed.

    Args:
        functions: module -> names of its functions that the package offers.
    """
    modules = {name: module for module, names in functions.items() for name in names}
    adapter = package.rpartition(".")[0]

    def find_function(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        module = f"{package}.{modules[name]}"
        try:
            return getattr(import_with_absent_names(module, adapter), name)
        except AttributeError as error:  # which would stand for a function that is left out
            raise UserError(f"cannot import {name} from {module}: {error}") from error

    return find_function


@functools.cache
def import_families(package: str) -> tuple[Any, ...]:
    """Import the families of probes of an adapter: all modules of a package.

    A family whose import fails has the probes that its file names. Each of them raises the error of
    the import.
    """
    families: list[Any] = []
    for module in pkgutil.iter_modules(importlib.import_module(package).__path__, f"{package}."):
        if not module.ispkg:
            try:
                families.append(import_with_absent_names(module.name, package.rpartition(".")[0]))
            except Exception as error:  # as above
                families.append(_make_module_of_raising_probes(module.name, error))
    return tuple(families)


def list_probes(package: str, scope: str = "library") -> dict[tuple[str, str], Any]:
    """Return the ``PROBES`` of the families of a package, by detail and scope.

    Args:
        scope: scope of the probes whose key is a detail without one.
    """
    return {
        key if isinstance(key, tuple) else (key, scope): probe
        for family in import_families(package)
        for key, probe in family.PROBES.items()
    }


def list_reasons_of_absent_details(package: str) -> dict[str, str]:
    """Return the ``ABSENT`` of the families of a package: detail -> why there is no probe."""
    return {
        detail: reason
        for family in import_families(package)
        for detail, reason in getattr(family, "ABSENT", {}).items()
    }


def _make_module_of_raising_probes(module: str, error: Exception) -> Any:
    spec = importlib.util.find_spec(module)
    file = (spec and spec.origin) or ""
    # an error of parsing names the file and the line
    tree = ast.parse(source.read_source_text(file) if file else "", file)
    probe = functools.partial(_raise_error_of_import, error, error.__traceback__)
    probes = dict.fromkeys(_list_probe_keys(tree), probe)
    return SimpleNamespace(__name__=module, PROBES=probes, ABSENT={}, UNREAD=error)


def _list_probe_keys(tree: ast.Module) -> list[Any]:
    """Return the keys of a module's tables of probes, from its source: ids, or (id, scope).

    They are keys of dictionaries, or come from tables of measurements. Those of ``ABSENT`` have no
    probe.
    """
    keys: dict[Any, None] = {}
    for statement in tree.body:
        names = [node for node in ast.walk(statement) if isinstance(node, ast.Name)]
        stored = {name.id for name in names if isinstance(name.ctx, ast.Store)}
        for node in ast.walk(statement) if "ABSENT" not in stored else ():
            if isinstance(node, ast.DictComp):
                keys.update(dict.fromkeys(_list_keys_of_measurements(tree, node)))
            for key in node.keys if isinstance(node, ast.Dict) else ():
                with contextlib.suppress(ValueError):
                    value = ast.literal_eval(key) if key is not None else None
                    id = value[0] if isinstance(value, tuple) and len(value) == 2 else value
                    if isinstance(id, str) and "." in id:
                        keys[value] = None
    return list(keys)


def _list_keys_of_measurements(tree: ast.Module, node: ast.DictComp) -> list[Any]:
    """Return the keys that a dictionary takes from ``MEASUREMENTS`` of an imported module."""
    scope = node.key.elts[1] if isinstance(node.key, ast.Tuple) else None
    named = ast.unparse(node.generators[0].iter).partition(".MEASUREMENTS")
    for imported in (node for node in tree.body if isinstance(node, ast.ImportFrom)):
        for alias in imported.names if named[1] else ():
            if named[0] == (alias.asname or alias.name):
                table = importlib.import_module(f"{imported.module}.{alias.name}").MEASUREMENTS
                return [(id, ast.literal_eval(scope)) if scope else id for id in table]
    return []


def _raise_error_of_import(error: Exception, raised_at: Any, inputs: Mapping[str, Any]) -> Any:
    del inputs
    raise error.with_traceback(raised_at)
