"""Finds the public functions that use a package: they fail where it is no longer installed."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from pathlib import Path

from rlregress.source import UNREADABLE, list_files_below
from rlregress.upgrade.differences.name_origins import (
    TYPE_CHECKING,
    is_named_one_of,
    parse_with_origins,
)


def list_functions_using(modules: Collection[str], folder: Path) -> list[str]:
    """Return the qualified names of public functions that import modules or use their names.

    Functions that call these by name are included. An import only for annotations does not count.

    Args:
        modules: top-level names of the package that is no longer installed.
        folder: of the package whose functions are searched.
    """
    paths = [path for path in list_files_below(folder) if path.suffix == ".py"]
    texts = [path.read_text("utf-8", "replace") for path in paths]
    users_found: dict[str, None] = {}
    names = set(modules)
    while names:
        users: dict[str, None] = {}
        for text in texts:
            if any(word in text for word in names):
                users.update(dict.fromkeys(_list_functions_using(text, modules, users_found)))
        names = users.keys() - users_found.keys()
        users_found = {**users_found, **users}
    return list(users_found)


def _list_functions_using(
    text: str, modules: Collection[str], known_users: Collection[str]
) -> Iterator[str]:
    """Return public functions of a source that use the modules or functions known to use them."""
    try:
        tree = parse_with_origins(text.encode())
    except UNREADABLE:
        return
    names = set(_list_imported_names(tree, modules))
    for node in tree.body:
        if isinstance(node, ast.ImportFrom):
            names |= {
                alias.asname or alias.name for alias in node.names if alias.name in known_users
            }
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            names |= {node.name} & set(known_users)
    for name, function in _list_public_functions(tree.body):
        # what a function imports itself it has imported for a use
        if any(_list_imported_names(function, modules)) or names & set(_list_read_names(function)):
            yield name


def _list_public_functions(body: list[ast.stmt], prefix: str = "") -> Iterator[tuple[str, ast.AST]]:
    for node in body:
        name = getattr(node, "name", "_")
        if name.startswith("_") and name != "__init__":
            continue
        if isinstance(node, ast.ClassDef):
            yield from _list_public_functions(node.body, f"{prefix}{node.name}.")
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield f"{prefix}{node.name}", node


def _list_imported_names(node: ast.AST, modules: Collection[str]) -> Iterator[str]:
    """Yield names that a source imports from the modules outside of functions."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            for alias in child.names:
                top = alias.name.partition(".")[0]
                if top in modules:
                    yield alias.asname or top
        elif isinstance(child, ast.ImportFrom) and not child.level:
            if str(child.module).partition(".")[0] in modules:
                yield from (alias.asname or alias.name for alias in child.names)
        elif isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            continue
        elif isinstance(child, ast.If) and is_named_one_of(child.test, TYPE_CHECKING):
            yield from _list_imported_names(ast.Module(child.orelse, []), modules)
        else:
            yield from _list_imported_names(child, modules)


def _list_read_names(node: ast.AST) -> Iterator[str]:
    """Yield the names that a function reads when it runs, without those of annotations."""
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.Name):
                yield child.id
            elif isinstance(child, ast.AST):
                yield from _list_read_names(child)
