"""The functions of a source file, and the tests that its branches hang on, by their lines.

Runs inside foreign and old environments: standard library only, Python 3.10 syntax.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
#: what reading a source raises: it may be none of Python, or nested too deeply.
UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)


class Function(NamedTuple):
    """A function of a source file.

    Attributes:
        name: qualified by classes and outer functions: "SAC.train".
        first, last: its lines, decorators included.
    """

    name: str
    first: int
    last: int


class Test(NamedTuple):
    """The condition of an ``if`` or a ``while``.

    Attributes:
        line: of the statement.
        last: line of the condition's end.
        body: line of the first statement that runs if it holds.
        text: the condition.
    """

    line: int
    last: int
    body: int
    text: str


class Source(NamedTuple):
    """Functions, the outer ones first, and tests of one file."""

    functions: tuple[Function, ...]
    tests: tuple[Test, ...]

    def function(self, line: int) -> str:
        """Qualified name of the innermost function at a line; "<module>" outside of all."""
        inner = "<module>"
        for changed_function in self.functions:
            if changed_function.first <= line <= changed_function.last:
                inner = changed_function.name
        return inner


def parse(text: str | bytes) -> Source:
    """The functions and tests of a source text."""
    functions: list[Function] = []
    tests: list[Test] = []

    def visit(node: ast.AST, above: str) -> None:
        for child in ast.iter_child_nodes(node):
            name = above
            if isinstance(child, (*_FUNCTIONS, ast.ClassDef)):
                name = f"{above}.{child.name}" if above else child.name
            if isinstance(child, _FUNCTIONS):
                functions.append(Function(name, first_line(child), child.end_lineno or 0))
            if isinstance(child, (ast.If, ast.While)):
                last = child.test.end_lineno or child.lineno
                body = first_line(child.body[0])
                # on one line no step from line to line tells which way it went
                if body > last:
                    tests.append(Test(child.lineno, last, body, ast.unparse(child.test)))
            visit(child, name)

    visit(ast.parse(text), "")
    return Source(tuple(functions), tuple(tests))


def first_line(node: ast.AST) -> int:
    """The first line of a statement: of its first decorator, if it has one."""
    lines = [decorator.lineno for decorator in getattr(node, "decorator_list", [])]
    return min([*lines, int(getattr(node, "lineno", 0))])


@cache
def of_file(path: str) -> Source | None:
    """The same of a file; None if it is none of Python."""
    try:
        # bytes: a source may have a mark of its byte order, or declare another coding
        with open(path, "rb") as file:
            return parse(file.read())
    except (OSError, *UNREADABLE):
        return None


#: the declaration of a coding, in the first or the second line (PEP 263).
_CODING = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")


def find_coding(text: bytes) -> str:
    """Return the coding that a source declares. ``tokenize`` refuses some that Python reads."""
    declared = (_CODING.match(line) for line in text.split(b"\n", 2)[:2])
    return next((match[1].decode() for match in declared if match), "utf-8")


def read_text(path: str | Path) -> str:
    """Return the text of a source file, with replacements for undecodable bytes."""
    content = Path(path).read_bytes()
    try:
        text = content.decode(find_coding(content), "replace")
    except LookupError:  # there is no such coding, and Python does not import the file either
        text = content.decode("utf-8", "replace")
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def below(
    folder: Path,
    without: Collection[str] = ("__pycache__",),
    inside: tuple[Path, ...] = (),
) -> Iterator[Path]:
    """All files below a folder, sorted, or the file itself; links to folders are followed.

    Args:
        without: names of folders that are left out.
        inside: the folders that lead here, as they are: none is entered within itself.
    """
    if folder.is_file():
        yield folder
    elif folder.is_dir() and (real := folder.resolve()) not in inside:
        for path in sorted(folder.iterdir()):
            if path.name not in without:
                yield from below(path, without, (*inside, real))


def branches_at(source: Source) -> dict[int, Test]:
    """Line -> test whose condition stands there."""
    return {line: test for test in source.tests for line in range(test.line, test.last + 1)}


def replaced(text: str, old: str, new: str, occurrence: int = 0) -> str | None:
    """The text with one occurrence replaced, counted from 1; 0: the only one.

    Returns:
        None if there is no such occurrence, or if the only one is not the only one.
    """
    parts = text.split(old)
    place = max(occurrence, 1)
    if len(parts) <= place or (not occurrence and len(parts) != 2):
        return None
    return old.join(parts[:place]) + new + old.join(parts[place:])
