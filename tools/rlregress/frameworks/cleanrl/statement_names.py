"""Which names a statement of a script reads, binds and changes."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

#: methods that change the object they are called on, beside those that end in one underscore.
_CHANGING = {"append", "extend", "insert", "update", "add", "put", "load_state_dict", "seed"}

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class StatementNames(NamedTuple):
    """The names that one statement, or several in a row, reads and binds.

    Attributes:
        reads: read before anything in here has bound them on every path.
        binds: bound on every path.
        touches: bound or changed in place on some path.
    """

    reads: frozenset[str]
    binds: frozenset[str]
    touches: frozenset[str]


_NOTHING = StatementNames(frozenset(), frozenset(), frozenset())


def list_names_read(node: ast.AST) -> set[str]:
    """Return names that an expression, function or class reads but does not bind itself."""
    if isinstance(node, ast.Name):
        return {node.id} if isinstance(node.ctx, ast.Load) else set()
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
        return _list_names_read_by_function(node)
    if isinstance(node, ast.ClassDef):
        outside = set().union(
            *map(list_names_read, [*node.bases, *node.keywords, *node.decorator_list])
        )
        inside = list_names_of_statements(node.body)
        return outside | set(inside.reads)
    if isinstance(node, _COMPREHENSIONS):
        bound = {n for g in node.generators for n in list_names_bound_by_target(g.target)}
        return set().union(*map(list_names_read, ast.iter_child_nodes(node))) - bound
    return set().union(*map(list_names_read, ast.iter_child_nodes(node)))


def _list_names_read_by_function(node: ast.AST) -> set[str]:
    arguments: ast.arguments = node.args  # type: ignore[attr-defined]
    parameters = [*getattr(arguments, "posonlyargs", []), *arguments.args, *arguments.kwonlyargs]
    parameters += [a for a in (arguments.vararg, arguments.kwarg) if a is not None]
    around: list[ast.AST] = [*arguments.defaults, *(d for d in arguments.kw_defaults if d)]
    around += getattr(node, "decorator_list", [])
    body = node.body if isinstance(node.body, list) else [node.body]  # type: ignore[attr-defined]
    local = {argument.arg for argument in parameters}
    for statement in body:
        local |= set(_list_local_names(statement))
    inside = set().union(*map(list_names_read, body)) - local
    return set().union(inside, *map(list_names_read, around))


def _list_local_names(node: ast.AST) -> Iterator[str]:
    """Yield names that a statement of a function makes local to it."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id
    elif isinstance(node, (ast.Import, ast.ImportFrom)):
        yield from map_imported_names_to_modules(node)
    elif isinstance(node, _SCOPES):
        if not isinstance(node, ast.Lambda):
            yield node.name
        return
    for child in ast.iter_child_nodes(node):
        yield from _list_local_names(child)


def list_names_bound_by_target(target: ast.AST) -> set[str]:
    """Return names that a target of an assignment binds."""
    if isinstance(target, ast.Name):
        return {target.id}
    if isinstance(target, (ast.Tuple, ast.List)):
        return set().union(*map(list_names_bound_by_target, target.elts))
    if isinstance(target, ast.Starred):
        return list_names_bound_by_target(target.value)
    return set()


def _list_names_changed_by_target(target: ast.AST) -> set[str]:
    """Return names whose objects an assignment to an item or attribute changes."""
    if isinstance(target, (ast.Tuple, ast.List)):
        return set().union(*map(_list_names_changed_by_target, target.elts))
    if isinstance(target, (ast.Subscript, ast.Attribute, ast.Starred)):
        root = _find_root_name(target)
        return {root} if root else set()
    return set()


def _find_root_name(node: ast.AST) -> str:
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Starred, ast.Call)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def _list_names_changed_by_calls(node: ast.AST) -> set[str]:
    changed = set()
    for call in ast.walk(node):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
            method = call.func.attr
            in_place = method.endswith("_") and not method.endswith("__")
            if in_place or method in _CHANGING:
                changed.add(_find_root_name(call.func))
    return changed - {""}


def map_imported_names_to_modules(node: ast.AST) -> dict[str, str]:
    """Return name that an import binds -> full name of the module that it is, or comes from."""
    aliases = node.names  # type: ignore[attr-defined]
    if isinstance(node, ast.ImportFrom):
        return {alias.asname or alias.name: node.module or "" for alias in aliases}
    return {alias.asname or alias.name.partition(".")[0]: alias.name for alias in aliases}


def _make_names_of_statement(
    reads: Iterable[str], binds: Iterable[str], touches: Iterable[str] = ()
) -> StatementNames:
    binds = frozenset(binds)
    return StatementNames(frozenset(reads), binds, binds | frozenset(touches))


def _join_names_in_order(first: StatementNames, second: StatementNames) -> StatementNames:
    return StatementNames(
        first.reads | (second.reads - first.binds),
        first.binds | second.binds,
        first.touches | second.touches,
    )


def _join_names_of_branches(branches: Sequence[StatementNames]) -> StatementNames:
    return StatementNames(
        frozenset().union(*(way.reads for way in branches)),
        frozenset.intersection(*(way.binds for way in branches)),
        frozenset().union(*(way.touches for way in branches)),
    )


def _mark_names_optional(names: StatementNames) -> StatementNames:
    return StatementNames(names.reads, frozenset(), names.touches)


def list_names_of_statements(statements: Sequence[ast.stmt]) -> StatementNames:
    """Return the names that statements, run one after the other, read and bind."""
    names = _NOTHING
    for statement in statements:
        names = _join_names_in_order(names, list_names_of_statement(statement))
    return names


@functools.cache
def list_names_of_statement(node: ast.stmt) -> StatementNames:
    """Return the names that a statement reads and binds, with those of statements inside it."""
    if isinstance(node, ast.Assign):
        parts = [t for t in node.targets if not isinstance(t, ast.Name)]
        changed = set().union(*map(_list_names_changed_by_target, node.targets))
        reads = list_names_read(node.value).union(*map(list_names_read, parts), changed)
        bound = set().union(*map(list_names_bound_by_target, node.targets))
        return _make_names_of_statement(
            reads, bound, changed | _list_names_changed_by_calls(node.value)
        )
    if isinstance(node, ast.AnnAssign):
        bound = list_names_bound_by_target(node.target) if node.value else set()
        return _make_names_of_statement(list_names_read(node.value) if node.value else (), bound)
    if isinstance(node, ast.AugAssign):
        changed = list_names_bound_by_target(node.target) | _list_names_changed_by_target(
            node.target
        )
        reads = list_names_read(node.value) | list_names_read(node.target) | changed
        return _make_names_of_statement(reads, list_names_bound_by_target(node.target), changed)
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return _make_names_of_statement(list_names_read(node) - {node.name}, {node.name})
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return _make_names_of_statement((), map_imported_names_to_modules(node))
    if isinstance(node, ast.If):
        ways = _join_names_of_branches(
            [list_names_of_statements(node.body), list_names_of_statements(node.orelse)]
        )
        return _join_names_in_order(
            _make_names_of_statement(
                list_names_read(node.test), (), _list_names_changed_by_calls(node.test)
            ),
            ways,
        )
    if isinstance(node, (ast.For, ast.AsyncFor)):
        body = list_names_of_statements(node.body)
        target = list_names_bound_by_target(node.target)
        inside = _join_names_in_order(_make_names_of_statement((), target), body)
        after = _mark_names_optional(list_names_of_statements(node.orelse))
        return _join_names_in_order(
            _join_names_in_order(
                _make_names_of_statement(list_names_read(node.iter), ()),
                _mark_names_optional(inside),
            ),
            after,
        )
    if isinstance(node, ast.While):
        return _join_names_in_order(
            _make_names_of_statement(list_names_read(node.test), ()),
            _mark_names_optional(list_names_of_statements(node.body)),
        )
    if isinstance(node, (ast.With, ast.AsyncWith)):
        around = list_names_of_with(node)
        return _join_names_in_order(around, list_names_of_statements(node.body))
    if isinstance(node, ast.Try):
        tried = list_names_of_statements([*node.body, *node.orelse])
        ends = [tried, *(list_names_of_statements(handler.body) for handler in node.handlers)]
        return _join_names_in_order(
            _mark_names_optional(tried),
            _join_names_in_order(
                _join_names_of_branches(ends), list_names_of_statements(node.finalbody)
            ),
        )
    return _make_names_of_statement(list_names_read(node), (), _list_names_changed_by_calls(node))


def list_names_of_with(node: ast.AST) -> StatementNames:
    """Return the names that the first line of a ``with`` reads and binds."""
    names = _NOTHING
    for item in node.items:  # type: ignore[attr-defined]
        bound = (
            list_names_bound_by_target(item.optional_vars) if item.optional_vars is not None else ()
        )
        names = _join_names_in_order(
            names, _make_names_of_statement(list_names_read(item.context_expr), bound)
        )
    return names
