"""Reports the progress of a command: its stage, the finished parts, and the time so far.

A terminal shows one line, in place. Elsewhere a line is printed each minute, and when a stage
begins after a pause. No time is predicted: it would depend on the machine's load, and on what is
found meanwhile.
"""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

#: seconds between two lines, on a terminal and in a log
ON_TERMINAL, IN_LOG = 1.0, 60.0
#: seconds of silence after which the begin of a stage is printed
_QUIET = 15.0


class Progress:
    """The stage of a command, and its parts that are done; safe for several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._started = time.monotonic()
        self.stage, self._parts, self._done = "", 0, 0

    def begin_stage(self, name: str, parts: int = 0) -> None:
        """Begin a stage; 0 parts: their number is unknown."""
        with self._lock:
            self.stage, self._parts, self._done = name, parts, 0

    def count_done_parts(self, count: int = 1) -> None:
        """Count finished parts."""
        with self._lock:
            self._done += count

    def format_progress_line(self) -> str:
        """Return the stage, its parts, and the time so far; "" before the first stage."""
        with self._lock:
            if not self.stage:
                return ""
            parts = f" {self._done} of {self._parts}," if self._parts else ""
            if self._done and not self._parts:
                parts = f" {self._done} done,"
            return f"{self.stage}:{parts} {format_elapsed_time(self._started)}"


_progress = Progress()


def begin_stage(name: str, parts: int = 0) -> None:
    """Call ``Progress.begin_stage`` for the running command."""
    _progress.begin_stage(name, parts)


def count_done_parts(count: int = 1) -> None:
    """Call ``Progress.count_done_parts`` for the running command."""
    _progress.count_done_parts(count)


@contextmanager
def show_progress(
    log: Callable[[str], None],
    make_line: Callable[[], str] | None = None,
    stream: TextIO | None = None,
) -> Iterator[Callable[[str], None]]:
    """Show the progress of the command: in place on a terminal, now and then elsewhere.

    Args:
        make_line: returns the line to show; None: that of the stages from here on.
        stream: to write the line to; None: the standard output.

    Yields:
        The function that prints every other line of the command.
    """
    global _progress
    outer, _progress = _progress, Progress()
    running = _progress
    current = make_line or running.format_progress_line
    stream = stream or sys.stdout
    terminal = stream.isatty()
    last, named = time.monotonic(), ""
    lock, stop = threading.Lock(), threading.Event()

    def clear_progress_line() -> None:
        if terminal:
            stream.write("\r\x1b[K")
            stream.flush()

    def pass_on_text(text: str) -> None:
        nonlocal last
        with lock:
            last = time.monotonic()
            clear_progress_line()
            log(text)

    def redraw_periodically() -> None:
        nonlocal named
        while not stop.wait(min(ON_TERMINAL, IN_LOG / 4)):
            text, silent = current(), time.monotonic() - last
            if terminal and text:
                with lock:
                    clear_progress_line()
                    stream.write(text[: shutil.get_terminal_size().columns - 1])
                    stream.flush()
            elif text and (silent >= IN_LOG or (silent >= _QUIET and named != running.stage)):
                named = running.stage
                pass_on_text(text)

    watching = threading.Thread(target=redraw_periodically, daemon=True)
    watching.start()
    try:
        yield pass_on_text
    finally:
        stop.set()
        watching.join()
        clear_progress_line()
        _progress = outer


def format_elapsed_time(started: float) -> str:
    """Format the time since ``started``, a value of ``time.monotonic``."""
    seconds = time.monotonic() - started
    amount = f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"
    return f"{amount} so far"
