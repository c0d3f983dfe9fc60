"""Whose an error is that ends a training: of the traced code, of the suite, or of the recorder.

The innermost frame decides that is in one of the three. Torch, NumPy and gymnasium raise for who
calls them, and a hook that only passes a call on is none of the frames; see
``framework_errors.through``.
"""

from __future__ import annotations

import os
import re
import traceback
from typing import Any

from rlregress import source
from rlregress.inside.events import Places
from rlregress.probing import framework_errors

TRACED, SUITE, RECORDER, OTHER = "traced", "suite", "recorder", "other"

_SUITE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_RECORDER = os.path.join(_SUITE, "inside", "")
#: of this folder, but called by the training or calling it: no hooks.
_TRAINING = ("trace_worker.py",)
#: of the suite's trainings, what only hands on what is called.
_PASSING = ("framework_errors.py", "running.py", "shim.py")
#: by which the traced code, or what it is built on, ends a process.
SIGNALS = ("SIGSEGV", "SIGABRT", "SIGBUS", "SIGFPE", "SIGILL")
_FRAME = re.compile(r'^  File "(.+)", line (\d+) in (.+)$', re.MULTILINE)


def origin(error: BaseException, places: Places) -> str:
    """Whose error it is: ``TRACED``, ``SUITE``, ``RECORDER``, or ``OTHER`` before any of them."""
    error_origin = caller = OTHER
    for frame, _ in traceback.walk_tb(error.__traceback__):
        file = os.path.abspath(frame.f_code.co_filename)
        if frame.f_code is framework_errors.THROUGH:
            error_origin = caller
        elif places.name(frame.f_code.co_filename) is not None:
            error_origin = caller = TRACED
        elif file.startswith(_RECORDER) and os.path.basename(file) not in _TRAINING:
            error_origin = RECORDER
        elif file.startswith(_SUITE + os.sep):
            error_origin = caller = SUITE
    return error_origin


def found(error: BaseException, places: Places, script: str = "") -> dict[str, str]:
    """What the header of a trace says of the error that ended the training.

    ``type``; ``error``, type and message in one line; ``origin``; ``at``, "file:line function" of
    the innermost frame of the framework; ``by``, the same of the script or of the suite's training
    that called it.
    """
    frames = [
        (frame.f_code.co_filename, line, frame.f_code.co_firstlineno, frame.f_code.co_name)
        for frame, line in traceback.walk_tb(error.__traceback__)
    ]
    named = [(file, _at(file, line, first, name, places)) for file, line, first, name in frames]
    kind = type(error)
    inside = "" if kind.__module__ in ("builtins", "__main__") else f"{kind.__module__}."
    try:
        message = str(error).strip().partition("\n")[0]
    except Exception:  # of a class of the framework's own
        message = ""
    name = f"{inside}{kind.__qualname__}"
    return {
        "type": name,
        "error": f"{name}: {message}" if message else name,
        "origin": origin(error, places),
        **_where(named, script, places),
    }


def of_signal(name: str, stderr: str, script: str = "", packages: tuple[str, ...] = ()) -> Any:
    """The same of a process that a signal has ended; ``stderr`` holds faulthandler's stack."""
    # the innermost one comes first
    frames = [(file, int(line), name) for file, line, name in _FRAME.findall(stderr)][::-1]
    roots = [script] if script else []
    for file, _, _ in frames:
        parts = file.split(os.sep)
        roots += [os.sep.join(parts[: n + 1]) for n, part in enumerate(parts) if part in packages]
    places = Places(roots)
    named = [(file, _at(file, line, line, name, places)) for file, line, name in frames]
    error = f"the process was ended by {name}"
    return {"type": name, "error": error, "origin": TRACED, **_where(named, script, places)}


def _where(frames: list[tuple[str, str]], script: str, places: Places) -> dict[str, str]:
    theirs = [frame for frame in frames if places.name(frame[0]) is not None]
    library = [at for file, at in theirs if file != script]
    own = [at for file, at in frames if (file == script if script else _of_training(file))]
    return {
        "at": (library or [at for _, at in theirs] or [""])[-1],
        "by": (own or [""])[-1],
    }


def _of_training(file: str) -> bool:
    file = os.path.abspath(file)
    within = file.startswith(_SUITE + os.sep) and not file.startswith(_RECORDER)
    return within and os.path.basename(file) not in _PASSING


def _at(file: str, line: int, first: int, name: str, places: Places) -> str:
    """``file:line function``, the function qualified where its source can be read."""
    display_name = places.name(file)
    if display_name is None and file.startswith(_SUITE + os.sep):
        display_name = os.path.relpath(file, os.path.dirname(_SUITE))
    parsed = source.parse_file(file) if name != "<module>" else None
    qualified = parsed.function(first) if parsed is not None else name
    return f"{display_name or file}:{line} {name if qualified == '<module>' else qualified}"
