"""The output of commands: harmless, immediate, and quiet when nobody reads it any more."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Any, TextIO

from rlregress.errors import UserError
from rlregress.reporting import harmless

#: exit code of a command whose reader went away before it had a verdict: that of SIGPIPE in a shell
READER_GONE = 141


class _Stream:
    """A text stream that escapes everything a terminal would obey."""

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
        # which typer writes to find out what a stream takes
        if not text:
            return 0
        safe = harmless.terminal(text, self._line, colours=self.isatty())
        self._line = (self._line + safe).rpartition("\n")[2][-harmless.BEFORE :]
        self._try(lambda: self.unfiltered.write(safe))
        # what a command says is read while it goes on
        if "\n" in text:
            self.flush()
        return len(text)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        self._try(self.unfiltered.flush)

    def _try(self, write: Any) -> None:
        # a library may have caught the error
        if self.failed is not None:
            raise self.failed
        try:
            write()
        except BrokenPipeError:
            self._to_nobody()
            if not _state.decided:
                raise SystemExit(READER_GONE) from None
        except OSError as error:
            self._to_nobody()
            self.failed = UserError(
                f"what the command prints cannot be written: {error.strerror}; expected an output "
                "with room"
            )
            raise self.failed from None

    def _to_nobody(self) -> None:
        """Nothing that is printed from here on, also by Python as it ends, fails again."""
        nobody = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nobody, self.unfiltered.fileno())
        os.close(nobody)


class _State:
    decided = False


_state = _State()


def decided() -> None:
    """The command knows its exit code: it ends with that one, whether or not anybody reads on."""
    _state.decided = True


def _nobody() -> TextIO:
    """In the place of a stream that was closed (``>&-``), also for what the command starts."""
    stream = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    os.set_inheritable(stream.fileno(), True)
    return stream


@contextmanager
def streams() -> Iterator[None]:
    """The standard streams, made harmless for as long as a command runs."""
    _state.decided = False
    out: Any = _Stream(sys.stdout or _nobody())
    errors: Any = _Stream(sys.stderr or _nobody())
    try:
        with redirect_stdout(out), redirect_stderr(errors):
            yield
            out.flush()
    finally:
        # loggers write to them as Python ends, and it has been said
        out.failed = errors.failed = None


def unfiltered() -> TextIO:
    """Standard output for text that is harmless already and steers what shows it."""
    return getattr(sys.stdout, "unfiltered", sys.stdout)


def print_next_steps(steps: Iterable[str]) -> None:
    """Print the last lines of a command, the next steps, one per line."""
    for step in steps:
        print(f"next: {step}")
