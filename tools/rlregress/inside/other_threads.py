"""What a training does in other threads and processes, where its events cannot be put in order."""

from __future__ import annotations

import multiprocessing.process
import os
import sys
import threading
import weakref
from collections.abc import Mapping
from typing import Any

from rlregress.probing.framework_errors import through

#: class that starts threads or processes -> what does the same in one.
IN_ONE_PROCESS = {
    "AsyncVectorEnv": "gymnasium.vector.SyncVectorEnv",
    "DataLoader": "num_workers=0",
    "SubprocEnvWorker": "tianshou.env.DummyVectorEnv",
}
#: frames of a stack that are looked at.
_DEEP = 40


class Elsewhere:
    """Notes who started the threads that hand in events, and every process.

    Args:
        instead: class -> what does the same in one process, beside those that are known here.

    Attributes:
        found: ``{"what", "class", "file", "line", "instead"}`` of each, in order; no two alike.
    """

    def __init__(self, recorder: Any, instead: Mapping[str, str]) -> None:
        self._recorder = recorder
        self._instead = {**IN_ONE_PROCESS, **instead}
        self._thread = threading.get_ident()
        self._process = os.getpid()
        self._starters: weakref.WeakKeyDictionary[Any, dict[str, Any]] = weakref.WeakKeyDictionary()
        self.found: list[dict[str, Any]] = []

    def install(self) -> None:
        """Meet all threads and processes that are started from now on."""
        self._thread = threading.get_ident()
        process, thread = multiprocessing.process.BaseProcess, threading.Thread
        start_process, start_thread = process.start, thread.start

        def started_process(made: Any) -> None:
            if os.getpid() == self._process:
                self._note("process", self._starter())
            through(start_process, made)

        def started_thread(made: Any) -> None:
            self._starters[made] = self._starter()
            through(start_thread, made)

        self._recorder.replace(process, "start", started_process)
        self._recorder.replace(thread, "start", started_thread)

    def look(self) -> None:
        """Note the current thread if it is another one: it hands in an event."""
        if threading.get_ident() != self._thread:
            known = self._starters.get(threading.current_thread())
            self._note("thread", known or {"class": "", "file": "", "line": 0})

    def _note(self, what: str, starter: dict[str, Any]) -> None:
        row = {"what": what, **starter, "instead": self._instead.get(starter["class"], "")}
        if row not in self.found:
            self.found.append(row)

    def _starter(self) -> dict[str, Any]:
        """The class of the stack that is known to start things, or else the nearest traced one."""
        frame: Any = sys._getframe(2)
        nearest: dict[str, Any] | None = None
        for _ in range(_DEEP):
            if frame is None:
                break
            kind = type(frame.f_locals.get("self")) if "self" in frame.f_locals else None
            known = [
                k.__name__ for k in getattr(kind, "__mro__", ()) if k.__name__ in self._instead
            ]
            name = self._recorder.places.name(frame.f_code.co_filename)
            row = {
                "class": known[0] if known else getattr(kind, "__name__", ""),
                "file": name or os.path.basename(frame.f_code.co_filename),
                "line": frame.f_lineno,
            }
            if known:
                return row
            if name is not None and nearest is None:
                nearest = row
            frame = frame.f_back
        return nearest or {"class": "", "file": "", "line": 0}
