"""Selects the trainings that the old version repeats, by the code that the new one executed.

A training is determined by its seeds, the machine and the code that it runs. If everything besides
the tested packages is the same in both versions, a training can diverge only if it executes code
that differs. This is regression test selection by what is executed (Rothermel and Harrold,
1997, "A safe, efficient regression test selection technique"), for whole trainings.

A function that has the same definition in both versions, and another body, differs for those that
execute it. Everything else that differs is done by an import: functions and classes that only one
version has, constants, bases, decorators, defaults. It differs for those that import the file: one
that no longer calls a removed method executes something else in its place.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

from rlregress.datafiles import is_version
from rlregress.model.code import WORDING, ChangedPiece, Function
from rlregress.model.recorded_traces import Trace
from rlregress.source import UNREADABLE, name_module_of_file

#: files that only type checkers read, and those that only hold a version.
_FOR_TYPES = frozenset({".typed", ".pyi"})
_VERSION_FILES = frozenset({"version.txt", "VERSION.txt", "VERSION"})
#: why such a file can have no effect, unless code reads the version.
_VERSION_STRING = "a version string"
#: functions and classes, whose docstrings and types may be read.
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
Key = tuple[str, str]


@dataclass(frozen=True)
class ExecutableDifferences:
    """The differences that a training of the new version can execute.

    Attributes:
        functions: file and name of functions that differ when they are called.
        files: files whose import has other effects or definitions.
        texts: file and name of all pieces whose text differs; "" for a name: of a whole file.
        described: files in which types, docstrings or a version may differ.
        added: files that only the new version has.
        because: why every training may differ, whatever it executes; "" if that is not so.
    """

    functions: frozenset[Key] = frozenset()
    files: frozenset[str] = frozenset()
    texts: frozenset[Key] = frozenset()
    described: frozenset[str] = frozenset()
    added: frozenset[str] = frozenset()
    because: str = ""

    def select_executed_differences(self, new: Trace) -> list[Key]:
        """Return the differences that a training executed; empty: the old version trains the same.

        Code counts as executed where executions are not noted: in other processes, before the
        recording began, and after an error that ended the training.
        """
        header = new.header
        at_import = header.get("at_import")
        if self.because or new.failure or not at_import or not header.get("noted"):
            return [("", "")]
        if header["started"] or any(row["what"] == "process" for row in new.other_activity):
            return [("", "")]
        by_file = at_import["functions"].items()
        called = {
            *new.called_functions,
            *((file, name) for file, names in by_file for name in names),
        }
        differing_files = self.files.intersection(header["imported"])
        differing_files |= self._find_examined_files(header)
        return [*sorted(self.functions & called), *((file, "") for file in sorted(differing_files))]

    def find_sole_difference(self, new: Trace) -> Key | None:
        """Return the one changed piece that a training executed or read; None: none or several."""
        if new.other_activity:
            # threads may differ between two recordings without any change
            return None
        executed = self.select_executed_differences(new)
        files = {file for file, name in executed if not name}
        keys = {key for key in self.texts if key[0] in files}
        if files - {file for file, _ in keys}:
            return None
        keys.update(key for key in executed if key[1])
        return keys.pop() if len(keys) == 1 else None

    def _find_examined_files(self, header: Mapping[str, Any]) -> set[str]:
        """Return differing files that a training inspected, searched for or found in a folder."""
        examined = {(file, name) for file, name in header["examined"]}
        looked_at = {
            file
            for file, name in self.texts
            # "a.b" is in "a", and in the whole file
            if not examined.isdisjoint(
                (file, outer) for outer in ("", *accumulate(name.split("."), "{}.{}".format))
            )
        }
        noticed = {
            file
            for file in self.added
            if name_module_of_file(file) in header["sought"]
            or any(str(path) in header["listed"] for path in (file, *Path(file).parents))
        }
        if header["describing"] or header["versions_read"]:
            noticed |= self.described.intersection(header["imported"])
        return looked_at | noticed


def group_differences_by_effect(
    pieces: Sequence[ChangedPiece], files: Mapping[str, str], other_version: bool = False
) -> ExecutableDifferences:
    """Group differences by how a training can execute them: by a call, or by an import.

    Args:
        pieces: of code that differ.
        files: other files that differ -> why they can have no effect; "": they may have one.
            Recordings do not note who reads a file, unless it is a Python source.
        other_version: the versions of the framework's distributions differ.
    """
    other_version = other_version or _VERSION_STRING in files.values()
    functions, imported, because = set(), set(), ""
    texts = {piece.key for piece in pieces}
    for file, harmless in files.items():
        if Path(file).suffix == ".py":
            texts.add((file, ""))
        elif not harmless:
            because = because or f"{file} differs, and what reads it is not noted"
    for piece in pieces:
        if _takes_effect_at_import(piece):
            if piece.paths[1] is None or piece.was:
                because = (
                    because
                    or f"{piece.get_file_in_version('old')} is gone, or has lost {piece.name}"
                )
            imported.add(piece.file)
        elif piece.how != WORDING or _has_different_messages(piece):
            functions.add(piece.key)
    return ExecutableDifferences(
        functions=frozenset(functions),
        files=frozenset(imported),
        texts=frozenset(texts),
        described=frozenset(files).union(
            file
            for file, paths in {(piece.file, piece.paths) for piece in pieces}
            if other_version or not _have_same_descriptions(paths)
        ),
        added=frozenset(piece.file for piece in pieces if piece.paths[0] is None),
        because=because,
    )


def _takes_effect_at_import(piece: ChangedPiece) -> bool:
    """Return whether a changed piece has an effect when its module is imported, before any call."""
    if piece.runs_at_import:
        return piece.how != WORDING or _has_different_messages(piece)
    if piece.old is None or piece.new is None or piece.was:
        return True
    # a decorator may compile a function or register it: then it runs unnoticed, or from elsewhere
    return (
        piece.old.acts
        or piece.new.acts
        or piece.old.head != piece.new.head
        or _is_generator(piece.old) != _is_generator(piece.new)
    )


def _is_generator(function: Function) -> bool:
    return "Yield(" in function.code or "YieldFrom(" in function.code


def _have_same_descriptions(paths: tuple[Path | None, Path | None]) -> bool:
    """Return whether two sources differ in plain statements of functions alone."""
    try:
        texts = [_dump_descriptions(path.read_bytes()) for path in paths if path is not None]
    except UNREADABLE:
        return False
    return len(texts) == 2 and texts[0] == texts[1]


def _dump_descriptions(text: bytes) -> str:
    """Dump a source without the statements of functions that hold no definition or docstring."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            documented = ast.get_docstring(node, clean=False) is not None
            node.body = node.body[:documented] + [
                statement
                for statement in node.body[documented:]
                if any(isinstance(inner, _DEFINITIONS) for inner in ast.walk(statement))
            ]
    return ast.dump(tree)


def _has_different_messages(piece: ChangedPiece) -> bool:
    """Return whether messages differ, and not only docstrings and annotations."""
    return piece.old is None or piece.new is None or piece.old.spoken != piece.new.spoken


def explain_no_effect(file: str, texts: Sequence[bytes]) -> str:
    """Explain why a file in which no piece of code differs can have no effect; empty: it may.

    Args:
        texts: the file's content in each version; empty: the version lacks the file.
    """
    path = Path(file)
    if path.suffix == ".py":
        return "comments or formatting only, or no statement"
    if path.suffix in _FOR_TYPES:
        return "read by type checkers only"
    if path.name in _VERSION_FILES and all(
        is_version(text.decode("utf-8", "replace").strip()) for text in texts if text
    ):
        return _VERSION_STRING
    return ""
