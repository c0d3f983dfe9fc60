"""Put other code into functions that a process has imported: of a fault, or of another version.

Runs inside foreign and old environments: standard library only, Python 3.9 syntax.
"""

from __future__ import annotations

import gc
import importlib
import os
import types
from typing import Any, Dict, Iterator, List, Optional, Sequence

from rlregress import source


class Misfit(Exception):
    """The code cannot take the place of what is there; says why."""


def swap(change: Dict[str, Any], roots: Sequence[str]) -> None:
    """Let every function of that name run other code from now on.

    Args:
        change: ``file`` (below the folder of its package), ``function`` (qualified name) and
            ``text`` (the whole source file with the other code).
        roots: folders of the traced packages.

    Raises:
        Misfit: the function is not there, or other code cannot stand in its place.
    """
    path = _path(change["file"], roots)
    _import(path, change["file"])
    new = _code(change["text"], path, change["function"])
    with open(path, encoding="utf-8") as file:
        old = _code(file.read(), path, change["function"])
    if old is None or new is None:
        raise Misfit(f"there is no {change['function']} in {change['file']}")
    if old.co_freevars != new.co_freevars:
        raise Misfit(f"{change['function']} refers to other variables around it")
    functions = list(_functions(old))
    if not functions:
        raise Misfit(f"{change['function']} of {change['file']} is not in memory")
    for function in functions:
        function.__code__ = new


def _path(file: str, roots: Sequence[str]) -> str:
    for root in roots:
        # a root is a package's folder, or a file of its own
        path = os.path.join(os.path.dirname(os.path.abspath(root)), file)
        if os.path.isfile(path):
            return path
    raise Misfit(f"there is no {file}")


def _import(path: str, file: str) -> None:
    """Import the module of a file, unless it is one of a package that nothing imports."""
    name = os.path.splitext(file)[0].replace(os.sep, ".")
    try:
        importlib.import_module(name[: -len(".__init__")] if name.endswith(".__init__") else name)
    except Exception as error:
        raise Misfit(f"{file} cannot be imported: {error}") from None


def _code(text: str, path: str, name: str) -> Optional[types.CodeType]:
    """The code of a function of a source text."""
    try:
        module = compile(text, path, "exec", dont_inherit=True)
    except SyntaxError as error:
        raise Misfit(str(error)) from None
    lines = [each.first for each in source.parse(text).functions if each.name == name]
    last = name.rpartition(".")[2]
    found = [code for code in _inside(module) if code.co_name == last]
    # of several of one name, as of a property and its setter, the last one stands
    return next((code for code in reversed(found) if code.co_firstlineno in lines), None)


def _inside(code: types.CodeType) -> Iterator[types.CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield constant
            yield from _inside(constant)


def _functions(code: types.CodeType) -> List[types.FunctionType]:
    """Every function in memory that runs a code, also those behind decorators."""
    key = (code.co_name, code.co_firstlineno, os.path.realpath(code.co_filename))
    # what was frozen before a fork is not listed
    gc.unfreeze()
    return [
        each
        for each in gc.get_objects()
        if type(each) is types.FunctionType
        and each.__code__.co_name == key[0]
        and each.__code__.co_firstlineno == key[1]
        and os.path.realpath(each.__code__.co_filename) == key[2]
    ]
