"""Finds the statements that define a module's names at import, as far as its source shows.

griffe reads all branches of a condition and keeps one definition of a name. So it is shown one
branch at a time. Nothing is executed.
"""

from __future__ import annotations

import ast
import operator
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import griffe

from rlregress.source import UNREADABLE
from rlregress.trace import child_processes
from rlregress.upgrade.differences.name_origins import (
    TYPE_CHECKING,
    is_named_one_of,
    mark_origins_of_names,
)

#: values of expressions that conditions at import compare, taken from this interpreter.
_FACTS: dict[str, Any] = {
    "sys.version_info": tuple(sys.version_info),
    "sys.version_info[:2]": tuple(sys.version_info[:2]),
    "sys.version_info[0]": sys.version_info[0],
    "sys.version_info.major": sys.version_info[0],
    "sys.version_info.minor": sys.version_info[1],
    "sys.platform": sys.platform,
    "os.name": os.name,
    "__name__": "",
}
_OPERATORS = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le,
    ast.Gt: operator.gt, ast.GtE: operator.ge,
}  # fmt: skip
#: expressions for the dictionary that holds the names of a module.
_NAMESPACES = {"globals()", "vars()", "locals()"}
_BLOCKS = (ast.ClassDef, ast.With, ast.For, ast.While)
_TRY = (ast.Try, getattr(ast, "TryStar", ast.Try))
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


class ImportBranches(griffe.Extension):
    """Shows griffe only one branch of each condition of a module and its classes.

    Args:
        number: index of the branch to read where the source does not decide the condition. If
            the condition has fewer branches, its last one is read.

    Attributes:
        branches: file -> the highest number of branches that define names, of its undecided
            conditions.
        computed: path of a module -> why its source does not show all names that it offers.
        lazy: path of a module that may import a name when it is used -> words that may be names.
    """

    def __init__(self, number: int) -> None:
        super().__init__()
        self._number = number
        self.branches: dict[Path, int] = {}
        self.computed: dict[str, str] = {}
        self.lazy: dict[str, set[str]] = {}

    def on_module_node(self, *, node: Any, agent: Any, **_: Any) -> None:
        """Keep one branch of each condition.

        Raises:
            OutOfTime: the module is about to be read too late.
        """
        child_processes.raise_if_time_is_over()
        mark_origins_of_names(node)
        self.branches[agent.filepath] = 1
        node.body = self._keep_one_branch_of_each_condition(node.body, agent.filepath)

    def _keep_one_branch_of_each_condition(
        self, body: Sequence[ast.stmt], file: Path
    ) -> list[ast.stmt]:
        statements: list[ast.stmt] = []
        for statement in body:
            branches = _list_branches_of_condition(statement)
            if branches is not None:
                if len(branches) > 1 and any(map(_defines_names, branches)):
                    self.branches[file] = max(self.branches[file], len(branches))
                branch = branches[min(self._number, len(branches) - 1)]
                statements += self._keep_one_branch_of_each_condition(branch, file)
                continue
            if isinstance(statement, _BLOCKS):
                inner = self._keep_one_branch_of_each_condition(statement.body, file)
                statement.body = inner or [ast.Pass()]
            statements.append(statement)
        return statements

    def on_module_members(self, *, node: Any, mod: griffe.Module, **_: Any) -> None:
        """Remove deleted names, and note modules that offer names without defining them."""
        parts = [inner for statement in node.body for inner in _walk_outside_functions(statement)]
        deleted = [target for p in parts if isinstance(p, ast.Delete) for target in p.targets]
        for target in deleted:
            if isinstance(target, ast.Name):
                member = mod.members.get(target.id)
                line = getattr(
                    member, "alias_lineno" if isinstance(member, griffe.Alias) else "lineno", None
                )
                if member is not None and (line or 0) < target.lineno:
                    del mod.members[member.name]
        # a module may replace itself by another object
        mappings = {
            ast.unparse(part.value)
            for part in parts
            if isinstance(part, ast.Subscript) and isinstance(part.ctx, ast.Store)
        }
        if "__getattr__" in mod.members or "sys.modules" in mappings:
            self.lazy[mod.path] = {
                word for inner in ast.walk(node) for word in _list_name_like_strings(inner)
            }
        if any(_computes_dunder_all(part, mod) for part in parts):
            # griffe then treats every public name as exported
            mod.exports = None
            self.computed[mod.path] = "its __all__ is computed when it is imported"
        elif any(map(_adds_computed_names, parts)) or mappings & _NAMESPACES:
            self.computed[mod.path] = "it makes names when it is imported"


def _list_branches_of_condition(statement: ast.stmt) -> list[list[ast.stmt]] | None:
    """Return the branches of a condition, one of which runs; None: it is no condition."""
    if isinstance(statement, _TRY):
        failing = [handler.body for handler in statement.handlers
                   if not any(isinstance(s, ast.Raise) for s in handler.body)]  # fmt: skip
        return [
            [*branch, *statement.finalbody]
            for branch in ([*statement.body, *statement.orelse], *failing)
        ]
    if not isinstance(statement, ast.If):
        return None
    value = _evaluate_condition(statement.test)
    if value is not None:
        return [statement.body if value else statement.orelse]
    remainder = statement.orelse
    if len(remainder) == 1 and isinstance(remainder[0], ast.If):
        return [statement.body, *(_list_branches_of_condition(remainder[0]) or ())]
    return [statement.body, remainder]


def _evaluate_condition(test: ast.expr) -> bool | None:
    """Return the value of a condition in this interpreter; None: the source does not show it."""
    match test:
        case ast.Constant():
            return bool(test.value)
        case ast.UnaryOp(op=ast.Not()):
            value = _evaluate_condition(test.operand)
            return None if value is None else not value
        case ast.BoolOp():
            values = [_evaluate_condition(part) for part in test.values]
            decisive = isinstance(test.op, ast.Or)
            if decisive in values:
                return decisive
            return None if None in values else not decisive
        case ast.Name() | ast.Attribute() if is_named_one_of(test, TYPE_CHECKING):
            return False
        case ast.Compare(ops=[how], comparators=[right]) if type(how) in _OPERATORS:
            with suppress(KeyError, TypeError, *UNREADABLE):
                fact = _FACTS[ast.unparse(test.left)]
                return bool(_OPERATORS[type(how)](fact, ast.literal_eval(right)))
    return None


def _defines_names(branch: Sequence[ast.stmt]) -> bool:
    """Return whether a branch defines names; imports of other packages do not count."""
    return any(
        isinstance(inner, (*_DEFINITIONS, ast.Assign, ast.AnnAssign))
        or (isinstance(inner, ast.ImportFrom) and inner.level > 0)
        for statement in branch
        for inner in _walk_outside_functions(statement)
    )


def _walk_outside_functions(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and the nodes inside it, without bodies of functions and classes."""
    yield node
    if not isinstance(node, (*_DEFINITIONS, ast.Lambda)):
        for child in ast.iter_child_nodes(node):
            yield from _walk_outside_functions(child)


def _list_name_like_strings(part: ast.AST) -> Iterator[str]:
    """Yield the strings in a list, a dictionary or a comparison that could be names."""
    if isinstance(part, (ast.List, ast.Tuple, ast.Set, ast.Dict, ast.Compare)):
        for child in ast.iter_child_nodes(part):
            if isinstance(child, ast.Constant) and str(child.value).isidentifier():
                yield str(child.value)


def _computes_dunder_all(part: ast.AST, module: griffe.Module) -> bool:
    """Return whether a statement gives ``__all__`` entries that griffe cannot read."""
    if isinstance(part, ast.Assign | ast.AnnAssign | ast.AugAssign):
        targets = part.targets if isinstance(part, ast.Assign) else [part.target]
        names = [inner for target in targets for inner in ast.walk(target)]
        if not any(isinstance(name, ast.Name) and name.id == "__all__" for name in names):
            return False
        try:
            listed = griffe.get__all__(part, module)
        except (KeyError, TypeError, AttributeError):
            return True
        # a name stands for the list of another module
        paths = [name.canonical_path for name in listed if isinstance(name, griffe.ExprName)]
        return any(not path.endswith(".__all__") for path in paths)
    called = part.func if isinstance(part, ast.Call) else None
    return isinstance(called, ast.Attribute) and ast.unparse(called.value) == "__all__"


def _adds_computed_names(part: ast.AST) -> bool:
    """Return whether a call adds names to its module that its text does not contain."""
    called = ast.unparse(part.func) if isinstance(part, ast.Call) else ""
    return called in ("exec", "globals().update", "vars().update", "globals().setdefault") or (
        called == "setattr" and "sys.modules" in ast.unparse(part)
    )
