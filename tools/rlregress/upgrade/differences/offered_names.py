"""Finds names that a module offers without a statement that defines them; nothing is executed."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

import griffe

from rlregress.trace import child_processes

#: expressions for the dictionary that holds the names of a module.
_NAMESPACES = {"globals()", "vars()", "locals()"}
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


class OfferedNames(griffe.Extension):
    """Notes names that are computed, or imported when they are used.

    Attributes:
        computed: path of a module -> why its source does not show all names that it offers.
        lazy: path of a module that may import a name when it is used -> words that may be names.
    """

    def __init__(self) -> None:
        super().__init__()
        self.computed: dict[str, str] = {}
        self.lazy: dict[str, set[str]] = {}

    def on_module_members(self, *, node: Any, mod: griffe.Module, **_: Any) -> None:
        """Remove names that are deleted, or imported for type checkers; note those not defined.

        Raises:
            OutOfTime: the module is about to be read too late.
        """
        child_processes.raise_if_time_is_over()
        parts = [inner for statement in node.body for inner in _walk_outside_functions(statement)]
        # griffe takes what stands in the other branch for guarded, too
        other = [s for part in parts if isinstance(part, ast.If) for s in part.orelse]
        lines = {line for s in other for line in range(s.lineno, (s.end_lineno or s.lineno) + 1)}
        for name, member in list(mod.members.items()):
            if isinstance(member, griffe.Alias) and not (
                member.runtime or member.alias_lineno in lines
            ):
                del mod.members[name]
        deleted = [target for p in parts if isinstance(p, ast.Delete) for target in p.targets]
        for target in deleted:
            if isinstance(target, ast.Name):
                gone = mod.members.get(target.id)
                line = getattr(
                    gone, "alias_lineno" if isinstance(gone, griffe.Alias) else "lineno", None
                )
                if gone is not None and (line or 0) < target.lineno:
                    del mod.members[gone.name]
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
