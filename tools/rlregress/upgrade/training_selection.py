"""Which trainings the old version has to repeat, by what the new version executed.

A training is fixed by its seeds, the machine and the code that it runs. Where everything beside the
packages under test is the same for both versions, they can diverge only where something that
differs is executed. This is regression test selection by what is executed (Rothermel and Harrold,
1997, "A safe, efficient regression test selection technique"), for whole trainings.

A function that has the same definition in both versions, and another body, differs for those that
execute it. Everything else that differs is done by an import: functions and classes that only one
version has, constants, bases, decorators, defaults. It differs for those that import the file: one
that no longer calls a removed method executes something else in its place.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from packaging.version import InvalidVersion, Version

from rlregress.model.code import WORDING, Changed, Function
from rlregress.model.recorded_traces import Trace
from rlregress.source import UNREADABLE

#: files that no code reads, and those that say a version.
_FOR_TYPES = frozenset({".typed", ".pyi"})
_VERSION_FILES = frozenset({"version.txt", "VERSION.txt", "VERSION"})
Key = tuple[str, str]


@dataclass(frozen=True)
class Difference:
    """What a training of the new version can execute that differs.

    Attributes:
        functions: file and name of those that differ when they are called.
        files: those whose import does or defines something else.
        because: why every training may differ, whatever it executes; "" if that is not so.
    """

    functions: frozenset[Key] = frozenset()
    files: frozenset[str] = frozenset()
    because: str = ""

    def executed_by(self, new: Trace) -> list[Key]:
        """Return what a training executed of it; nothing: that of the old version is the same.

        What is not noted counts as executed: other processes, what was loaded before anything was
        noted, and whatever a training that ended in an error has not come to.
        """
        header = new.header
        at_import = header.get("at_import")
        if self.because or new.failure or not at_import or not header.get("noted"):
            return [("", "")]
        if header["started"] or any(row["what"] == "process" for row in new.elsewhere):
            return [("", "")]
        called = {
            (file, name)
            for functions in (header["functions"], at_import["functions"])
            for file, names in functions.items()
            for name in names
        }
        loaded = self.files.intersection(header["imported"])
        unknown = {file for file, _ in self.functions}.intersection(at_import["before"])
        whole = [(file, "") for file in sorted(loaded | unknown)]
        return [*sorted(self.functions & called), *whole]


def find_difference(pieces: Iterable[Changed], files: Iterable[str]) -> Difference:
    """Return what differs, by how a training executes it.

    Args:
        pieces: of code that differ.
        files: the other ones that differ and may have an effect: who reads them is not noted.
    """
    functions, imported = set(), set()
    because = next((f"{file} differs, and what reads it is not noted" for file in files), "")
    for piece in pieces:
        if _is_made_by_import(piece):
            if piece.paths[1] is None or piece.was:
                because = because or f"{piece.file_on('a')} is gone, or has lost {piece.name}"
            imported.add(piece.file)
        elif piece.how != WORDING or _speaks_otherwise(piece):
            functions.add(piece.key)
    return Difference(frozenset(functions), frozenset(imported), because)


def _is_made_by_import(piece: Changed) -> bool:
    """Whether more differs than what a function does when it is called."""
    if piece.at_import:
        return piece.how != WORDING or _imports_otherwise(piece)
    if piece.a is None or piece.b is None or piece.was:
        return True
    # what a decorator makes of a function may run elsewhere: compiled, or in a registry
    return piece.a.acts or piece.b.acts or _definition(piece.a) != _definition(piece.b)


def _definition(function: Function) -> list[str]:
    """Return decorators and arguments; see ``changed_functions.head``."""
    return [
        row
        for row in function.code.splitlines()
        if row.startswith(("decorator ", "arguments(", "FunctionDef", "AsyncFunctionDef"))
    ]


def _imports_otherwise(piece: Changed) -> bool:
    """Whether what differs in wording only, such as the order of imports, may act in an import."""
    try:
        texts = [
            ast.dump(_Importing().visit(ast.parse(path.read_bytes())))
            for path in piece.paths
            if path is not None
        ]
    except UNREADABLE:
        return True
    return len(set(texts)) > 1


def _speaks_otherwise(piece: Changed) -> bool:
    """Whether its messages differ, and not only docstrings and annotations."""
    try:
        texts = [
            _without_types(path, function)
            for path, function in zip(piece.paths, (piece.a, piece.b), strict=True)
            if path is not None and function is not None
        ]
    except UNREADABLE:
        return True
    return texts[0] != texts[1]


def _without_types(path: Path, function: Function) -> str:
    # not splitlines(), which ends a line at a form feed, too
    lines = path.read_text(encoding="utf-8").split("\n")[function.first - 1 : function.last]
    return ast.dump(_Untyped().visit(ast.parse(textwrap.dedent("\n".join(lines)))))


class _Untyped(ast.NodeTransformer):
    """Takes away docstrings and annotations."""

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        """A constant that stands by itself."""
        return None if isinstance(node.value, ast.Constant) else self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        """An argument keeps its name."""
        return ast.arg(node.arg)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """What it returns is not computed with."""
        node.returns = None
        return self.generic_visit(node)

    visit_AsyncFunctionDef = visit_FunctionDef  # type: ignore[assignment]

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST | None:
        """A name with a type is a name."""
        self.generic_visit(node)
        if node.value is None:
            return None
        return ast.Assign(targets=[node.target], value=node.value, lineno=0)


class _Importing(_Untyped):
    """Also takes away what functions do when they are called, versions, and imports for types."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Decorators and defaults are left."""
        node.body = [ast.Pass()]
        return super().visit_FunctionDef(node)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Assign(self, node: ast.Assign) -> ast.AST | None:
        """The version of a package differs in each release."""
        return None if ast.unparse(node.targets[0]) == "__version__" else self.generic_visit(node)

    def visit_If(self, node: ast.If) -> ast.AST | None:
        """No program runs the block of a type checker."""
        test = ast.unparse(node.test)
        is_for_types = test.rpartition(".")[2] == "TYPE_CHECKING" and not node.orelse
        return None if is_for_types else self.generic_visit(node)


def without_effect(file: str, texts: Sequence[bytes]) -> str:
    """Why a file that is none of Python can have no effect; empty: it may have one.

    Args:
        texts: of all versions; nothing where there is none.
    """
    if Path(file).suffix in _FOR_TYPES:
        return "read by type checkers only"
    if Path(file).name in _VERSION_FILES and all(_is_version(text) for text in texts if text):
        return "a version string"
    return ""


def _is_version(text: bytes) -> bool:
    try:
        Version(text.decode("utf-8", "replace").strip())
    except InvalidVersion:
        return False
    return True
