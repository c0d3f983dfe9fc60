"""Notes which code is executed: functions, lines, and the directions that branches take."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from rlregress import marks
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
    "nan_to_num": ("finite", "not finite"),
}


class ExecutionNotes:
    """Notes executed code; use it as a context manager, also repeatedly, one at a time.

    Functions of the traced code are noted, with the ``if`` and ``while`` in them. The body of a
    file that is run as a script is a function named ``<module>``. Other bodies of modules and
    classes are not noted.

    Args:
        places: tells the traced code from all other. Of its files, those that are imported from now
            on can be noted.
        within: file below its root and qualified name of the functions whose lines and branches are
            listed; None: all.
    """

    def __init__(self, places: Places, within: Iterable[Sequence[str]] | None = None) -> None:
        self._places = places
        self._within = None if within is None else {(file, name) for file, name in within}
        #: number in ``marks.functions`` -> marks that were set.
        self._set_marks: dict[int, set[int]] = {}
        loading.note_everything_loaded()
        marks.mark_imports(places.find_path_below_root)

    def __enter__(self) -> ExecutionNotes:
        for function in marks.functions:
            function.marks[:] = bytes(len(function.marks))
        return self

    def __exit__(self, *_: Any) -> None:
        for number, function in enumerate(marks.functions):
            if 1 in function.marks:
                set_marks = {n for n, is_set in enumerate(function.marks) if is_set}
                self._set_marks.setdefault(number, set()).update(set_marks)
        marks.write_cache()

    def _list_executed_functions(
        self, within: Collection[tuple[str, str]] | None = None
    ) -> Iterator[tuple[str, marks.MarkedFunction, set[int]]]:
        """Yield file below its root, function, and marks that were set."""
        for number, set_marks in self._set_marks.items():
            function = marks.functions[number]
            file = self._places.find_path_below_root(function.file)
            if file is not None and (within is None or (file, function.name) in within):
                yield file, function, set_marks

    def _have_execution_marks(self, files: list[str]) -> bool:
        """Return whether all files have marks that show execution; those in C need none."""
        marked = {self._places.find_path_below_root(file) for file in marks.files}
        return all(file in marked for file in files if file.endswith((".py", ".pyc")))

    def note_introspection(self) -> None:
        """Note whether executed code reads an object's types, docstring or version."""
        modules = {getattr(m, "__file__", None): vars(m) for m in list(sys.modules.values())}
        for _, function, _ in self._list_executed_functions():
            for code in function.codes:
                loading.note_introspection(code, modules.get(function.file, {}))

    def make_header_entries(self) -> dict[str, Any]:
        """Return the entries of a trace's header for the executed code.

        ``noted``: whether all executed code was noted. ``at_import``: code that imports ran, see
        ``note_functions_called_by_imports``; empty if imports were not noted.
        """
        self.note_introspection()
        loaded = loading.list_loaded_files(self._places)
        return {
            "lines": self.list_line_coverage(),
            "functions": self.list_called_functions(),
            "branches": self.list_tested_branches(),
            "noted": self._have_execution_marks(loaded["imported"]),
            "at_import": dict(_AT_IMPORT),
            "started": loading.list_process_start_events(self._places),
            **loaded,
        }

    def list_line_coverage(self) -> dict[str, tuple[list[int], list[int]]]:
        """Return file below its root -> executed lines, and all lines of the called functions."""
        executed: defaultdict[str, set[int]] = defaultdict(set)
        executable: defaultdict[str, set[int]] = defaultdict(set)
        for file, function, set_marks in self._list_executed_functions(self._within):
            lines = function.lines
            executable[file].update(lines)
            executed[file].update(line for line, mark in lines.items() if mark in set_marks)
        rows = ((file, sorted(executed[file]), sorted(executable[file])) for file in executable)
        return {file: (ran, lines) for file, ran, lines in rows if lines}

    def list_all_lines(self) -> dict[str, set[int]]:
        """Return file below its root -> lines of all its functions, also of those not called."""
        by_file: dict[str, set[int]] = {}
        for function in marks.functions:
            file = self._places.find_path_below_root(function.file)
            if file is not None:
                by_file.setdefault(file, set()).update(function.lines)
        return by_file

    def list_called_functions(self) -> dict[str, list[str]]:
        """Return file below its root -> qualified names of the called functions."""
        by_file: dict[str, set[str]] = {}
        for file, function, _ in self._list_executed_functions():
            by_file.setdefault(file, set()).add(function.name)
        return {file: sorted(names) for file, names in by_file.items()}

    def list_tested_branches(self) -> dict[str, list[tuple[int, bool, bool, str]]]:
        """Return file below its root -> conditions: line, if it was true, if it was false, text."""
        by_file: dict[str, list[tuple[int, bool, bool, str]]] = {}
        for file, function, set_marks in self._list_executed_functions(self._within):
            for test in function.tests:
                held, failed = (mark in set_marks for mark in test.marks)
                if held or failed:
                    by_file.setdefault(file, []).append((test.line, held, failed, test.text))
        return {file: sorted(rows) for file, rows in by_file.items()}


#: what ran while this process imported the modules that its trainings share; empty: not noted.
_AT_IMPORT: dict[str, Any] = {}


@contextmanager
def note_functions_called_by_imports(places: Places) -> Iterator[None]:
    """Note the functions that are called by imports inside the ``with`` block."""
    with ExecutionNotes(places) as lines:
        yield
    lines.note_introspection()
    _AT_IMPORT.update(functions=lines.list_called_functions())
