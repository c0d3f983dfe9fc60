"""Put other code into functions that a process has imported: of a fault, or of another version.

Runs inside foreign and old environments: standard library only, Python 3.9 syntax.
"""

from __future__ import annotations

import gc
import importlib
import os
import types
from typing import Any, Dict, Iterator, List, Sequence, Tuple

from rlregress import source

#: of a code: name and first line.
_Key = Tuple[str, int]


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
    name = change["function"]
    new = _codes(change["text"], path, name)
    with open(path, encoding="utf-8") as file:
        old = _codes(file.read(), path, name)
    if not old or not new:
        raise Misfit(f"there is no {name} in {change['file']}")
    # of one name are a property and its setter
    if len(old) != len(new):
        raise Misfit(f"{name} is not there as many times as in the other code")
    if any(one.co_freevars != other.co_freevars for one, other in zip(old, new)):
        raise Misfit(f"{name} refers to other variables around it")
    instead = {_key(one): other for one, other in zip(old, new)}
    found = [(each, _replaced(each.__code__, instead)) for each in _functions(path)]
    swapped = [(each, code) for each, code in found if code is not each.__code__]
    if not swapped:
        raise Misfit(f"{name} of {change['file']} is not in memory")
    for function, code in swapped:
        function.__code__ = code


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


def _codes(text: str, path: str, name: str) -> List[types.CodeType]:
    """The code of a function of a source text; several if several have its name."""
    try:
        module = compile(text, path, "exec", dont_inherit=True)
    except SyntaxError as error:
        raise Misfit(str(error)) from None
    lines = [each.first for each in source.parse(text).functions if each.name == name]
    last = name.rpartition(".")[2]
    found = [code for code in _inside(module) if code.co_name == last]
    return [code for code in found if code.co_firstlineno in lines]


def _key(code: types.CodeType) -> _Key:
    return code.co_name, code.co_firstlineno


def _replaced(code: types.CodeType, instead: Dict[_Key, types.CodeType]) -> types.CodeType:
    """The code that stands in its place; itself if neither it nor what it makes is another."""
    if _key(code) in instead:
        return instead[_key(code)]
    # functions inside are made anew from it with every call
    made = tuple(
        _replaced(each, instead) if isinstance(each, types.CodeType) else each
        for each in code.co_consts
    )
    same = all(one is other for one, other in zip(made, code.co_consts))
    return code if same else code.replace(co_consts=made)


def _inside(code: types.CodeType) -> Iterator[types.CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield constant
            yield from _inside(constant)


def _functions(path: str) -> List[types.FunctionType]:
    """Every function of a file that is in memory, also those behind decorators."""
    real = os.path.realpath(path)
    # what was frozen before a fork is not listed
    gc.unfreeze()
    return [
        each
        for each in gc.get_objects()
        if type(each) is types.FunctionType
        and os.path.basename(each.__code__.co_filename) == os.path.basename(path)
        and os.path.realpath(each.__code__.co_filename) == real
    ]
