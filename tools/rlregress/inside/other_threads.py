"""Notes other threads and processes of a training, whose events have no place in its order."""

from __future__ import annotations

import multiprocessing.process
import os
import sys
import threading
import weakref
from collections.abc import Mapping
from typing import Any

from rlregress.probing.framework_errors import call_original

#: class that starts threads or processes -> what a user can use instead, in one process.
IN_ONE_PROCESS = {
    "AsyncVectorEnv": "gymnasium.vector.SyncVectorEnv",
    "DataLoader": "num_workers=0",
    "SubprocEnvWorker": "tianshou.env.DummyVectorEnv",
}
#: how many frames of a stack are searched.
_DEEP = 40


class OtherActivity:
    """Notes the code that starts each process, and each thread in which events are recorded.

    Args:
        instead: class -> the class that does the same in one process; adds to ``IN_ONE_PROCESS``.

    Attributes:
        rows: ``{"what", "class", "file", "line", "instead"}`` of each start, in order, without
            repetitions.
    """

    def __init__(self, recorder: Any, instead: Mapping[str, str]) -> None:
        self._recorder = recorder
        self._instead = {**IN_ONE_PROCESS, **instead}
        self._thread = threading.get_ident()
        self._process = os.getpid()
        self._starters: weakref.WeakKeyDictionary[Any, dict[str, Any]] = weakref.WeakKeyDictionary()
        self.rows: list[dict[str, Any]] = []

    def install(self) -> None:
        """Note the starters of all threads and processes from now on."""
        self._thread = threading.get_ident()
        process, thread = multiprocessing.process.BaseProcess, threading.Thread
        start_process, start_thread = process.start, thread.start

        def note_starter_of_process(new_process: Any) -> None:
            # not in a child process: it inherits the hook, but its notes are never read
            if os.getpid() == self._process:
                self._note_starter("process", self._find_starter())
            call_original(start_process, new_process)

        def note_starter_of_thread(new_thread: Any) -> None:
            # noted when it records an event: most threads never do
            self._starters[new_thread] = self._find_starter()
            call_original(start_thread, new_thread)

        self._recorder.patch_until_exit(process, "start", note_starter_of_process)
        self._recorder.patch_until_exit(thread, "start", note_starter_of_thread)

    def note_if_other_thread(self) -> None:
        """Note the starter of the current thread, unless this is the thread of the recorder."""
        if threading.get_ident() != self._thread:
            starter = self._starters.get(threading.current_thread())
            self._note_starter("thread", starter or {"class": "", "file": "", "line": 0})

    def _note_starter(self, kind: str, starter: dict[str, Any]) -> None:
        row = {"what": kind, **starter, "instead": self._instead.get(starter["class"], "")}
        if row not in self.rows:
            self.rows.append(row)

    def _find_starter(self) -> dict[str, Any]:
        """Return the class of the calling code: one with a substitute, else the nearest traced."""
        frame: Any = sys._getframe(2)
        nearest: dict[str, Any] | None = None
        for _ in range(_DEEP):
            if frame is None:
                break
            kind = type(frame.f_locals.get("self")) if "self" in frame.f_locals else None
            replaceable = [
                base.__name__
                for base in getattr(kind, "__mro__", ())
                if base.__name__ in self._instead
            ]
            name = self._recorder.places.find_path_below_root(frame.f_code.co_filename)
            row = {
                "class": replaceable[0] if replaceable else getattr(kind, "__name__", ""),
                "file": name or os.path.basename(frame.f_code.co_filename),
                "line": frame.f_lineno,
            }
            if replaceable:
                return row
            if name is not None and nearest is None:
                nearest = row
            frame = frame.f_back
        return nearest or {"class": "", "file": "", "line": 0}
