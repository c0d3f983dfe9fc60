"""Where an error comes from: whether the framework raised it, or the probe that asked."""

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

#: frames that say nothing of who is to blame: they pass on what happened elsewhere.
_PASSING = tuple(str(module.__file__) for module in (families, importlib))


def through(original: Callable[..., Any], /, *arguments: Any, **options: Any) -> Any:
    """Call what a hook or a wrapper of the suite stands in for.

    An error from there is that of who called the hook: it is told by this frame in its traceback.
    """
    return original(*arguments, **options)


THROUGH = through.__code__


class ExpectedError(str):
    """That a framework answers with an error: the name of its type, in words.

    Attributes:
        frames: file, line and function of its traceback, the innermost first.
    """

    frames: list[tuple[str, int, str]]

    def __new__(cls, error: BaseException) -> ExpectedError:
        """Of an error as it was caught."""
        made = super().__new__(cls, f"refused: {type(error).__name__}")
        frames = [(f.f_code, line) for f, line in traceback.walk_tb(error.__traceback__)]
        made.frames = [(f.co_filename, line or 0, f.co_name) for f, line in reversed(frames)]
        return made


def raised_in(error: BaseException, package: str) -> bool:
    """Whether the innermost frame of an error's traceback is in a file of an installed package.

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


def error_location(error: BaseException) -> dict[str, Any]:
    """The innermost frame of an error; empty for one that was never raised.

    ``file`` (below the folder that its package is in), ``line`` and ``function``.
    """
    frames = traceback.extract_tb(error.__traceback__)
    own = _without_wrappers(frames)
    decisive = [f for f in own if f.filename not in _PASSING and not f.filename.startswith("<")]
    if not frames:
        return {}
    frame = (decisive or frames)[-1]
    return {"file": _below(frame.filename), "line": frame.lineno, "function": frame.name}


def _without_wrappers(frames: Sequence[traceback.FrameSummary]) -> list[traceback.FrameSummary]:
    """Frames without those of the suite that only pass a call on."""
    passed = [(f.filename, f.name) == (THROUGH.co_filename, THROUGH.co_name) for f in frames]
    by = [*passed[1:], False]
    return [f for n, f in enumerate(frames) if not passed[n] and not by[n]]


def _below(file: str) -> str:
    """A file below the folder of the path that it was imported from; else as it is."""
    folders = [os.path.join(os.path.abspath(entry), "") for entry in sys.path]
    above = [folder for folder in folders if file.startswith(folder)]
    return file[len(max(above, key=len)) :] if above else file


def error_origin(error: BaseException, modules: Sequence[str], folders: Sequence[str] = ()) -> str:
    """Whose error it is, by its innermost frame: of the "suite", the "framework" or "other".

    Args:
        error: as it was caught.
        modules: importable packages of the framework.
        folders: where else its code is.
    """
    file = str(error_location(error).get("file", ""))
    top = file.partition("/")[0]
    if top == __name__.partition(".")[0]:
        return "suite"
    beside = any(os.path.join(folder, "") in os.path.abspath(file) for folder in folders)
    return "framework" if top in modules or beside else "other"
