"""Finds the functions of a source file by their lines.

Runs inside foreign and old environments: standard library only, Python 3.10 syntax.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Collection, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
#: errors of parsing a source: it may not be Python, or be nested too deeply.
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


class Source(NamedTuple):
    """The functions of one file, the outer ones first."""

    functions: tuple[Function, ...]

    def name_function_at_line(self, line: int) -> str:
        """Return the qualified name of the innermost function at a line; else "<module>"."""
        inner = "<module>"
        for function in self.functions:
            if function.first <= line <= function.last:
                inner = function.name
        return inner


def parse_source(text: str | bytes) -> Source:
    """Parse the functions of a source text."""
    functions: list[Function] = []

    def collect_functions_below(node: ast.AST, outer_name: str) -> None:
        for child in ast.iter_child_nodes(node):
            name = outer_name
            if isinstance(child, (*_FUNCTIONS, ast.ClassDef)):
                name = f"{outer_name}.{child.name}" if outer_name else child.name
            if isinstance(child, _FUNCTIONS):
                functions.append(Function(name, get_first_line(child), child.end_lineno or 0))
            collect_functions_below(child, name)

    collect_functions_below(ast.parse(text), "")
    return Source(tuple(functions))


def get_first_line(node: ast.AST) -> int:
    """Return the first line of a statement, or of its first decorator."""
    lines = [decorator.lineno for decorator in getattr(node, "decorator_list", [])]
    return min([*lines, int(getattr(node, "lineno", 0))])


@cache
def parse_source_file(path: str) -> Source | None:
    """Parse the functions of a file; None if it cannot be read as Python."""
    try:
        # bytes: a source may have a byte order mark, or declare another encoding
        with open(path, "rb") as file:
            return parse_source(file.read())
    except (OSError, *UNREADABLE):
        return None


#: the declaration of a coding, in the first or the second line (PEP 263).
_CODING = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")


def find_declared_encoding(text: bytes) -> str:
    """Return the encoding that a source declares, else UTF-8."""
    # ``tokenize.detect_encoding`` rejects some sources that Python reads
    declared = (_CODING.match(line) for line in text.split(b"\n", 2)[:2])
    return next((match[1].decode() for match in declared if match), "utf-8")


def name_module_of_file(file: str) -> str:
    """Return the dotted name of a module, "package/file.py", or of a package's ``__init__.py``."""
    return file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def read_source_text(path: str | Path) -> str:
    """Return the text of a source file, with replacements for undecodable bytes."""
    content = Path(path).read_bytes()
    try:
        text = content.decode(find_declared_encoding(content), "replace")
    except LookupError:  # an unknown encoding: Python cannot import the file either
        text = content.decode("utf-8", "replace")
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def list_files_below(
    folder: Path, without: Collection[str] = ("__pycache__",), outer_folders: tuple[Path, ...] = ()
) -> Iterator[Path]:
    """Yield all files below a folder, sorted, or the file itself; links to folders are followed.

    Args:
        without: names of files and folders to leave out.
        outer_folders: the resolved folders around this one, to stop at a loop of links.
    """
    if folder.is_file():
        yield folder
    elif folder.is_dir() and (real := folder.resolve()) not in outer_folders:
        for path in sorted(folder.iterdir()):
            if path.name not in without:
                yield from list_files_below(path, without, (*outer_folders, real))


def list_sources_below(folder: Path, without: Collection[str] = ("__pycache__",)) -> Iterator[Path]:
    """Yield the Python sources below a folder, as ``list_files_below``."""
    return (path for path in list_files_below(folder, without) if path.suffix == ".py")


def digest_files(paths: Iterable[Path], folder: Path) -> str:
    """Return the SHA-256 over the paths of files below a folder, and their contents."""
    digest = hashlib.sha256()
    for path in paths:
        digest.update(path.relative_to(folder).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()


def replace_one_occurrence(source: str, old: str, new: str, occurrence: int = 0) -> str | None:
    """Replace one occurrence in a text, counted from 1; 0: the only one.

    Returns:
        The text; None if there is no such occurrence, or several for 0.
    """
    parts = source.split(old)
    place = max(occurrence, 1)
    if len(parts) <= place or (not occurrence and len(parts) != 2):
        return None
    return old.join(parts[:place]) + new + old.join(parts[place:])
