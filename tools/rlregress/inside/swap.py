"""Replaces code of imported functions by that of an injected fault or of another version."""

from __future__ import annotations

import contextlib
import gc
import importlib
import operator
import os
import sys
import types
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple

from rlregress import source
from rlregress.inside import bindings, methods
from rlregress.inside.methods import Defaults, Misfit
from rlregress.marks import compile_source, list_inner_code_objects

#: key of a code object: its name and first line.
_Key = tuple[str, int]


class _ImportedFile(NamedTuple):
    """An imported file with its present and its other text.

    Attributes:
        file: below the folder of its package.
        texts: the present text, and the other one.
    """

    file: str
    path: str
    module: types.ModuleType
    texts: tuple[str, str]

    def find_code_in_both_texts(self, name: str) -> list[list[types.CodeType]]:
        """Return the code objects of a function, in the present and in the other text."""
        return [_find_code_objects(text, self.path, name) for text in self.texts]


def replace_running_code(
    changes: Sequence[dict[str, Any]], roots: Sequence[str]
) -> list[list[str]]:
    """Replace the code of functions in memory: they run other code from now on.

    A method that the other code does not have is removed from its class; a method that only the
    other code has is added.

    Args:
        changes: each with ``file`` (below the folder of its package), ``functions`` (qualified
            names) and ``text`` (the whole source file with the other code).
        roots: folders of the traced packages.

    Returns:
        The functions that keep their code: file, name, and why the other one does not fit.

    Raises:
        Misfit: there is only one function to replace, and the code does not fit; says why.
    """
    for change in changes:
        # imported first, so that its functions are among those listed below
        with contextlib.suppress(Misfit):
            _import_file(change["file"])
    in_memory = _FunctionsInMemory()
    # values first: defaults of functions may be computed from them
    misfits = [misfit for change in changes for misfit in _bind_other_values(change, roots)]
    misfits += [
        misfit
        for change in changes
        for misfit in _replace_functions_of_file(change, roots, in_memory)
    ]
    if misfits and sum(len(change["functions"]) for change in changes) == 1:
        raise Misfit(misfits[0][2])
    return misfits


def _replace_functions_of_file(
    change: dict[str, Any], roots: Sequence[str], in_memory: _FunctionsInMemory
) -> list[list[str]]:
    """Replace all functions of one change; return those that do not fit, with reasons."""
    file, names = change["file"], [n for n in change["functions"] if not _runs_at_import(n)]
    try:
        imported = _import_with_text(file, change["text"], roots)
    except Misfit as why:
        return [[file, name, str(why)] for name in names]
    misfits: list[list[str]] = []
    replacements: dict[_Key, types.CodeType] = {}
    keys: dict[str, list[_Key]] = {}
    defaults: dict[_Key, Defaults] = {}
    for name in names:
        try:
            if _replace_whole_method_if_needed(imported, name):
                continue
            fitting = _find_fitting_codes(imported, name)
            methods.add_names_used_in_other_text(
                imported.module, name, imported.texts, imported.path
            )
            other_defaults = methods.find_defaults_of_second_text(
                imported.module, name, imported.texts
            )
        except Misfit as why:
            misfits.append([file, name, str(why)])
            continue
        keys[name] = list(fitting)
        replacements.update(fitting)
        if other_defaults is not None:
            defaults.update(dict.fromkeys(fitting, other_defaults))
    used: set[_Key] = set()
    visited: set[int] = set()
    for list_functions in (
        in_memory.list_functions_of_modules,
        in_memory.list_functions_of_all_objects,
    ):
        for function in list_functions(imported.path):
            # the lines of what has been replaced are those of the other text
            if id(function) in visited:
                continue
            visited.add(id(function))
            own = _make_key_of_code(function.__code__)
            code = _replace_code(function.__code__, replacements, used)
            if code is not function.__code__:
                function.__code__ = code
                if own in defaults:
                    function.__defaults__, function.__kwdefaults__ = defaults[own]
        if not any(used.isdisjoint(fitting) for fitting in keys.values()):
            break
    unused = [name for name, fitting in keys.items() if used.isdisjoint(fitting)]
    return misfits + [[file, name, f"{name} of {file} is not in memory"] for name in unused]


def _runs_at_import(name: str) -> bool:
    return name.startswith((bindings.MODULE, bindings.BODY))


def _bind_other_values(change: dict[str, Any], roots: Sequence[str]) -> list[list[str]]:
    """Set names of a module and its classes to the values that they have in the other text."""
    file, misfits = change["file"], []
    for piece in filter(_runs_at_import, change["functions"]):
        try:
            bindings.bind_values(find_values_in_other_version(file, piece, change["text"], roots))
        except Misfit as why:
            misfits.append([file, piece, str(why)])
    return misfits


def find_values_in_other_version(
    file: str, piece: str, text: str, roots: Sequence[str]
) -> list[bindings.Binding]:
    """Return bindings that give a module or a class the values of another version of its file."""
    imported = _import_with_text(file, text, roots)
    return bindings.find_bindings_to_second_text(imported.module, piece, imported.texts)


def find_other_code_of_function(
    change: dict[str, Any], name: str, code: types.CodeType, roots: Sequence[str]
) -> tuple[types.CodeType, tuple[Defaults | None, Defaults | None]]:
    """Return the other version's code of a running function, and the defaults of both.

    Names that the other code uses are added to the function's module.

    Args:
        change: as of ``replace_running_code``.
        name: qualified.
        code: the function's present code.

    Returns:
        The code, and the present and the other defaults; None: these are the same.

    Raises:
        Misfit: there is no code that could be called in its place.
    """
    imported = _import_with_text(change["file"], change["text"], roots)
    fitting, texts = _find_fitting_codes(imported, name), imported.texts
    if _make_key_of_code(code) not in fitting:
        raise Misfit(f"{name} of {imported.file} has several definitions at run time")
    methods.add_names_used_in_other_text(imported.module, name, texts, imported.path)
    own, other = (
        methods.find_defaults_of_second_text(imported.module, name, pair)
        for pair in (texts[::-1], texts)
    )
    return fitting[_make_key_of_code(code)], (own, other)


def _replace_whole_method_if_needed(imported: _ImportedFile, name: str) -> bool:
    """Remove a method that the other text does not have, or put the whole of it into its class.

    This is done if only one text has the method, or only one calls ``super()`` in it, or if
    decorators or setters differ. Return whether it was done.
    """
    old, new = imported.find_code_in_both_texts(name)
    if "." not in name or not (old or new):
        return False
    if old and new and _is_replacing_code_enough(old, new, name, imported.texts):
        return False
    try:
        if new:
            methods.add_names_used_in_other_text(
                imported.module, name, imported.texts, imported.path
            )
            methods.replace_method_by_text(imported.module, name, imported.texts[1], imported.path)
        else:
            methods.remove_method(imported.module, name)
    except Exception as why:  # whatever its decorators and defaults raise
        raise Misfit(f"{name} of {imported.file} cannot be replaced: {why}") from None
    return True


def _is_replacing_code_enough(
    old: Sequence[types.CodeType], new: Sequence[types.CodeType], name: str, texts: Sequence[str]
) -> bool:
    """Return whether replacing a function's code objects is enough; for some methods it is not."""
    if not methods.is_method_in_both(name, texts):
        return True
    if len(old) != len(new) or methods.do_decorators_differ(name, texts):
        return False
    return len(old) != 1 or {*old[0].co_freevars} ^ {*new[0].co_freevars} != {"__class__"}


def _find_fitting_codes(imported: _ImportedFile, name: str) -> dict[_Key, types.CodeType]:
    """Return key of each present code object of a function -> the code in the other text."""
    old, new = imported.find_code_in_both_texts(name)
    if not old or not new:
        raise Misfit(f"there is no {name} in {imported.file}")
    # several definitions of one name are, for example, a property and its setter
    if len(old) != len(new):
        raise Misfit(f"{name} has more definitions in one version than in the other")
    pairs = list(zip(old, new, strict=True))
    if any(old_code.co_freevars != new_code.co_freevars for old_code, new_code in pairs):
        raise Misfit(f"{name} uses variables of an enclosing function that differ by version")
    return {_make_key_of_code(old_code): new_code for old_code, new_code in pairs}


def _import_with_text(file: str, text: str, roots: Sequence[str]) -> _ImportedFile:
    """Import a file below one of the roots, and return it with its present and another text."""
    path = _find_path(file, roots)
    _import_file(file)
    return _ImportedFile(
        file,
        path,
        sys.modules[source.name_module_of_file(file)],
        (source.read_source_text(path), text),
    )


def _find_path(file: str, roots: Sequence[str]) -> str:
    for root in roots:
        # a root is a package's folder, or a file of its own; beside it may lie another copy
        folder, name = os.path.split(os.path.abspath(root))
        path = os.path.join(folder, file)
        if file.split(os.sep)[0] == name and os.path.isfile(path):
            return path
    raise Misfit(f"there is no {file}")


def _import_file(file: str) -> None:
    """Import the module of a file; raise Misfit if that fails."""
    try:
        importlib.import_module(source.name_module_of_file(file))
    except Exception as error:
        raise Misfit(f"{file} cannot be imported: {error}") from None


_real = lru_cache(maxsize=None)(os.path.realpath)


@cache
def _compile_text(text: str, path: str) -> tuple[types.CodeType, dict[str, list[int]]]:
    """Return the code of a module, and the first lines of its functions by qualified name."""
    try:
        # with marks, as the running code has, with which nameless functions are compared
        module = compile_source(text, path)
    except SyntaxError as error:
        raise Misfit(str(error)) from None
    lines: dict[str, list[int]] = {}
    for function in source.parse_source(text).functions:
        lines.setdefault(function.name, []).append(function.first)
    return module, lines


def _find_code_objects(text: str, path: str, name: str) -> list[types.CodeType]:
    module, lines = _compile_text(text, path)
    last, first_lines = name.rpartition(".")[2], lines.get(name, ())
    codes = [code for code in list_inner_code_objects(module) if code.co_name == last]
    return [code for code in codes if code.co_firstlineno in first_lines]


def _make_key_of_code(code: types.CodeType) -> _Key:
    return code.co_name, code.co_firstlineno


def _replace_code(
    code: types.CodeType, replacements: dict[_Key, types.CodeType], used: set[_Key]
) -> types.CodeType:
    """Return the replacement of a code object, or a copy with inner code objects replaced."""
    if _make_key_of_code(code) in replacements:
        used.add(_make_key_of_code(code))
        return replacements[_make_key_of_code(code)]
    # inner functions are made from the constants in each call: their code is replaced, too
    constants = tuple(
        _replace_code(constant, replacements, used)
        if isinstance(constant, types.CodeType)
        else constant
        for constant in code.co_consts
    )
    is_same = all(map(operator.is_, constants, code.co_consts))
    return code if is_same else code.replace(co_consts=constants)


class _FunctionsInMemory:
    """Finds functions in memory, also those behind decorators."""

    def __init__(self) -> None:
        self._by_file: dict[str, list[types.FunctionType]] = {}

    def list_functions_of_modules(self, path: str) -> list[types.FunctionType]:
        """Return the functions of the modules that were imported from a file."""
        modules = [
            module
            for module in list(sys.modules.values())
            if "__file__" in getattr(module, "__dict__", ())
            and _is_same_file(module.__file__ or "", path)
        ]
        return [
            function
            for function in methods.list_functions_of_modules(*modules)
            if _is_same_file(function.__code__.co_filename, path)
        ]

    def list_functions_of_all_objects(self, path: str) -> list[types.FunctionType]:
        """Return all functions in memory whose code is from a file, however it was run."""
        if not self._by_file:
            for thing in gc.get_objects():
                if type(thing) is types.FunctionType:
                    self._by_file.setdefault(_real(thing.__code__.co_filename), []).append(thing)
        return self._by_file.get(_real(path), [])


def _is_same_file(first: str, second: str) -> bool:
    """Return whether two paths lead to one file; links must have the name of their file."""
    return os.path.basename(first) == os.path.basename(second) and _real(first) == _real(second)
