"""Finds the public functions that use a package: they fail where it is no longer installed."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from pathlib import Path

from rlregress.source import UNREADABLE, list_sources_below
from rlregress.upgrade.differences.name_origins import find_full_names, parse_with_origins

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def list_functions_using(modules: Collection[str], folder: Path) -> list[str]:
    """Return the qualified names of public functions that import modules or use their names.

    Functions that call these by name are included. An import only for annotations does not count.

    Args:
        modules: top-level names of the package that is no longer installed.
        folder: of the package whose functions are searched.
    """
    texts = [path.read_text("utf-8", "replace") for path in list_sources_below(folder)]
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
    names = {node.name for node in tree.body if isinstance(node, _FUNCTIONS)} & set(known_users)
    for node in tree.body:
        if isinstance(node, ast.ImportFrom):
            names |= {
                alias.asname or alias.name for alias in node.names if alias.name in known_users
            }
    for name, function in _list_public_functions(tree.body):
        if any(_uses_one_of(node, modules, names) for node in _walk_without_annotations(function)):
            yield name


def _uses_one_of(node: ast.AST, modules: Collection[str], names: Collection[str]) -> bool:
    """Return whether a node is one of the names, or names or imports one of the modules.

    An import inside a function counts as a use.
    """
    paths: Collection[str] = ()
    if isinstance(node, ast.Name):
        paths = find_full_names(node)
    elif isinstance(node, ast.Import):
        paths = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom) and not node.level:
        paths = [str(node.module)]
    is_name = isinstance(node, ast.Name) and node.id in names
    return is_name or any(path.partition(".")[0] in modules for path in paths)


def _list_public_functions(body: list[ast.stmt], prefix: str = "") -> Iterator[tuple[str, ast.AST]]:
    for node in body:
        name = getattr(node, "name", "_")
        if name.startswith("_") and name != "__init__":
            continue
        if isinstance(node, ast.ClassDef):
            yield from _list_public_functions(node.body, f"{prefix}{node.name}.")
        elif isinstance(node, _FUNCTIONS):
            yield f"{prefix}{node.name}", node


def _walk_without_annotations(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a function without annotations."""
    for field, value in ast.iter_fields(node):
        if field not in ("annotation", "returns"):
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield child
                    yield from _walk_without_annotations(child)
