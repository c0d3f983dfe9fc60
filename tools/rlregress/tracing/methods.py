"""Methods that only one of two versions has: taken away from a class in memory, or put into it.

Runs inside foreign and old environments: standard library only, Python 3.9 syntax.
"""

from __future__ import annotations
import __future__

import ast
import types
from typing import Any, Dict, List, Optional

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class NoClass(Exception):
    """There is no such class; says which."""


def take_away(module: types.ModuleType, name: str) -> None:
    """Take a method from its class; what it has hidden, or nothing, stands in its place.

    Args:
        name: qualified: "Agent.train".

    Raises:
        NoClass: it is no method of a class of the module.
    """
    kind, own = _class(module, name)
    if own not in vars(kind):
        raise NoClass(f"{kind.__name__} has no {own}")
    delattr(kind, own)


def put(module: types.ModuleType, name: str, text: str, path: str) -> None:
    """Give a class the method that it has in another text, decorators and defaults included.

    Args:
        name: qualified.
        text: of the whole file.
        path: of the file, as its code shall know it.

    Raises:
        NoClass: there is no such class here, or no such method of it in the text.
    """
    kind, own = _class(module, name)
    definitions = _definitions(ast.parse(text), name)
    if not definitions:
        raise NoClass(f"the other text has no {name}")
    made = ast.ClassDef(kind.__name__, [], [], list(definitions), [])
    tree = ast.Module([ast.fix_missing_locations(made)], [])
    own_names: Dict[str, Any] = {}
    flags = __future__.annotations.compiler_flag
    exec(compile(tree, path, "exec", flags, True), vars(module), own_names)
    found = vars(own_names[kind.__name__])[own]
    for function in _functions(found):
        # what ``super()`` asks for
        for variable, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
            if variable == "__class__":
                cell.cell_contents = kind
    setattr(kind, own, found)


def _class(module: types.ModuleType, name: str) -> Any:
    above, _, own = name.rpartition(".")
    kind: Any = module
    for part in above.split("."):
        kind = getattr(kind, part, None)
    if not isinstance(kind, type) or kind.__module__ != module.__name__:
        raise NoClass(f"{above} is no class of {module.__name__}")
    return kind, own


def _definitions(tree: ast.AST, name: str) -> List[ast.stmt]:
    """All of that name, such as a property and its setter."""
    *above, own = name.split(".")
    node: Optional[ast.AST] = tree
    for part in above:
        body = getattr(node, "body", [])
        kinds = [each for each in body if isinstance(each, ast.ClassDef) and each.name == part]
        node = kinds[0] if kinds else None
    body = getattr(node, "body", [])
    return [each for each in body if isinstance(each, _FUNCTIONS) and each.name == own]


def _functions(found: Any) -> List[types.FunctionType]:
    """The functions of a method, behind the descriptors of Python."""
    names = ("__func__", "fget", "fset", "fdel")
    parts = [found, *(getattr(found, name, None) for name in names)]
    return [part for part in parts if isinstance(part, types.FunctionType)]
