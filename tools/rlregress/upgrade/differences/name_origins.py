"""Finds where the names in a source text come from, such as which package a decorator is from."""

from __future__ import annotations

import ast
import builtins
import re
from collections import defaultdict
from collections.abc import Collection

#: attribute of a syntax node for the origins of its name, which are needed far from its tree.
_MARK = "origins"
_BUILTINS = frozenset(vars(builtins))
#: attribute of the syntax nodes of a file that names ``torch.jit``.
_SCRIPTED = "scripted"
_JIT = re.compile(r"(?:\b|_)jit(?:\b|_)")
#: full names of constants that are true only while a type checker reads the code.
TYPE_CHECKING = frozenset({"typing.TYPE_CHECKING", "typing_extensions.TYPE_CHECKING"})


def parse_with_origins(text: bytes | str) -> ast.Module:
    """Parse a source text, and store on each name the full names (``os.path``) it may mean.

    Raises:
        source.UNREADABLE: the text is not Python, or nests too deeply.
    """
    tree = ast.parse(text)
    mark_origins_of_names(tree)
    if _JIT.search(text if isinstance(text, str) else text.decode(errors="replace")):
        for node in ast.walk(tree):
            setattr(node, _SCRIPTED, True)
    return tree


def may_be_scripted(node: ast.AST) -> bool:
    """Return whether TorchScript, which reads annotations, may compile what stands in this file."""
    return getattr(node, _SCRIPTED, False)


def mark_origins_of_names(tree: ast.AST) -> None:
    """Store on each name in a module's syntax tree the full names (``os.path``) it may mean."""
    origins: dict[str, set[str]] = defaultdict(set)
    names: list[ast.Name] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            if not isinstance(node.ctx, ast.Load):
                origins[node.id].add("")
            names.append(node)
        elif isinstance(node, ast.arg):
            origins[node.arg].add("")
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            origins[node.name].add("")
        elif isinstance(node, ast.Import):
            for alias in node.names:
                own = alias.asname or alias.name.partition(".")[0]
                origins[own].add(alias.name if alias.asname else own)
        elif isinstance(node, ast.ImportFrom):
            module = "" if node.level else f"{node.module}."
            for alias in node.names:
                origins[alias.asname or alias.name].add(module and f"{module}{alias.name}")
    for name in names:
        # what a star gives may hide a builtin
        if name.id not in origins and name.id in _BUILTINS and "*" not in origins:
            origins[name.id].add(f"builtins.{name.id}")
        setattr(name, _MARK, frozenset(origins.get(name.id, ())))


def is_named_one_of(node: ast.expr, names: Collection[str]) -> bool:
    """Return whether an expression can only mean one of ``names``, which are full names."""
    origins = find_full_names(node)
    return bool(origins) and origins <= set(names)


def find_full_names(node: ast.expr) -> frozenset[str]:
    """Return the full names that an expression may have, such as "functools.cache".

    "" is among them if the module itself binds the name, or imports it from its own package. The
    result is empty if nothing is known.
    """
    if isinstance(node, ast.Name):
        return getattr(node, _MARK, frozenset())
    if isinstance(node, ast.Attribute):
        values = find_full_names(node.value)
        return frozenset(value and f"{value}.{node.attr}" for value in values)
    return frozenset()
