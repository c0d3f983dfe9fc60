"""The origin of an error that ends a training: the traced code, the suite, or the recorder.

The innermost frame in one of the three decides: an error that torch, NumPy or gymnasium raises is
that of their caller. A hook that only passes a call on does not count; see
``framework_errors.call_original``.
"""

from __future__ import annotations

import os
import re
import traceback

from rlregress import source
from rlregress.inside.events import Places
from rlregress.probing import framework_errors

TRACED, SUITE, RECORDER, UNKNOWN = "traced", "suite", "recorder", "other"

_SUITE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_RECORDER = os.path.join(_SUITE, "inside", "")
#: modules of this folder that are not part of the recorder: they call the training.
_TRAINING = ("trace_worker.py",)
#: modules of the suite that only pass calls on.
_PASSING = ("framework_errors.py", "running.py", "shim.py")
#: signals by which the traced code, or a library below it, ends a process.
SIGNALS = ("SIGSEGV", "SIGABRT", "SIGBUS", "SIGFPE", "SIGILL")
_FRAME = re.compile(r'^  File "(.+)", line (\d+) in (.+)$', re.MULTILINE)


def find_error_origin(error: BaseException, places: Places) -> str:
    """Return which code raised an error: ``TRACED``, ``SUITE``, ``RECORDER`` or ``UNKNOWN``."""
    for file, _ in framework_errors.list_uncompilable_places(error):
        if places.find_path_below_root(file) is not None:
            return TRACED
    error_origin = caller = UNKNOWN
    for frame, _ in traceback.walk_tb(error.__traceback__):
        file = os.path.abspath(frame.f_code.co_filename)
        if frame.f_code is framework_errors.THROUGH:
            error_origin = caller
        elif places.find_path_below_root(frame.f_code.co_filename) is not None:
            error_origin = caller = TRACED
        elif file.startswith(_RECORDER) and os.path.basename(file) not in _TRAINING:
            error_origin = RECORDER
        elif file.startswith(_SUITE + os.sep):
            error_origin = caller = SUITE
    return error_origin


def describe_error_for_header(
    error: BaseException, places: Places, script: str = ""
) -> dict[str, str]:
    """Return the entries of a trace's header for the error that ended the training.

    ``type``; ``error``, type and message in one line; ``origin``; ``at``, "file:line function" of
    the innermost frame of the framework; ``by``, the same of the script or of the suite's training
    that called it.
    """
    frames = [
        (frame.f_code.co_filename, line, frame.f_code.co_firstlineno, frame.f_code.co_name)
        for frame, line in traceback.walk_tb(error.__traceback__)
    ]
    for file, line in framework_errors.list_uncompilable_places(error):
        frames.append((file, line, 0, "<module>"))
    kind = type(error)
    inside = "" if kind.__module__ in ("builtins", "__main__") else f"{kind.__module__}."
    try:
        message = str(error).strip().partition("\n")[0]
    except Exception:  # the class of the error may have its own methods
        message = ""
    name = f"{inside}{kind.__qualname__}"
    return {
        "type": name,
        "error": f"{name}: {message}" if message else name,
        "origin": find_error_origin(error, places),
        **_find_error_places(frames, script, places),
    }


def describe_crash_for_header(
    signal: str, stderr: str, script: str = "", packages: tuple[str, ...] = ()
) -> dict[str, str]:
    """Return the entries of a trace's header for a process that a signal ended.

    Args:
        stderr: with the stack that faulthandler has printed.
    """
    # reversed: faulthandler prints the innermost frame first
    frames = [(file, int(line), int(line), name) for file, line, name in _FRAME.findall(stderr)]
    roots = [script] if script else []
    for file, *_ in reversed(frames):
        parts = file.split(os.sep)
        roots += [os.sep.join(parts[: n + 1]) for n, part in enumerate(parts) if part in packages]
    return {
        "type": signal,
        "error": f"the process was ended by {signal}",
        "origin": TRACED,
        **_find_error_places(frames[::-1], script, Places(roots)),
    }


def _find_error_places(
    frames: list[tuple[str, int, int, str]], script: str, places: Places
) -> dict[str, str]:
    """Return the entries for the places of an error.

    Args:
        frames: file, line, first line of the function, and its name; the innermost frame last.
    """
    traced = [frame for frame in frames if places.find_path_below_root(frame[0]) is not None]
    library = [frame for frame in traced if frame[0] != script]
    callers = [f for f in frames if (f[0] == script if script else _is_suite_caller(f[0]))]
    return {
        key: _format_frame(*found[-1], places) if found else ""
        for key, found in (("at", library or traced), ("by", callers))
    }


def _is_suite_caller(file: str) -> bool:
    file = os.path.abspath(file)
    within = file.startswith(_SUITE + os.sep) and not file.startswith(_RECORDER)
    return within and os.path.basename(file) not in _PASSING


def _format_frame(file: str, line: int, first: int, name: str, places: Places) -> str:
    """Return ``file:line function``; the function is qualified if its source can be read."""
    display_name = places.find_path_below_root(file)
    if display_name is None and file.startswith(_SUITE + os.sep):
        display_name = os.path.relpath(file, os.path.dirname(_SUITE))
    parsed = source.parse_source_file(file) if name != "<module>" else None
    qualified = parsed.name_function_at_line(first) if parsed is not None else name
    return f"{display_name or file}:{line} {name if qualified == '<module>' else qualified}"
