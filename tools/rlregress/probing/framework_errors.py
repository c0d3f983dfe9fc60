"""The origin of an error: the framework, or the probe that called it."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rlregress.probing import families

#: frames that are no origin: they pass an error on.
_PASSING = tuple(str(module.__file__) for module in (families, importlib))
#: importable packages of the suite.
_SUITE = ("rlregress", "tests_unit", "tests_behavior", "tests_performance")


def call_original(original: Callable[..., Any], /, *arguments: Any, **options: Any) -> Any:
    """Call the function that a hook or a wrapper of the suite replaced.

    Its errors belong to the caller of the hook: ``find_error_location`` skips this frame.
    """
    return original(*arguments, **options)


THROUGH = call_original.__code__


class ExpectedError(str):
    """An error of a framework as the result of a call: a text with the name of its type.

    Attributes:
        frames: file, line and function of its traceback, the innermost first.
    """

    frames: list[tuple[str, int, str]]

    def __new__(cls, error: BaseException) -> ExpectedError:
        """Make the text of a caught error."""
        answer = super().__new__(cls, f"refused: {type(error).__name__}")
        frames = [(f.f_code, line) for f, line in traceback.walk_tb(error.__traceback__)]
        answer.frames = [(f.co_filename, line or 0, f.co_name) for f, line in reversed(frames)]
        return answer


def was_raised_in(error: BaseException, package: str) -> bool:
    """Return whether an error was raised in a file of an installed package.

    Args:
        error: as it was caught.
        package: its importable name, "package" or "package.module".
    """
    spec = importlib.util.find_spec(package)
    frames = traceback.extract_tb(error.__traceback__)
    if spec is None or spec.origin is None or not frames:
        return False
    own, origin = Path(frames[-1].filename).absolute(), Path(spec.origin).absolute()
    is_package = spec.submodule_search_locations is not None
    # a copy may be made of links: what is not changed resolves to what is installed
    return any(
        file == module or (is_package and module.parent in file.parents)
        for file, module in ((own, origin), (own.resolve(), origin.resolve()))
    )


def find_error_location(error: BaseException) -> dict[str, Any]:
    """Return the innermost frame of an error; empty for one that was never raised.

    ``file`` (below the folder that its package is in), ``line`` and ``function``.
    """
    frames = traceback.extract_tb(error.__traceback__)
    if not frames:
        return {}
    frame = (_list_decisive_frames(frames) or frames)[-1]
    return {
        "file": _shorten_to_import_path(frame.filename),
        "line": frame.lineno,
        "function": frame.name,
    }


def _list_decisive_frames(frames: Sequence[traceback.FrameSummary]) -> list[traceback.FrameSummary]:
    """Return frames without those that only pass a call on, and their callers in the suite."""
    passed = [(f.filename, f.name) == (THROUGH.co_filename, THROUGH.co_name) for f in frames]
    by = [*passed[1:], False]
    own = [f for n, f in enumerate(frames) if not passed[n] and not by[n]]
    return [f for f in own if f.filename not in _PASSING and not f.filename.startswith("<")]


def list_uncompilable_places(error: BaseException) -> list[tuple[str, int]]:
    """Return the file and line that a SyntaxError names; nothing of another error.

    No frame is in it: its error seems to be raised by whoever imports it.
    """
    if isinstance(error, SyntaxError) and error.filename:
        return [(error.filename, error.lineno or 0)]
    return []


def _shorten_to_import_path(file: str) -> str:
    """Return a file below the folder that it was imported from; else its path."""
    folders = [os.path.join(os.path.abspath(entry), "") for entry in sys.path]
    above = [folder for folder in folders if file.startswith(folder)]
    return file[len(max(above, key=len)) :] if above else file


def find_error_origin(
    error: BaseException, modules: Sequence[str], folders: Sequence[str] = ()
) -> str:
    """Return the origin of an error: "suite", "framework", or "other".

    The innermost frame of the suite or the framework decides: an error that torch, NumPy or
    gymnasium raises is that of their caller.

    Args:
        error: as it was caught.
        modules: importable packages of the framework.
        folders: where else its code is.
    """
    frames = _list_decisive_frames(traceback.extract_tb(error.__traceback__))
    uncompilable = [file for file, _ in list_uncompilable_places(error)]
    for name in (*uncompilable, *(frame.filename for frame in reversed(frames))):
        file = _shorten_to_import_path(name)
        top = file.partition("/")[0]
        if top in _SUITE:
            return "suite"
        if top in modules or any(
            os.path.join(folder, "") in os.path.abspath(file) for folder in folders
        ):
            return "framework"
    return "other"
