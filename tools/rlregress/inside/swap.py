"""Put other code into functions that a process has imported: of a fault, or of another version."""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import sys
import types
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from typing import Any

from rlregress import source
from rlregress.inside import bindings, methods
from rlregress.inside.methods import Defaults, Misfit

#: of a code: name and first line.
_Key = tuple[str, int]


def swap(changes: Sequence[dict[str, Any]], roots: Sequence[str]) -> list[list[str]]:
    """Let functions run other code from now on.

    A method that the other code does not have is taken from its class; one that it has alone is
    put into it.

    Args:
        changes: each with ``file`` (below the folder of its package), ``functions`` (qualified
            names) and ``text`` (the whole source file with the other code).
        roots: folders of the traced packages.

    Returns:
        The functions that keep their code: file, name, and why the other one does not fit.

    Raises:
        Misfit: it is a single one and does not fit; says why.
    """
    for change in changes:
        # before the functions in memory are listed
        with contextlib.suppress(Misfit):
            _import(change["file"])
    in_memory = _InMemory()
    # what is given at import before the functions whose defaults are made of it
    misfits = [misfit for change in changes for misfit in _bind(change, roots)]
    misfits += [misfit for change in changes for misfit in _swap(change, roots, in_memory)]
    if misfits and sum(len(change["functions"]) for change in changes) == 1:
        raise Misfit(misfits[0][2])
    return misfits


def _swap(
    change: dict[str, Any],
    roots: Sequence[str],
    in_memory: _InMemory,
) -> list[list[str]]:
    """The functions of one file, all at once: their lines are those of the file as it is."""
    file, names = change["file"], [n for n in change["functions"] if not _at_import(n)]
    try:
        path = _path(file, roots)
        _import(file)
    except Misfit as why:
        return [[file, name, str(why)] for name in names]
    misfits: list[list[str]] = []
    instead: dict[_Key, types.CodeType] = {}
    keys: dict[str, list[_Key]] = {}
    defaults: dict[_Key, Defaults] = {}
    for name in names:
        try:
            if _as_a_whole(change["text"], path, file, name):
                continue
            fitting = _instead(change["text"], path, file, name)
            module, texts = sys.modules[_module(file)], (source.read_text(path), change["text"])
            methods.lend(module, name, texts, path)
            given = methods.defaults(module, name, texts)
        except Misfit as why:
            misfits.append([file, name, str(why)])
            continue
        keys[name] = list(fitting)
        instead.update(fitting)
        if given is not None:
            defaults.update(dict.fromkeys(fitting, given))
    used: set[_Key] = set()
    looked_at: set[int] = set()
    for found in (in_memory.list_in_modules, in_memory.list_in_objects):
        for function in found(path):
            # the lines of what has been replaced are those of the other text
            if id(function) in looked_at:
                continue
            looked_at.add(id(function))
            own = _key(function.__code__)
            code = _replaced(function.__code__, instead, used)
            if code is not function.__code__:
                function.__code__ = code
                if own in defaults:
                    function.__defaults__, function.__kwdefaults__ = defaults[own]
        if not any(used.isdisjoint(of_name) for of_name in keys.values()):
            break
    for name, of_name in keys.items():
        if used.isdisjoint(of_name):
            misfits.append([file, name, f"{name} of {file} is not in memory"])
    return misfits


def _at_import(name: str) -> bool:
    return name.startswith((bindings.MODULE, bindings.BODY))


def _bind(change: dict[str, Any], roots: Sequence[str]) -> list[list[str]]:
    """Give a module, and classes of it, the values that they have in the other text."""
    file, misfits = change["file"], []
    for piece in filter(_at_import, change["functions"]):
        try:
            bindings.put(other_values(file, piece, change["text"], roots))
        except Misfit as why:
            misfits.append([file, piece, str(why)])
    return misfits


def other_values(file: str, piece: str, text: str, roots: Sequence[str]) -> list[bindings.Binding]:
    """Return the values that another text of its file gives a module or a class: ``bindings``."""
    path = _path(file, roots)
    _import(file)
    texts = source.read_text(path), text
    return bindings.find_other_bindings(sys.modules[_module(file)], piece, texts)


def other_code(
    change: dict[str, Any], name: str, code: types.CodeType, roots: Sequence[str]
) -> tuple[types.CodeType, tuple[Defaults | None, Defaults | None]]:
    """The other code of a function that runs here, and the defaults of both where they differ.

    The function's module is lent what the other code uses.

    Args:
        change: as of ``swap``.
        name: qualified.
        code: of the function, as it is.

    Returns:
        The code, and the defaults of the function as it is and of the other one; None: they are
        the same.

    Raises:
        Misfit: there is none that could be called in its place.
    """
    file = change["file"]
    path = _path(file, roots)
    instead = _instead(change["text"], path, file, name)
    if _key(code) not in instead:
        raise Misfit(f"{name} of {file} is made in more than one way")
    module, texts = sys.modules[_module(file)], (source.read_text(path), change["text"])
    methods.lend(module, name, texts, path)
    defaults = [methods.defaults(module, name, pair) for pair in (texts[::-1], texts)]
    return instead[_key(code)], (defaults[0], defaults[1])


def _as_a_whole(text: str, path: str, file: str, name: str) -> bool:
    """Take away a method that the other text does not have, or put one that it has alone.

    Or one that is decorated otherwise, or with other setters, or that asks its class for the next
    one, ``super()``, on one side alone.
    """
    new, old = _codes(text, path, name), _codes(source.read_text(path), path, name)
    if "." not in name or not (old or new):
        return False
    if old and new and _fits(old, new, name, (source.read_text(path), text)):
        return False
    module = sys.modules[_module(file)]
    try:
        if new:
            methods.lend(module, name, (source.read_text(path), text), path)
            methods.put(module, name, text, path)
        else:
            methods.take_away(module, name)
    except Exception as why:  # whatever its decorators and defaults raise
        raise Misfit(f"{name} of {file} as a whole: {why}") from None
    return True


def _fits(
    old: Sequence[types.CodeType], new: Sequence[types.CodeType], name: str, texts: Sequence[str]
) -> bool:
    """Return whether the other code can replace the function's, or no class holds it."""
    if not methods.is_of_class(name, texts):
        return True
    if len(old) != len(new) or methods.decorated_otherwise(name, texts):
        return False
    around = [
        set(old_code.co_freevars) ^ set(new_code.co_freevars)
        for old_code, new_code in zip(old, new, strict=False)
    ]
    return len(old) != 1 or around != [{"__class__"}]


def _instead(text: str, path: str, file: str, name: str) -> dict[_Key, types.CodeType]:
    """Return the functions of the file under that name, each with its other code."""
    new, old = _codes(text, path, name), _codes(source.read_text(path), path, name)
    if not old or not new:
        raise Misfit(f"there is no {name} in {file}")
    # of one name are a property and its setter
    if len(old) != len(new):
        raise Misfit(f"{name} is not there as many times as in the other code")
    if any(
        old_code.co_freevars != new_code.co_freevars
        for old_code, new_code in zip(old, new, strict=False)
    ):
        raise Misfit(f"{name} refers to other variables around it")
    return {_key(old_code): new_code for old_code, new_code in zip(old, new, strict=False)}


def _path(file: str, roots: Sequence[str]) -> str:
    for root in roots:
        # a root is a package's folder, or a file of its own; beside it may lie another copy
        folder, name = os.path.split(os.path.abspath(root))
        path = os.path.join(folder, file)
        if file.split(os.sep)[0] == name and os.path.isfile(path):
            return path
    raise Misfit(f"there is no {file}")


def _import(file: str) -> None:
    """Import the module of a file, unless it is one of a package that nothing imports."""
    try:
        importlib.import_module(_module(file))
    except Exception as error:
        raise Misfit(f"{file} cannot be imported: {error}") from None


def _module(file: str) -> str:
    name = os.path.splitext(file)[0].replace(os.sep, ".")
    return name[: -len(".__init__")] if name.endswith(".__init__") else name


_real = lru_cache(maxsize=None)(os.path.realpath)


@cache
def _read(text: str, path: str) -> tuple[types.CodeType, dict[str, list[int]]]:
    """The code of a module, and the first lines of its functions by qualified name."""
    try:
        module = compile(text, path, "exec", dont_inherit=True)
    except SyntaxError as error:
        raise Misfit(str(error)) from None
    lines: dict[str, list[int]] = {}
    for function in source.parse(text).functions:
        lines.setdefault(function.name, []).append(function.first)
    return module, lines


def _codes(text: str, path: str, name: str) -> list[types.CodeType]:
    """The code of a function of a source text; several if several have its name."""
    module, lines = _read(text, path)
    last = name.rpartition(".")[2]
    codes = [code for code in inside(module) if code.co_name == last]
    return [code for code in codes if code.co_firstlineno in lines.get(name, ())]


def _key(code: types.CodeType) -> _Key:
    return code.co_name, code.co_firstlineno


def _replaced(
    code: types.CodeType, instead: dict[_Key, types.CodeType], used: set[_Key]
) -> types.CodeType:
    """Return the replacement of a code object; itself if neither it nor code inside it has one."""
    if _key(code) in instead:
        used.add(_key(code))
        return instead[_key(code)]
    # functions inside are made anew from it with every call
    made = tuple(
        _replaced(constant, instead, used) if isinstance(constant, types.CodeType) else constant
        for constant in code.co_consts
    )
    same = all(
        made_constant is constant
        for made_constant, constant in zip(made, code.co_consts, strict=False)
    )
    return code if same else code.replace(co_consts=made)


def inside(code: types.CodeType) -> Iterator[types.CodeType]:
    """The code objects within one, at any depth."""
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield constant
            yield from inside(constant)


class _InMemory:
    """Functions that are in memory, also those behind decorators."""

    def __init__(self) -> None:
        # what was frozen before a fork is not listed
        gc.unfreeze()
        self._by_file: dict[str, list[types.FunctionType]] = {}

    def list_in_modules(self, path: str) -> list[types.FunctionType]:
        """Return those of the modules that were imported from a file.

        They hold the module's variables. To ask for who does is fast, and touches no other object:
        in a forked process each that is touched has to be copied.
        """
        modules = [vars(module) for module in _modules() if _is_same(module.__file__ or "", path)]
        holding = gc.get_referrers(*modules) if modules else []
        functions = [module for module in holding if type(module) is types.FunctionType]
        return [function for function in functions if _is_same(function.__code__.co_filename, path)]

    def list_in_objects(self, path: str) -> list[types.FunctionType]:
        """Return those of all objects whose code is of a file, whatever has run it."""
        if not self._by_file:
            for thing in gc.get_objects():
                if type(thing) is types.FunctionType:
                    self._by_file.setdefault(_real(thing.__code__.co_filename), []).append(thing)
        return self._by_file.get(_real(path), [])


def _modules() -> list[types.ModuleType]:
    """Those that have been imported from a file."""
    every = list(sys.modules.values())
    return [module for module in every if "__file__" in getattr(module, "__dict__", ())]


def _is_same(first: str, second: str) -> bool:
    """Return whether two paths lead to one file; a link has the name of its file here."""
    return os.path.basename(first) == os.path.basename(second) and _real(first) == _real(second)
