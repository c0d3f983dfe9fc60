"""Which lines of the traced code a training reaches: what an acquittal covers.

Runs inside foreign and old environments: standard library only, Python 3.9 syntax. What counts are
the lines of the functions that the training enters.
"""

from __future__ import annotations

import dis
import inspect
import sys
import threading
from types import CodeType
from typing import Any, Dict, List, Set, Tuple

from rlregress.tracing.events import Places


def own_lines(code: CodeType) -> Set[int]:
    """Executable lines of a code object, without those of the functions inside it."""
    lines = {line for _, line in dis.findlinestarts(code) if line}
    # the line of the definition is no step of its own
    return lines - {code.co_firstlineno} if code.co_name != "<module>" else lines


class Lines:
    """Notes the lines that are reached while it is entered; use it as a context manager.

    Args:
        places: tells the traced code from all other.
    """

    def __init__(self, places: Places) -> None:
        self._places = places
        #: by identity: hashes of code objects are slow. Lines that were not reached yet.
        self._left: Dict[int, Set[int]] = {}
        self._entered: List[CodeType] = []
        self._others: List[CodeType] = []

    def __enter__(self) -> Lines:
        threading.settrace(self._call)
        sys.settrace(self._call)
        return self

    def __exit__(self, *_: Any) -> None:
        sys.settrace(None)
        threading.settrace(None)

    def _call(self, frame: Any, event: str, _: Any) -> Any:
        left = self._left.get(id(frame.f_code))
        if left is None:
            left = self._meet(frame)
        # a function that was reached whole costs nothing any more
        return self._line if left else None

    def _line(self, frame: Any, event: str, _: Any) -> Any:
        left = self._left[id(frame.f_code)]
        if event == "line":
            left.discard(frame.f_lineno)
        return self._line if left else None

    def _meet(self, frame: Any) -> Set[int]:
        """The lines of a function that is entered for the first time; none of other code."""
        code = frame.f_code
        # a script is a module that is run; any other module, and a class, only defines things
        script = code.co_name == "<module>" and frame.f_globals.get("__name__") == "__main__"
        does = bool(code.co_flags & inspect.CO_OPTIMIZED) or script
        counts = self._places.name(code.co_filename) is not None and does
        # kept, so that no other code comes to have its identity
        (self._entered if counts else self._others).append(code)
        self._left[id(code)] = own_lines(code) if counts else set()
        return self._left[id(code)]

    def reached(self) -> Dict[str, Tuple[List[int], List[int]]]:
        """File below its root -> lines reached, and all lines of the functions entered."""
        every: Dict[str, Set[int]] = {}
        hit: Dict[str, Set[int]] = {}
        for code in self._entered:
            file, lines = str(self._places.name(code.co_filename)), own_lines(code)
            every.setdefault(file, set()).update(lines)
            hit.setdefault(file, set()).update(lines - self._left[id(code)])
        return {file: (sorted(hit[file]), sorted(lines)) for file, lines in every.items() if lines}
