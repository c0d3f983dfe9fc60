"""What commands print: harmless, at once, and quiet when nobody reads it any more."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Any, TextIO

from rlregress.errors import UserError
from rlregress.reporting import harmless

#: exit code of a command whose reader went away before it had a verdict: that of SIGPIPE in a shell
READER_GONE = 141


class _Stream:
    """A stream of text from which what it is given cannot break out; the rest is the stream's."""

    encoding = "utf-8"

    def __init__(self, stream: TextIO) -> None:
        self.unfiltered = stream
        self._begins = True
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")

    def __getattr__(self, name: str) -> Any:
        return getattr(self.unfiltered, name)

    def write(self, text: str) -> int:
        shown = harmless.terminal(text, self._begins, colours=self.isatty())
        if text:
            self._begins = text.endswith("\n")
        self._try(lambda: self.unfiltered.write(shown))
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
        try:
            write()
        except BrokenPipeError:
            self._to_nobody()
            if not _state.decided:
                raise SystemExit(READER_GONE) from None
        except OSError as error:
            self._to_nobody()
            raise UserError(
                f"what the command prints cannot be written: {error.strerror}; expected an output "
                "with room"
            ) from None

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


@contextmanager
def streams() -> Iterator[None]:
    """The standard streams, made harmless for as long as a command runs."""
    _state.decided = False
    out: Any = _Stream(sys.stdout)
    errors: Any = _Stream(sys.stderr)
    with redirect_stdout(out), redirect_stderr(errors):
        yield
        out.flush()


def unfiltered() -> TextIO:
    """Standard output for text that is harmless already and steers what shows it."""
    return getattr(sys.stdout, "unfiltered", sys.stdout)
