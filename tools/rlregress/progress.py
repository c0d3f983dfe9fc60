"""How much of something long is done, how long the rest may take, and that it goes on.

Every ten seconds where somebody looks on, once a minute in a file or a pipe.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

#: seconds between two lines, on a terminal and elsewhere.
ON_TERMINAL, ELSEWHERE = 10.0, 60.0
#: parts after which the time that is left can be told: the first begin with imports.
_FIRST = 4


class Pace:
    """When the next line is due; one thread at a time."""

    def __init__(self) -> None:
        self.begun = self._reported = time.monotonic()
        self._patience = ON_TERMINAL if sys.stdout.isatty() else ELSEWHERE

    def due(self) -> bool:
        """Whether a line is due now; the next one then is so much later."""
        now = time.monotonic()
        if now - self._reported < self._patience:
            return False
        self._reported = now
        return True


class Progress:
    """Counts what is done; safe to be told from several threads.

    Args:
        total: how many parts there are.
        say: is given the lines.
        what: the parts, in words.
        first: so many have to be done before the time that is left is told.
    """

    def __init__(
        self, total: int, say: Callable[[str], None], what: str, first: int = _FIRST
    ) -> None:
        self._total, self._say, self._what, self._first = total, say, what, first
        self._done = 0
        # when the first part was done: what was before it, such as imports, is not repeated
        self._first_done, self._at_first = 0.0, 0
        self._pace = Pace()
        self._lock = threading.Lock()

    def done(self, count: int = 1, kept: bool = False) -> None:
        """So many more are there; ``kept``: they were there before, and took no time."""
        with self._lock:
            if kept:
                self._total -= count
                return
            if not self._done:
                self._first_done, self._at_first = time.monotonic(), count
            self._done += count
            if self._done < self._first or not self._pace.due():
                return
            later = self._done - self._at_first
            since = self._first_done if later else self._pace.begun
            each = (time.monotonic() - since) / (later or self._done)
            left = about(each * (self._total - self._done))
            self._say(f"{self._what}: {self._done} of {self._total}, {left} left")


#: what is done now, in words.
_doing = ""


def begin(what: str) -> None:
    """Note what is done from now on; it is named where nothing else is said for long."""
    global _doing
    _doing = what


@contextmanager
def kept_alive(say: Callable[[str], None]) -> Iterator[Callable[[str], None]]:
    """Say what is done, and for how long, whenever nothing was said for a while.

    Yields:
        What the lines of the command are to be given to.
    """
    patience = ON_TERMINAL if sys.stdout.isatty() else ELSEWHERE
    begun = last = time.monotonic()
    ended = threading.Event()

    def pass_on(line: str) -> None:
        nonlocal last
        last = time.monotonic()
        say(line)

    def watch() -> None:
        while not ended.wait(max(last + patience - time.monotonic(), 0.05)):
            if _doing and time.monotonic() - last >= patience:
                pass_on(f"{_doing}: {about(time.monotonic() - begun)} in all so far")

    threading.Thread(target=watch, daemon=True).start()
    try:
        yield pass_on
    finally:
        ended.set()


def about(seconds: float) -> str:
    """Seconds in words, as exact as a guess is."""
    return f"about {seconds:.0f} s" if seconds < 100 else f"about {seconds / 60:.0f} min"
