"""How much of something long is done, and how long the rest may take.

Every ten seconds where somebody looks on, once a minute in a file or a pipe.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable

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
        self._pace = Pace()
        self._lock = threading.Lock()

    def done(self, count: int = 1, kept: bool = False) -> None:
        """So many more are there; ``kept``: they were there before, and took no time."""
        with self._lock:
            if kept:
                self._total -= count
                return
            self._done += count
            if self._done < self._first or not self._pace.due():
                return
            each = (time.monotonic() - self._pace.begun) / self._done
            left = about(each * (self._total - self._done))
            self._say(f"{self._what}: {self._done} of {self._total}, {left} left")


def about(seconds: float) -> str:
    """Seconds in words, as exact as a guess is."""
    return f"about {seconds:.0f} s" if seconds < 100 else f"about {seconds / 60:.0f} min"
