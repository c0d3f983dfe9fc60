"""What calls a function, and under which conditions: what would reach it."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

from rlregress.model.code import Changed
from rlregress.source import UNREADABLE, below

#: places that are named.
_LISTED = 2


def callers(function: Changed, folders: Sequence[str]) -> list[str]:
    """In words, where a function is called from, and what has to hold there.

    Args:
        folders: packages to look in.
    """
    kind, _, name = function.name.removeprefix("<class> ").rpartition(".")
    if function.at_import:
        return []
    # a class is called by its own name
    called = kind.rpartition(".")[2] if name in ("__init__", "__new__") else name
    if called.startswith("__"):
        return []
    sentences = []
    for folder in folders:
        for path in (file_path for file_path in below(Path(folder)) if file_path.suffix == ".py"):
            for where, conditions in _calls(path).get(called, ()):
                held = f" if {' and '.join(conditions)}" if conditions else ""
                file = path.relative_to(Path(folder).parent)
                sentence = f"may be called by {where or 'the module'} ({file}){held}"
                if where != function.name and sentence not in sentences:
                    sentences.append(sentence)
                if len(sentences) >= _LISTED:
                    return sentences
    return sentences


@cache
def _calls(path: Path) -> Mapping[str, list[tuple[str, list[str]]]]:
    """Name that is called in a file -> where, and under which conditions."""
    places: dict[str, list[tuple[str, list[str]]]] = {}
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except (OSError, *UNREADABLE):
        return places

    def visit(node: ast.AST, where: str, conditions: list[str]) -> None:
        if isinstance(node, ast.Call):
            own = node.func
            last = own.attr if isinstance(own, ast.Attribute) else getattr(own, "id", "")
            places.setdefault(last, []).append((where, conditions))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            where, conditions = f"{where}.{node.name}" if where else node.name, []
        if isinstance(node, ast.If):
            visit(node.test, where, conditions)
            condition = f"`{ast.unparse(node.test)}`"
            for child in node.body:
                visit(child, where, [*conditions, condition])
            for child in node.orelse:
                visit(child, where, [*conditions, f"not {condition}"])
            return
        for inner_node in ast.iter_child_nodes(node):
            visit(inner_node, where, conditions)

    # what nests too deeply to be followed only has no hint
    with suppress(RecursionError):
        visit(tree, "", [])
    return places
