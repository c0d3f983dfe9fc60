"""Replaces code of imported functions by that of an injected fault or of another version."""

from __future__ import annotations

import contextlib
import gc
import importlib
import operator
import os
import sys
import types
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from typing import Any

from rlregress import source
from rlregress.inside import bindings, methods
from rlregress.inside.methods import Defaults, ImportedFile, Misfit
from rlregress.marks import compile_source, list_inner_code_objects

#: key of a code object: its name and first line.
_Key = tuple[str, int]


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
    # a search of all objects takes a while: once, and only if a function is in no module
    by_file = cache(_list_all_functions_by_file)
    # values first: defaults of functions may be computed from them
    misfits = [misfit for change in changes for misfit in _bind_other_values(change, roots)]
    misfits += [
        misfit
        for change in changes
        for misfit in _replace_functions_of_file(change, roots, by_file)
    ]
    if misfits and sum(len(change["functions"]) for change in changes) == 1:
        raise Misfit(misfits[0][2])
    return misfits


def _replace_functions_of_file(
    change: dict[str, Any],
    roots: Sequence[str],
    list_all_functions_by_file: Callable[[], dict[str, list[types.FunctionType]]],
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
            fitting = _prepare_fitting_codes(imported, name)
            other_defaults = imported.find_other_defaults(name)
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
        _list_functions_of_modules,
        lambda path: list_all_functions_by_file().get(_real(path), []),
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
    fitting, key = _prepare_fitting_codes(imported, name), _make_key_of_code(code)
    if key not in fitting:
        raise Misfit(f"{name} of {imported.file} has several definitions at run time")
    opposite = imported._replace(texts=imported.texts[::-1])
    return fitting[key], (opposite.find_other_defaults(name), imported.find_other_defaults(name))


def _replace_whole_method_if_needed(imported: ImportedFile, name: str) -> bool:
    """Remove a method that the other text does not have, or put the whole of it into its class.

    This is done if only one text has the method, or only one calls ``super()`` in it, or if
    decorators or setters differ. Return whether it was done.
    """
    old, new = _find_code_in_both_texts(imported, name)
    if "." not in name or not (old or new):
        return False
    if old and new and _is_replacing_code_enough(imported, name, old, new):
        return False
    try:
        if new:
            imported.add_names_used_in_other_text(name)
            imported.replace_method(name)
        else:
            imported.remove_method(name)
    except Exception as why:  # whatever its decorators and defaults raise
        raise Misfit(f"{name} of {imported.file} cannot be replaced: {why}") from None
    return True


def _is_replacing_code_enough(
    imported: ImportedFile, name: str, old: Sequence[types.CodeType], new: Sequence[types.CodeType]
) -> bool:
    """Return whether replacing a function's code objects is enough; for some methods it is not."""
    # an inner function is no method
    if not all(imported.find_definitions(name)):
        return True
    if len(old) != len(new) or imported.do_decorators_differ(name):
        return False
    return len(old) != 1 or {*old[0].co_freevars} ^ {*new[0].co_freevars} != {"__class__"}


def _prepare_fitting_codes(imported: ImportedFile, name: str) -> dict[_Key, types.CodeType]:
    """Return key of each present code object of a function -> the code in the other text.

    Names that the other code uses are added to the function's module.
    """
    old, new = _find_code_in_both_texts(imported, name)
    if not old or not new:
        raise Misfit(f"there is no {name} in {imported.file}")
    # several definitions of one name are, for example, a property and its setter
    if len(old) != len(new):
        raise Misfit(f"{name} has more definitions in one version than in the other")
    pairs = list(zip(old, new, strict=True))
    if any(old_code.co_freevars != new_code.co_freevars for old_code, new_code in pairs):
        raise Misfit(f"{name} uses variables of an enclosing function that differ by version")
    imported.add_names_used_in_other_text(name)
    return {_make_key_of_code(old_code): new_code for old_code, new_code in pairs}


def _import_with_text(file: str, text: str, roots: Sequence[str]) -> ImportedFile:
    """Import a file below one of the roots, and return it with its present and another text."""
    path = _find_path(file, roots)
    module = _import_file(file)
    return ImportedFile(file, path, module, (source.read_source_text(path), text))


def _find_path(file: str, roots: Sequence[str]) -> str:
    for root in roots:
        # a root is a package's folder, or a file of its own; beside it may lie another copy
        folder, name = os.path.split(os.path.abspath(root))
        path = os.path.join(folder, file)
        if file.split(os.sep)[0] == name and os.path.isfile(path):
            return path
    raise Misfit(f"there is no {file}")


def _import_file(file: str) -> types.ModuleType:
    """Import the module of a file; raise Misfit if that fails."""
    try:
        return importlib.import_module(source.name_module_of_file(file))
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


def _find_code_in_both_texts(imported: ImportedFile, name: str) -> list[list[types.CodeType]]:
    """Return the code objects of a function, in the present and in the other text."""
    codes = []
    for text in imported.texts:
        module, lines = _compile_text(text, imported.path)
        last, first_lines = name.rpartition(".")[2], lines.get(name, ())
        codes.append([code for code in list_inner_code_objects(module)
                      if code.co_name == last and code.co_firstlineno in first_lines])  # fmt: skip
    return codes


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


def _list_functions_of_modules(path: str) -> list[types.FunctionType]:
    """Return the functions of the modules that were imported from a file."""
    modules = [module for module in list(sys.modules.values())
               if "__file__" in getattr(module, "__dict__", ())
               and _is_same_file(module.__file__ or "", path)]  # fmt: skip
    return [function for function in methods.list_functions_of_modules(*modules)
            if _is_same_file(function.__code__.co_filename, path)]  # fmt: skip


def _list_all_functions_by_file() -> dict[str, list[types.FunctionType]]:
    """Return real path -> all functions in memory whose code is from this file."""
    by_file: dict[str, list[types.FunctionType]] = {}
    for thing in gc.get_objects():
        if type(thing) is types.FunctionType:
            by_file.setdefault(_real(thing.__code__.co_filename), []).append(thing)
    return by_file


def _is_same_file(first: str, second: str) -> bool:
    """Return whether two paths lead to one file; links must have the name of their file."""
    return os.path.basename(first) == os.path.basename(second) and _real(first) == _real(second)
