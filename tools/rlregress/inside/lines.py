"""Which code a training reaches, and which way its branches go: what an acquittal covers.

Runs inside foreign and old environments: standard library only, Python 3.10 syntax. What counts are
the lines of the functions that the training enters, and the branches of their ``if`` and ``while``.
The body of a file that is run as a script is a function named ``<module>``.
"""

from __future__ import annotations

import dis
import inspect
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import CodeType
from typing import Any

from rlregress import source
from rlregress.inside import loading
from rlregress.inside.events import Places

#: operation -> what it can do to a number.
WAYS = {
    "clamp": ("below", "inside", "above"),
    "minimum": ("first", "second"),
    "maximum": ("first", "second"),
    "where": ("true", "false"),
    "mask": ("true", "false"),
    "complement": ("zero", "one"),
    "clip_grad_norm": ("clipped", "left"),
}


def own_lines(code: CodeType) -> set[int]:
    """Executable lines of a code object, without those of the functions inside it."""
    lines = {line for _, line in dis.findlinestarts(code) if line}
    # the line of the definition is no step of its own
    return lines - {code.co_firstlineno} if code.co_name != "<module>" else lines


class _Left:
    """What of one code object was not reached yet.

    Attributes:
        lines: of the code.
        ways: (line of a test, whether it holds).
        tests: line -> test whose condition stands there.
    """

    __slots__ = ("lines", "ways", "tests")

    def __init__(self, lines: set[int], tests: dict[int, source.Test]) -> None:
        self.lines = lines
        self.tests = tests
        self.ways = {(test.line, holds) for test in tests.values() for holds in (True, False)}


class Lines:
    """Notes what is reached while it is entered; use it as a context manager.

    Args:
        places: tells the traced code from all other.
        within: file below its root and qualified name of the functions whose lines are noted; None:
            all. Of others it is noted that they are entered, which costs little.

    Attributes:
        is_whole: nothing has taken its place until it was left.
    """

    def __init__(self, places: Places, within: Iterable[tuple[str, str]] | None = None) -> None:
        self._places = places
        self._within = None if within is None else {(file, name) for file, name in within}
        #: by identity: hashes of code objects are slow.
        self._left: dict[int, _Left] = {}
        #: the same; None where nothing is left.
        self._open: dict[int, Any] = {}
        self._called: list[CodeType] = []
        self._others: list[CodeType] = []
        #: of those entered.
        self._noted: list[CodeType] = []
        self._scripts: set[str] = set()
        self._tests: dict[str, dict[int, source.Test]] = {}
        self.is_whole = False

    def __enter__(self) -> Lines:
        threading.settrace(self._call)
        sys.settrace(self._call)
        return self

    def __exit__(self, *_: Any) -> None:
        self.is_whole = sys.gettrace() == self._call
        sys.settrace(None)
        threading.settrace(None)

    def _call(self, frame: Any, event: str, _: Any) -> Any:
        left = self._open.get(id(frame.f_code), self)
        if left is None:
            return None
        if left is self:
            left = self._meet(frame)
        if left.ways:
            return _branching(left)
        if left.lines:
            return self._line
        # a function that was reached whole costs nothing any more, and other code nothing at all
        self._open[id(frame.f_code)] = None
        return None

    def _line(self, frame: Any, event: str, _: Any) -> Any:
        left = self._left[id(frame.f_code)].lines
        if event == "line":
            left.discard(frame.f_lineno)
        return self._line if left else None

    def _meet(self, frame: Any) -> _Left:
        """What a function that is entered for the first time has to reach; nothing of others."""
        code = frame.f_code
        # a script is a module that is run; any other module, and a class, only defines things
        script = code.co_name == "<module>" and frame.f_globals.get("__name__") == "__main__"
        if script:
            self._scripts.add(code.co_filename)
        does = bool(code.co_flags & inspect.CO_OPTIMIZED) or script
        counts = self._places.name(code.co_filename) is not None and does
        # kept, so that no other code comes to have its identity
        (self._called if counts else self._others).append(code)
        noted = counts and (self._within is None or self._function(code) in self._within)
        lines = own_lines(code) if noted else set()
        self._left[id(code)] = _Left(lines, self._branches(code, lines) if noted else {})
        if noted:
            self._noted.append(code)
        self._open[id(code)] = self._left[id(code)]
        return self._left[id(code)]

    def _function(self, code: CodeType) -> tuple[str, str]:
        """File below its root, and qualified name."""
        of_file = source.parse_file(code.co_filename)
        name = of_file.function(code.co_firstlineno) if of_file is not None else ""
        if code.co_name == "<module>":
            # its first line may be that of a function
            name = code.co_name
        elif name == "<module>" and code.co_filename not in self._scripts:
            # a lambda of a module that is imported is no body of a script
            name = ""
        return str(self._places.name(code.co_filename)), name

    def _branches(self, code: CodeType, lines: set[int]) -> dict[int, source.Test]:
        file = code.co_filename
        if file not in self._tests:
            parsed = source.parse_file(file)
            self._tests[file] = source.map_tests(parsed) if parsed is not None else {}
        tests = self._tests[file]
        # of a test that spans lines only the own ones: a comprehension inside is other code
        return {line: tests[line] for line in lines if line in tests and tests[line].body in lines}

    def header(self) -> dict[str, Any]:
        """What the header of a trace has of the code that was executed.

        ``noted``: whether it is all of this process. ``at_import``: of the imports before it, see
        ``noting_imports``; nothing if they were not noted.
        """
        return {
            "lines": self.executed(),
            "functions": self.functions(),
            "branches": self.branches(),
            "noted": self.is_whole,
            "at_import": dict(_AT_IMPORT),
            "started": loading.started(self._places),
            **loading.loaded(self._places),
        }

    def executed(self) -> dict[str, tuple[list[int], list[int]]]:
        """File below its root -> lines reached, and all lines of those functions."""
        every: dict[str, set[int]] = {}
        hit: dict[str, set[int]] = {}
        for code in self._noted:
            file, lines = str(self._places.name(code.co_filename)), own_lines(code)
            every.setdefault(file, set()).update(lines)
            hit.setdefault(file, set()).update(lines - self._left[id(code)].lines)
        return {file: (sorted(hit[file]), sorted(lines)) for file, lines in every.items() if lines}

    def functions(self) -> dict[str, list[str]]:
        """File below its root -> qualified names of the functions that were entered."""
        by_file: dict[str, set[str]] = {}
        for code in self._called:
            file, name = self._function(code)
            if name:
                by_file.setdefault(file, set()).add(name)
        return {file: sorted(names) for file, names in by_file.items()}

    def branches(self) -> dict[str, list[tuple[int, bool, bool, str]]]:
        """File below its root -> tests met: line, whether it has held, has failed, and its text."""
        by_file: dict[str, dict[int, tuple[int, bool, bool, str]]] = {}
        for code in self._noted:
            left = self._left[id(code)]
            of_file = by_file.setdefault(str(self._places.name(code.co_filename)), {})
            for test in left.tests.values():
                ways = [(test.line, holds) not in left.ways for holds in (True, False)]
                # code of one line may be made more than once: of a function inside another
                known = of_file.get(test.line, (0, False, False, ""))
                row = (test.line, ways[0] or known[1], ways[1] or known[2], test.text)
                of_file[test.line] = row
        return {
            file: [row for row in sorted(rows.values()) if row[1] or row[2]]
            for file, rows in by_file.items()
            if rows
        }


def _branching(left: _Left) -> Any:
    """A tracer of one frame that notes which way its tests go."""
    last = 0

    def line(frame: Any, event: str, _: Any) -> Any:
        nonlocal last
        if event == "line":
            number = frame.f_lineno
            left.lines.discard(number)
            test = left.tests.get(last)
            if test is not None and left.tests.get(number) is not test:
                left.ways.discard((test.line, number == test.body))
            last = number
        elif event == "return":
            # from the condition out of the function, which is not into the body
            test = left.tests.get(last)
            if test is not None:
                left.ways.discard((test.line, False))
            last = 0
        elif event == "exception":
            last = 0
        return line if left.lines or left.ways else None

    return line


#: what ran while a process imported what its trainings share; empty: it was not noted.
_AT_IMPORT: dict[str, Any] = {}


@contextmanager
def noting_imports(places: Places) -> Iterator[None]:
    """Note the functions that imports call, and the files that were loaded before."""
    before = loading.loaded(places)["imported"]
    with Lines(places, ()) as noted:
        yield
    if noted.is_whole:
        _AT_IMPORT.update(functions=noted.functions(), before=before)
