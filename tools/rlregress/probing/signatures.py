"""Defaults of everything that users call: parameters of public classes, methods and functions."""

from __future__ import annotations

import dataclasses
import enum
import functools
import importlib
import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from rlregress.probing.families import format_error, is_absent_name

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_PLAIN = (bool, int, float, complex, str, bytes, type(None))


def read_defaults_and_failures(
    modules: Sequence[str],
) -> tuple[dict[str, dict[str, str]], dict[str, str]]:
    """Return qualified name -> parameter -> default, and module -> why it could not be read.

    A class has the parameters of its constructor and, after a dot, its public constants. Its
    methods have entries of their own. Names from other packages are left out.
    """
    defaults: dict[str, dict[str, str]] = {}
    unread: dict[str, str] = {}
    for name in modules:
        try:
            for thing in _list_public_classes_and_functions(importlib.import_module(name)):
                _add_defaults_of_owner(thing, defaults)
        except Exception as error:  # foreign code may raise whatever it likes
            # a missing module is reported among the changed names
            if not (
                isinstance(error, ModuleNotFoundError) and f"{name}.".startswith(f"{error.name}.")
            ):
                unread[name] = format_error(error)
    return defaults, unread


def _list_public_classes_and_functions(module: Any) -> Iterator[Any]:
    """Yield the public classes and functions of a module that its own package defines."""
    package = module.__name__.partition(".")[0]
    for name, thing in vars(module).items():
        defined = str(getattr(thing, "__module__", "")).partition(".")[0]
        is_offered = inspect.isclass(thing) or inspect.isfunction(thing)
        if not name.startswith("_") and defined == package and is_offered:
            yield thing


def _add_defaults_of_owner(owner: Any, table: dict[str, dict[str, str]]) -> None:
    name = f"{owner.__module__}.{owner.__qualname__}"
    if name in table:
        return
    if not inspect.isclass(owner):
        _add_defaults(name, read_defaults_of_function(owner), table)
        return
    _add_defaults(
        name, {**_read_defaults_of_constructor(owner), **_read_public_constants(owner)}, table
    )
    for own, member in list(vars(owner).items()):
        function = getattr(member, "__func__", member)
        if inspect.isclass(member) and dataclasses.is_dataclass(member):
            _add_defaults(f"{name}.{own}", _read_defaults_of_constructor(member), table)
        elif inspect.isfunction(function) and not own.startswith("_"):
            _add_defaults(f"{name}.{own}", read_defaults_of_function(function), table)


def _add_defaults(name: str, defaults: dict[str, str], table: dict[str, dict[str, str]]) -> None:
    if defaults:
        table[name] = defaults


def _read_defaults_of_constructor(kind: type) -> dict[str, str]:
    defaults = read_defaults_of_function(kind.__init__) if _has_own_constructor(kind) else {}  # type: ignore[misc]
    if dataclasses.is_dataclass(kind):
        for field in dataclasses.fields(kind):
            if field.default_factory is not dataclasses.MISSING:
                defaults[field.name] = f"{format_value_reproducibly(field.default_factory)}()"
    return defaults


def _has_own_constructor(kind: type) -> bool:
    """Return whether the constructor is defined in the package of the class."""
    first = next((base for base in kind.__mro__ if "__init__" in vars(base)), object)
    return first.__module__.partition(".")[0] == kind.__module__.partition(".")[0]


def _read_public_constants(kind: type) -> dict[str, str]:
    """Return public constants of a class by their names, each after a dot."""
    return {
        f".{name}": format_value_reproducibly(value)
        for name, value in vars(kind).items()
        if not name.startswith("_") and isinstance(value, (*_PLAIN, tuple, enum.Enum))
    }


def read_defaults_of_function(function: Any) -> dict[str, str]:
    """Return parameter -> default as text, for parameters of a function with a default."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # what is written in C may have none
        return {}
    return {
        name: format_value_reproducibly(parameter.default)
        for name, parameter in signature.parameters.items()
        if parameter.default is not parameter.empty and name != "self"
    }


def format_value_reproducibly(value: Any) -> str:
    """Return a value as text that is the same in every process: no address, no order of a set."""
    if isinstance(value, enum.Enum):
        return f"{type(value).__qualname__}.{value.name}"
    if isinstance(value, functools.partial):
        parts = [format_value_reproducibly(part) for part in (value.func, *value.args)]
        parts += [f"{name}={format_value_reproducibly(v)}" for name, v in value.keywords.items()]
        return f"partial({', '.join(parts)})"
    if inspect.isclass(value) or inspect.isroutine(value):
        return _format_qualified_name(value)
    if type(value) in (list, tuple):
        inside = ", ".join(map(format_value_reproducibly, value))
        return f"[{inside}]" if isinstance(value, list) else f"({inside}{',' * (len(value) == 1)})"
    if type(value) in (set, frozenset):
        return "{" + ", ".join(sorted(map(format_value_reproducibly, value))) + "}"
    if isinstance(value, Mapping):
        pairs = [map(format_value_reproducibly, pair) for pair in value.items()]
        return "{" + ", ".join(map(": ".join, pairs)) + "}"
    if isinstance(value, np.generic):
        # NumPy 2 writes the type beside the number
        return repr(value.item())
    return _ADDRESS.sub("", repr(value))


def _format_qualified_name(value: Any) -> str:
    # by its package: that a class moves within it changes nothing
    package = str(getattr(value, "__module__", None) or "").partition(".")[0]
    name = getattr(value, "__qualname__", getattr(value, "__name__", type(value).__name__))
    return name if package in ("", "builtins") else f"{package}.{name}"


@functools.lru_cache(maxsize=256)
def list_parameters_with_inherited(called: Any) -> Mapping[str, inspect.Parameter]:
    """Return the parameters of a function or a class, with those that it passes to its base."""
    if not inspect.isclass(called):
        if is_absent_name(called):
            called()  # says so
        return inspect.signature(called).parameters
    parameters: dict[str, inspect.Parameter] = {}
    for kind in called.__mro__:
        if "__init__" in vars(kind):
            # not of the class itself: what a metaclass makes of it differs between Pythons
            added = inspect.signature(vars(kind)["__init__"]).parameters
            parameters = {**added, **parameters}
            if not any(p.kind is inspect.Parameter.VAR_KEYWORD for p in added.values()):
                break
    return parameters
