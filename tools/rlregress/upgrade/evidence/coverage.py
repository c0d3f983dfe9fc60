"""Coverage: what trainings executed of every function whose code differs.

Executed lines are not fully tested: a branch taken one way only, a clamp that never binds and a
mask that is all ones say nothing about the other way.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from rlregress import progress
from rlregress.inside import bindings
from rlregress.inside.lines import WAYS
from rlregress.model.code import ADDED, BODY, MODULE, REMOVED, WORDING, ChangedPiece, Function
from rlregress.model.differences import IMPORTED
from rlregress.model.recorded_traces import Trace, format_line_ranges, merge_executed_lines
from rlregress.model.upgrade_result import Branch, PieceExecution
from rlregress.source import UNREADABLE, name_module_of_file
from rlregress.upgrade.differences import changed_functions, changed_statements

#: node types of code that may run in several ways, looked for in statements that run at import.
_CONDITIONAL = ("If", "IfExp", "Try", "While", "Match", "Lambda", "BoolOp")
#: parts of code whose ways within a function cannot be told apart by executed lines.
_WITHIN = ("IfExp(", "Try(", "Match(", "BoolOp(", "comprehension(", "Lambda(", "'suppress'")


class NameUsers:
    """Finds the functions of the new version that use given names.

    Each file is read once, as thousands of names are looked up in hundreds of files.

    Args:
        folders: folders of the new version's packages.
    """

    def __init__(self, folders: Sequence[str]) -> None:
        paths = changed_functions.map_files_by_name(folders)
        self._texts = {file: path.read_bytes() for file, path in paths.items()}
        #: word -> files that contain it; last part of a module's name -> files that may import it.
        self._files_by_word: dict[bytes, list[str]] = {}
        self._files_by_module: dict[bytes, list[str]] = {}
        for file, text in self._texts.items():
            for word in set(_WORD.findall(text)):
                self._files_by_word.setdefault(word, []).append(file)
            for word in set(_IMPORTED_FROM.findall(text)):
                self._files_by_module.setdefault(word, []).append(file)

    def find_functions_using(
        self, piece: ChangedPiece, names: Collection[str]
    ) -> dict[str, set[tuple[str, str]]]:
        """Return name -> (file, name) of the functions that use it.

        Names that a module computes from these names count, too. Functions in other files count
        if they may get the name from this file: as an attribute, or by an import.
        """
        own = changed_functions.parse_code_pieces(self._texts.get(piece.file, b""))
        imported: Mapping[str, Sequence[tuple[str, str]]] = {}
        if piece.name == MODULE:
            names = _add_derived_names(own.get(MODULE), names)
            imported = self._map_importers_to_names(piece.file)
        wide = piece.name != MODULE or Path(piece.file).name == "__init__.py"
        users_by_name: dict[str, set[tuple[str, str]]] = {}
        for name in names:
            names_by_file = {piece.file: {name}}
            for file, pairs in imported.items():
                names_by_file[file] = {own for theirs, own in pairs if theirs == name}
            if wide or name.isupper() or name.startswith("_"):
                for file in self._files_by_word.get(name.encode(), ()):
                    names_by_file.setdefault(file, set()).add(name)
            users_by_name[name] = {
                (file, function)
                for file, names_ in names_by_file.items()
                for n in names_
                for function in _map_names_to_users(self._texts.get(file, b"")).get(n, ())
            }
        kind = piece.name.removeprefix(f"{BODY} ")
        if kind in users_by_name:
            # a class whose bases or decorators differ is used by its own methods, too
            methods = {(piece.file, n) for n in own if n.startswith(f"{kind}.")}
            users_by_name[kind] |= methods
        return users_by_name

    def _map_importers_to_names(self, file: str) -> dict[str, Sequence[tuple[str, str]]]:
        """Return importing file -> (name in this file, name there) pairs that it imports."""
        module = name_module_of_file(file)
        return {
            path: _list_imports(path, self._texts[path]).get(module, ())
            for path in self._files_by_module.get(module.rpartition(".")[2].encode(), ())
        }


@cache
def _list_imports(file: str, text: bytes) -> Mapping[str, Sequence[tuple[str, str]]]:
    """Return module -> (name in it, name here) pairs that a file imports from it."""
    try:
        return bindings.list_imports(
            text.decode("utf-8"), file.rpartition("/")[0].replace("/", ".")
        )
    except UNREADABLE:
        return {}


@cache
def _map_names_to_users(text: bytes) -> Mapping[str, set[str]]:
    """Return name -> functions of a source text that use it."""
    used: dict[str, set[str]] = {}
    for piece in changed_functions.parse_code_pieces(text).values():
        if not piece.name.startswith("<"):
            for name in _USED.findall(piece.code):
                used.setdefault(name, set()).add(piece.name)
    return used


@cache
def index_users_of_names(folders: tuple[str, ...]) -> NameUsers:
    """Return an index of the functions that use a name; the folders are read once in a process."""
    return NameUsers(folders)


def _add_derived_names(module: Function | None, names: Collection[str]) -> set[str]:
    """Return ``names`` and all names that a module's assignments compute from them."""
    following = set(names)
    rows = module.code.splitlines() if module is not None else []
    assignments = [
        (set(_USED.findall(row)), _TARGET.findall(row))
        for row in rows
        if row.startswith(("Assign(", "AnnAssign("))
    ]
    before = -1
    while len(following) != before:
        before = len(following)
        for used, targets in assignments:
            if not following.isdisjoint(used):
                following.update(targets)
    return following


#: finds words of a source; finds the last part of a module's name before "import".
_WORD, _IMPORTED_FROM = re.compile(rb"[\w\x80-\xff]+"), re.compile(rb"\b(\w+)\s+import\b")
#: find names in a dumped syntax tree: those that it uses, and those that it assigns to.
_USED, _TARGET = re.compile(r"(?:id|attr)='(\w+)'"), re.compile(r"id='(\w+)', ctx=Store")


def map_functions_to_trainings(traces: Mapping[str, Trace]) -> dict[tuple[str, str], list[str]]:
    """Return file and name of a function -> trainings that execute it."""
    trainings: dict[tuple[str, str], list[str]] = {}
    for name, trace in traces.items():
        for function in trace.called_functions:
            trainings.setdefault(function, []).append(name)
    return trainings


class VersionCoverage:
    """The code that the trainings of one version have executed, all together."""

    def __init__(self, traces: Mapping[str, Trace]) -> None:
        self._trainings_by_function = map_functions_to_trainings(traces)
        self._files: dict[str, list[str]] = {}
        self._ways: dict[tuple[str, int], tuple[bool, bool, str]] = {}
        self._outcomes: dict[tuple[str, int, str, str], set[str]] = {}
        self._lines = merge_executed_lines(traces.values())
        for name, trace in traces.items():
            self._add_training(name, trace.header)
        self._branches = self.list_one_way_branches()

    def _add_training(self, name: str, header: Mapping[str, Any]) -> None:
        for file in (*header.get("functions", ()), *header.get("imported", ())):
            self._files.setdefault(file, []).append(name)
        for file, tests in header.get("branches", {}).items():
            for line, was_true, failed, text in tests:
                before_this = self._ways.get((file, line), (False, False, text))
                self._ways[file, line] = was_true or before_this[0], failed or before_this[1], text
        for file, line, function, operation, outcomes in header.get("activity", ()):
            self._outcomes.setdefault((file, line, function, operation), set()).update(outcomes)

    def list_executing_trainings(self, function: ChangedPiece) -> list[str]:
        """Return the trainings that executed a piece of code."""
        executed = self._trainings_by_function.get(function.key, [])
        if function.runs_at_import:
            # what runs at import has run if the file is imported, or anything of it has run
            return list(dict.fromkeys([*self._files.get(function.file, []), *executed]))
        return executed

    def has_noted_lines(self, function: ChangedPiece) -> bool:
        """Return whether a piece's executed lines were recorded; those of imports are not."""
        script = function.key in self._trainings_by_function and function.file in self._lines
        return script or not function.runs_at_import

    def find_unexecuted_differences(
        self, function: ChangedPiece, users: NameUsers
    ) -> PieceExecution:
        """Return what of the changes in an executed piece did not, or may not have, run.

        An error that only the new version raises, and that no training triggered, does not count as
        missed if another part of the change ran.

        Args:
            users: finds the functions that use names.
        """
        all_ran = PieceExecution(function=function)
        if function.how in (REMOVED, WORDING, ADDED):
            return all_ran
        differs = changed_statements.find_differing_statements(function)
        if not self.has_noted_lines(function):
            if differs.act:
                # such as a seed or a setting of a library: it is the same for all that is recorded
                reason = f"{IMPORTED}; what it changes outside of its file is not compared"
                return replace(all_ran, missed=reason, share=0.0)
            used_by = users.find_functions_using(function, differs.binds)
            ran = self._trainings_by_function.keys()
            idle = sorted(name for name, keys in used_by.items() if keys and not keys & ran)
            if not idle:
                return all_ran
            used = sum(bool(keys) for keys in used_by.values())
            begin = f"{IMPORTED};" if len(idle) == used else "of what changed in it,"
            reason = f"{begin} nothing that ran uses {', '.join(idle[:3])}"
            return replace(all_ran, missed=reason, share=1 - len(idle) / used)
        hit, all_lines = self._lines.get(function.file, (set(), set()))
        if not all_lines:
            return all_ran
        unexecuted = [span for span in differs.spans if hit.isdisjoint(range(span[0], span[1] + 1))]
        checks = set(differs.raising) if len(unexecuted) < len(differs.spans) else set()
        missing = [span for span in unexecuted if span not in checks]
        changes = len(differs.spans) + differs.unmeasured
        share = 1 - (len(missing) + differs.unmeasured) / changes if changes else 1.0
        reason = ""
        if missing:
            lines = format_line_ranges(
                {line for first, last in missing for line in range(first, last + 1)}
            )
            sentence = "not all that changed in it" if share else "nothing that changed in it"
            reason = f"it ran, and {sentence}: lines {lines} never ran"
        elif differs.unmeasured:
            sentence = "all that changed in it" if share else "the part that changed"
            reason = f"it ran; whether {sentence} was evaluated is not measured"
        branches = [
            Branch(file=function.file, line=first, summary="this change never ran")
            for first, _ in unexecuted
        ]
        return replace(all_ran, missed=reason, share=share, one_way=tuple(branches))

    def list_untried_branches_and_lines(
        self, function: ChangedPiece, piece: Function
    ) -> Iterator[Branch]:
        """Yield the branches and lines of an executed piece that no training has tried."""
        make_branch = partial(Branch, file=function.file)
        if not self.has_noted_lines(function):
            if any(f"{word}(" in piece.code for word in _CONDITIONAL):
                summary = "conditions at import are not measured"
                yield make_branch(line=piece.first, summary=summary)
            return
        for branch in self._branches:
            if branch.file == function.file and piece.first <= branch.line <= piece.last:
                yield branch
        hit, all_lines = self._lines.get(function.file, (set(), set()))
        unexecuted = [line for line in sorted(all_lines - hit) if piece.first <= line <= piece.last]
        if not any(piece.first <= line <= piece.last for line in all_lines):
            yield make_branch(line=piece.first, summary="which of its lines ran was not recorded")
        if unexecuted:
            lines = format_line_ranges(unexecuted)
            yield make_branch(line=unexecuted[0], summary=f"lines {lines} never ran")
        if any(part in piece.code for part in _WITHIN):
            summary = "conditions within expressions and error handlers are not measured"
            yield make_branch(line=piece.first, summary=summary)

    def find_trainings_of_class_or_file(self, function: ChangedPiece) -> set[str]:
        """Return trainings that execute anything in a function's class, or file if it has none."""
        kind = function.name.rpartition(".")[0]
        users: set[str] = set()
        for (file, name), trainings in self._trainings_by_function.items():
            if file == function.file and (not kind or name.startswith(f"{kind}.")):
                users.update(trainings)
        return users

    def list_one_way_branches(self) -> list[Branch]:
        """Return branches, clamps and masks that went one way only."""
        branches = []
        for (file, line), (was_true, failed, text) in self._ways.items():
            if not (was_true and failed):
                never = "true" if not was_true else "false"
                branches.append(Branch(file=file, line=line, summary=f"`{text}` was never {never}"))
        for (file, line, function, operation), ways in self._outcomes.items():
            never_ways = [way for way in WAYS[operation] if way not in ways]
            if never_ways:
                sentence = f"{operation}: never {' and never '.join(never_ways)}"
                branches.append(Branch(file=file, line=line, function=function, summary=sentence))
        return sorted(branches, key=lambda branch: (branch.file, branch.line, branch.summary))


def measure_execution_of_pieces(
    pieces: Sequence[ChangedPiece],
    executed: tuple[Mapping[str, Trace], Mapping[str, Trace]],
    details_by_function: Mapping[tuple[str, str], Sequence[str]],
    folders: Sequence[str],
) -> list[PieceExecution]:
    """Return for each differing piece which trainings and probes executed it, and how much.

    Args:
        executed: training -> trace, of the old and of the new version.
        details_by_function: file and function -> details whose probes executed it on both versions.
        folders: of the new version's code.
    """
    old, new = (VersionCoverage(traces) for traces in executed)
    users = index_users_of_names(tuple(folders))
    starters = _map_files_to_process_starters(executed[1].values())
    executions = []
    progress.begin_stage("finding what ran of the code that differs", len(pieces))
    for function in pieces:
        version, own = (old, function.old) if function.how == REMOVED else (new, function.new)
        trainings = tuple(version.list_executing_trainings(function))
        execution = PieceExecution(function=function, starter=starters.get(function.file, ""))
        if trainings and own is not None:
            execution = version.find_unexecuted_differences(function, users)
            untried = version.list_untried_branches_and_lines(function, own)
            execution = replace(execution, one_way=(*untried, *execution.one_way))
        around = {
            name.partition(" ")[0]
            for coverage in (old, new)
            for name in coverage.find_trainings_of_class_or_file(function)
        }
        executions.append(
            replace(
                execution,
                trainings=trainings,
                details=tuple(details_by_function.get(function.key, ())),
                algorithms=tuple(sorted(around)),
            )
        )
        progress.count_done_parts()
    return executions


def _map_files_to_process_starters(traces: Iterable[Trace]) -> dict[str, str]:
    """Return file -> the class in it that starts processes, whose work is not recorded."""
    return {
        str(row["file"]): str(row["class"])
        for trace in traces
        for row in trace.other_activity
        if row.get("what") == "process" and row.get("file")
    }
