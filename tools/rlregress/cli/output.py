"""The output of commands: escaped, flushed at once, and dropped if its reader has ended."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Any, TextIO

from rlregress.errors import UserError
from rlregress.report import harmless

#: exit code of a command whose reader went away before it had a verdict: that of SIGPIPE in a shell
READER_GONE = 141


class _Stream:
    """A text stream that escapes control sequences of terminals."""

    encoding = "utf-8"

    def __init__(self, stream: TextIO) -> None:
        self.unfiltered = stream
        self._line = ""
        self.failed: UserError | None = None
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")

    def __getattr__(self, name: str) -> Any:
        return getattr(self.unfiltered, name)

    def write(self, text: str) -> int:
        if not isinstance(text, str):
            raise TypeError(f"expected text, found {type(text).__name__}")
        # typer writes an empty text to find out whether a stream takes text
        if not text:
            return 0
        safe = harmless.escape_for_terminal(text, self._line, colours=self.isatty())
        self._line = (self._line + safe).rpartition("\n")[2][-harmless.BEFORE :]
        self._try_to_write(lambda: self.unfiltered.write(safe))
        # users read the lines of a long command while it runs
        if "\n" in text:
            self.flush()
        return len(text)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        self._try_to_write(self.unfiltered.flush)

    def _try_to_write(self, write: Any) -> None:
        # a library may have caught the error
        if self.failed is not None:
            raise self.failed
        try:
            write()
        except BrokenPipeError:
            self._discard_output()
            if not _state.decided:
                raise SystemExit(READER_GONE) from None
        except OSError as error:
            self._discard_output()
            self.failed = UserError(
                f"the output of the command cannot be written: {error.strerror}; free "
                "space, or write elsewhere"
            )
            raise self.failed from None

    def _discard_output(self) -> None:
        """Discard later output, so that Python does not fail again when it flushes at its end."""
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, self.unfiltered.fileno())
        os.close(null)


class _State:
    decided = False


_state = _State()


def mark_exit_code_decided() -> None:
    """Record that the exit code is decided: the command ends with it even without a reader."""
    _state.decided = True


def _open_null_stream() -> TextIO:
    """Return a stream to replace one that was closed (``>&-``)."""
    stream = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    # child processes need it as well
    os.set_inheritable(stream.fileno(), True)
    return stream


@contextmanager
def escape_standard_streams() -> Iterator[None]:
    """Escape and flush the standard streams while a command runs."""
    _state.decided = False
    out: Any = _Stream(sys.stdout or _open_null_stream())
    errors: Any = _Stream(sys.stderr or _open_null_stream())
    try:
        with redirect_stdout(out), redirect_stderr(errors):
            yield
            out.flush()
    finally:
        # loggers write as Python ends: the error was reported once
        out.failed = errors.failed = None


def get_unescaped_output() -> TextIO:
    """Return standard output without escaping, for control sequences that a terminal must obey."""
    return getattr(sys.stdout, "unfiltered", sys.stdout)


def print_next_steps(steps: Iterable[str]) -> None:
    """Print the last lines of a command, the next steps, one per line."""
    for step in steps:
        print(f"next: {step}")
