"""Notes which code is executed: functions, lines, and the directions that branches take.

``Lines`` does this for traces, for imports and for probes. Only ``inside.trail``, which follows
replays of many minutes, counts lines with coverage.py, whose tracer is written in C. Functions of
the traced code are noted, with the ``if`` and ``while`` in them. The body of a file that is run as
a script is a function named ``<module>``. Other bodies of modules and classes are not noted.

Runs inside foreign and old environments: standard library only, Python 3.10 syntax.
"""

from __future__ import annotations

import dis
import inspect
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import CodeType
from typing import Any

from rlregress import source
from rlregress.inside import audit_events, loading
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
#: called with a frame, an event and its argument, as by ``sys.settrace``; returns the next tracer.
Tracer = Callable[[Any, str, Any], Any]


def list_own_lines(code: CodeType) -> set[int]:
    """Return the executable lines of a code object, without those of the functions inside it."""
    lines = {line for _, line in dis.findlinestarts(code) if line}
    # the line of the definition is no step of its own
    return lines - {code.co_firstlineno} if code.co_name != "<module>" else lines


def list_inner_code_objects(code: CodeType) -> Iterator[CodeType]:
    """Yield the code objects within one, at any depth."""
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from list_inner_code_objects(constant)


# -- the two ways in which Python reports what it executes ---------------------------------------


class _Tracing:
    """Calls a tracer by ``sys.settrace``, in all threads that ``threading`` starts.

    There is one tracer for each thread: if other code sets its own, later lines are not noted.
    """

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer
        self._was_replaced = False

    def start_tracing(self) -> None:
        """Call the tracer from now on."""
        self._before = sys.gettrace(), threading.gettrace()
        self._was_replaced = False
        set_for_threads = self._set_for_threads = threading.settrace
        set_for_threads(self._tracer)

        def note_setting(func: Any) -> None:
            # a thread that starts without a tracer sets none, and so causes no audit event
            self._was_replaced = True
            set_for_threads(func)

        threading.settrace = note_setting
        sys.settrace(self._tracer)
        self._stop_listening = audit_events.listen_to_events(self._note_set_tracer, "sys.settrace")

    def stop_tracing(self) -> bool:
        """Restore the earlier tracers; return whether no other code has replaced this one."""
        self._stop_listening()
        tracers = sys.gettrace(), threading.gettrace()
        sys.settrace(self._before[0])
        threading.settrace = self._set_for_threads
        threading.settrace(self._before[1])
        return tracers == (self._tracer, self._tracer) and not self._was_replaced

    def _note_set_tracer(self, *_: Any) -> None:
        """Note that a tracer was set, unless a new thread gets this one or the suite sets one."""
        # behind this function and the hook
        setter = sys._getframe(2)
        begin_thread = threading.Thread._bootstrap_inner.__code__  # type: ignore[attr-defined]
        # the suite's own are suspended for a while, or call this one
        is_of_suite = str(setter.f_globals.get("__name__")).startswith("rlregress.")
        if setter.f_code is not begin_thread and not is_of_suite:
            self._was_replaced = True


class _Monitoring:
    """Calls a tracer by ``sys.monitoring``, which Python has from 3.12 on.

    It covers all threads, other tracers do not replace it, and a line that was noted once has no
    further cost.
    """

    _NAME = "rlregress"

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer
        #: of the frames that are followed line by line, by identity.
        self._tracers: dict[int, Tracer] = {}
        #: of which lines are reported, by identity.
        self._codes: dict[int, CodeType] = {}

    def start_tracing(self) -> None:
        """Call the tracer from now on."""
        self._monitoring: Any = sys.monitoring  # type: ignore[attr-defined,unused-ignore]
        events = self._monitoring.events
        # other numbers are reserved for debuggers, coverage, profilers and optimisers
        self._tool = next(tool for tool in (4, 3) if self._monitoring.get_tool(tool) is None)
        self._monitoring.use_tool_id(self._tool, self._NAME)
        for event, callback in (
            (events.PY_START, self._begin_call),
            (events.PY_RESUME, self._begin_call),
            (events.PY_THROW, self._resume_generator),
            (events.LINE, self._trace_line),
            (events.PY_RETURN, self._end_call),
            (events.PY_YIELD, self._end_call),
            (events.RAISE, self._trace_exception),
            (events.PY_UNWIND, self._forget_frame),
        ):
            self._monitoring.register_callback(self._tool, event, callback)
        self._local = events.LINE | events.PY_RETURN | events.PY_YIELD
        # errors are reported of all code or of none
        self._global = events.PY_START | events.PY_RESUME | events.PY_THROW
        self._global |= events.RAISE | events.PY_UNWIND
        self._monitoring.set_events(self._tool, self._global)
        # places that were switched off before are news again
        self._monitoring.restart_events()

    def stop_tracing(self) -> bool:
        """End the calls of the tracer; return whether it missed no code."""
        if self._monitoring.get_tool(self._tool) != self._NAME:
            return False
        is_whole = self._monitoring.get_events(self._tool) == self._global
        for code in self._codes.values():
            self._monitoring.set_local_events(self._tool, code, 0)
        self._monitoring.set_events(self._tool, 0)
        self._monitoring.free_tool_id(self._tool)
        self._codes.clear()
        self._tracers.clear()
        return bool(is_whole)

    def _begin_call(self, code: CodeType, _: int) -> Any:
        return self._trace_new_frame(sys._getframe(1), code)

    def _resume_generator(self, code: CodeType, _: int, error: BaseException) -> None:
        # an error that is thrown into a generator; this event cannot be switched off for a place
        self._trace_new_frame(sys._getframe(1), code)

    def _trace_new_frame(self, frame: Any, code: CodeType) -> Any:
        tracer = self._tracer(frame, "call", None)
        if tracer is None:
            if self._codes.pop(id(code), None) is not None:
                self._monitoring.set_local_events(self._tool, code, 0)
            return self._monitoring.DISABLE
        self._tracers[id(frame)] = tracer
        if id(code) not in self._codes:
            self._codes[id(code)] = code
            self._monitoring.set_local_events(self._tool, code, self._local)
        return None

    def _trace_line(self, code: CodeType, number: int) -> None:
        self._call_tracer(sys._getframe(1), "line")

    def _end_call(self, code: CodeType, offset: int, result: Any) -> None:
        frame = sys._getframe(1)
        self._call_tracer(frame, "return")
        self._tracers.pop(id(frame), None)

    def _trace_exception(self, code: CodeType, offset: int, error: BaseException) -> None:
        self._call_tracer(sys._getframe(1), "exception")

    def _forget_frame(self, code: CodeType, offset: int, error: BaseException) -> None:
        self._tracers.pop(id(sys._getframe(1)), None)

    def _call_tracer(self, frame: Any, event: str) -> None:
        tracer = self._tracers.get(id(frame))
        if tracer is not None and tracer(frame, event, None) is None:
            del self._tracers[id(frame)]


#: how Python can report what it executes, the best one first.
BACK_ENDS: tuple[type[_Tracing] | type[_Monitoring], ...] = (
    (_Monitoring, _Tracing) if hasattr(sys, "monitoring") else (_Tracing,)
)


# -- what is noted -------------------------------------------------------------------------------


class _Remaining:
    """The lines and branch directions of one code object that did not run yet.

    Attributes:
        lines: of the code.
        ways: (line of a test, the result of the test) pairs.
        tests: line -> test whose condition stands there.
    """

    __slots__ = ("lines", "ways", "tests")

    def __init__(self, lines: set[int], tests: dict[int, source.Test]) -> None:
        self.lines = lines
        self.tests = tests
        self.ways = {(test.line, holds) for test in tests.values() for holds in (True, False)}


class Lines:
    """Notes executed code; use it as a context manager, also repeatedly.

    Args:
        places: tells the traced code from all other.
        within: file below its root and qualified name of the functions whose lines are noted; None:
            all. For other functions only the call is noted, which costs little.
        back_end: a name in ``BACK_ENDS``.

    Attributes:
        is_whole: no other tracer was set until it was left.
    """

    def __init__(
        self,
        places: Places,
        within: Iterable[tuple[str, str]] | None = None,
        back_end: type[_Tracing] | type[_Monitoring] = BACK_ENDS[0],
    ) -> None:
        self._places = places
        self._within = None if within is None else {(file, name) for file, name in within}
        self._back_end = back_end(self._trace_call)
        #: by identity: hashes of code objects are slow.
        self._remaining: dict[int, _Remaining] = {}
        #: the same; None where nothing remains.
        self._open: dict[int, Any] = {}
        # code objects are held here, so that no other one comes to have their identity
        self._called: list[CodeType] = []
        self._ignored: list[CodeType] = []
        #: called ones whose lines are noted.
        self._followed: list[CodeType] = []
        self._scripts: set[str] = set()
        self._tests: dict[str, dict[int, source.Test]] = {}
        self.is_whole = False

    def __enter__(self) -> Lines:
        # the header also names the files that are loaded meanwhile
        loading.note_everything_loaded()
        self._back_end.start_tracing()
        return self

    def __exit__(self, *_: Any) -> None:
        self.is_whole = self._back_end.stop_tracing()

    def _trace_call(self, frame: Any, event: str, _: Any) -> Any:
        remaining = self._open.get(id(frame.f_code), self)
        if remaining is None:
            return None
        if remaining is self:
            remaining = self._note_new_code(frame)
        if remaining.ways:
            return _make_branch_tracer(remaining)
        if remaining.lines:
            return self._trace_line
        # a function that was executed whole costs nothing any more, and other code nothing at all
        self._open[id(frame.f_code)] = None
        return None

    def _trace_line(self, frame: Any, event: str, _: Any) -> Any:
        lines = self._remaining[id(frame.f_code)].lines
        if event == "line":
            lines.discard(frame.f_lineno)
        return self._trace_line if lines else None

    def _note_new_code(self, frame: Any) -> _Remaining:
        """Return the lines and branch directions of traced code at its first call; else none."""
        code = frame.f_code
        is_script = code.co_name == "<module>" and frame.f_globals.get("__name__") == "__main__"
        if is_script:
            self._scripts.add(code.co_filename)
        is_traced = self._places.find_path_below_root(code.co_filename) is not None
        # any other module, and a class, only defines things
        does_something = bool(code.co_flags & inspect.CO_OPTIMIZED) or is_script
        counts = is_traced and does_something
        if counts:
            loading.note_reading_of_types_and_texts(code, frame.f_globals)
        (self._called if counts else self._ignored).append(code)
        is_followed = counts and (
            self._within is None or self._find_file_and_qualified_name(code) in self._within
        )
        lines = list_own_lines(code) if is_followed else set()
        remaining = _Remaining(
            lines, self._find_branches_of_code(code, lines) if is_followed else {}
        )
        if is_followed:
            self._followed.append(code)
        self._remaining[id(code)] = self._open[id(code)] = remaining
        return remaining

    def _find_file_and_qualified_name(self, code: CodeType) -> tuple[str, str | None]:
        """Return file below its root, and qualified name; "": its source cannot be read."""
        parsed = source.parse_source_file(code.co_filename)
        name: str | None = (
            parsed.name_function_at_line(code.co_firstlineno) if parsed is not None else ""
        )
        if code.co_name == "<module>":
            # its first line may be that of a function
            name = code.co_name
        elif name == "<module>" and code.co_filename not in self._scripts:
            # a lambda of a module that is imported is no body of a script
            name = None
        return str(self._places.find_path_below_root(code.co_filename)), name

    def _find_branches_of_code(self, code: CodeType, lines: set[int]) -> dict[int, source.Test]:
        file = code.co_filename
        if file not in self._tests:
            parsed = source.parse_source_file(file)
            self._tests[file] = source.map_lines_to_tests(parsed) if parsed is not None else {}
        tests = self._tests[file]
        # of a test that spans lines only the own ones: a comprehension inside is other code
        return {line: tests[line] for line in lines if line in tests and tests[line].body in lines}

    def make_header_entries(self) -> dict[str, Any]:
        """Return the entries of a trace's header for the executed code.

        ``noted``: whether no executed code was missed. ``at_import``: code that imports ran, see
        ``note_functions_called_by_imports``; empty if imports were not noted.
        """
        return {
            "lines": self.list_executed_lines(),
            "functions": self.list_called_functions(),
            "branches": self.list_tested_branches(),
            "noted": self.is_whole,
            "at_import": dict(_AT_IMPORT),
            "started": loading.describe_started_processes(self._places),
            **loading.list_loaded_files(self._places),
        }

    def list_executed_lines(self) -> dict[str, tuple[list[int], list[int]]]:
        """Return file below its root -> executed lines, and all lines of the called functions."""
        executed: dict[str, set[int]] = {}
        executable: dict[str, set[int]] = {}
        for code in self._followed:
            file, lines = (
                str(self._places.find_path_below_root(code.co_filename)),
                list_own_lines(code),
            )
            executable.setdefault(file, set()).update(lines)
            executed.setdefault(file, set()).update(lines - self._remaining[id(code)].lines)
        return {
            file: (sorted(executed[file]), sorted(lines))
            for file, lines in executable.items()
            if lines
        }

    def list_called_functions(self) -> dict[str, list[str]]:
        """Return file below its root -> qualified names of the called functions.

        "" is among them if a function has no name, as its file cannot be parsed.
        """
        by_file: dict[str, set[str]] = {}
        for code in self._called:
            file, name = self._find_file_and_qualified_name(code)
            if name is not None:
                by_file.setdefault(file, set()).add(name)
        return {file: sorted(names) for file, names in by_file.items()}

    def list_tested_branches(self) -> dict[str, list[tuple[int, bool, bool, str]]]:
        """Return file below its root -> tests: line, whether each held and failed, and its text."""
        by_file: dict[str, dict[int, tuple[int, bool, bool, str]]] = {}
        for code in self._followed:
            remaining = self._remaining[id(code)]
            rows = by_file.setdefault(str(self._places.find_path_below_root(code.co_filename)), {})
            for test in remaining.tests.values():
                was_true, was_false = (
                    (test.line, holds) not in remaining.ways for holds in (True, False)
                )
                # a function inside another one has a code object for each call of the outer one
                row = rows.get(test.line, (0, False, False, ""))
                rows[test.line] = (test.line, was_true or row[1], was_false or row[2], test.text)
        return {
            file: [row for row in sorted(rows.values()) if row[1] or row[2]]
            for file, rows in by_file.items()
            if rows
        }


def _make_branch_tracer(remaining: _Remaining) -> Tracer:
    """Return a tracer of one frame that notes the results of its tests."""
    last = 0

    def trace_branch(frame: Any, event: str, _: Any) -> Any:
        nonlocal last
        if event == "line":
            number = frame.f_lineno
            remaining.lines.discard(number)
            test = remaining.tests.get(last)
            if test is not None and remaining.tests.get(number) is not test:
                remaining.ways.discard((test.line, number == test.body))
            last = number
        elif event == "return":
            # from the condition out of the function, which is not into the body
            test = remaining.tests.get(last)
            if test is not None:
                remaining.ways.discard((test.line, False))
            last = 0
        elif event == "exception":
            # an error in a condition goes neither way
            last = 0
        return trace_branch if remaining.lines or remaining.ways else None

    return trace_branch


#: what ran while a process imported what its trainings share; empty: it was not noted.
_AT_IMPORT: dict[str, Any] = {}


@contextmanager
def note_functions_called_by_imports(places: Places) -> Iterator[None]:
    """Note the functions that imports call, and the files that were loaded before."""
    before = loading.list_loaded_files(places)["imported"]
    with Lines(places, ()) as lines:
        yield
    if lines.is_whole:
        _AT_IMPORT.update(functions=lines.list_called_functions(), before=before)
