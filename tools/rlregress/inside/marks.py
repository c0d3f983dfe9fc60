"""Functions that a training enters, at the cost of a call in each of them and of nothing in others.

A mark is put at the head of every function of some files when they are imported. The body of a
file is entered as ``<module>`` when it runs as a script, or is imported though it is one.
"""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Callable, Iterable
from importlib.machinery import SourceFileLoader
from types import CodeType
from typing import Any

from rlregress import source
from rlregress.inside import events

#: file below its root, and qualified name.
Function = tuple[str, str]
#: what a mark calls: it has to be found from every module.
_CALLED = "__rlregress_entered__"


class Marks:
    """Marks the functions of files that are imported meanwhile; use it as a context manager.

    Args:
        places: tells the traced code from all other.
        files: below their roots; functions of these are marked.
        functions: those that matter.
        met: called with the first of them.

    Attributes:
        unmarked: a file whose functions ran, or could have run, without marks; "" if there is none.
    """

    def __init__(
        self,
        places: events.Places,
        files: Iterable[str],
        functions: Iterable[Function] = (),
        met: Callable[[Function], None] | None = None,
    ) -> None:
        self.met = met
        self.unmarked = ""
        self._places = places
        self._files: frozenset[str] = frozenset(files)
        self._matter: frozenset[Function] = frozenset(functions)
        self._found: set[Function] = set()
        self._names: list[Function] = []
        # kept, so that no other code comes to have its identity
        self._codes: dict[int, CodeType] = {}
        self._get_code: Any = None

    def __enter__(self) -> Marks:
        for module in list(sys.modules.values()):
            file = getattr(module, "__file__", None)
            if file and self._places.name(file) in self._files:
                self.unmarked = file
        setattr(builtins, _CALLED, self._called)
        get_code = self._get_code = SourceFileLoader.get_code

        def marked(loader: Any, fullname: str) -> CodeType | None:
            code = self._marked(loader, loader.get_filename(fullname))
            return get_code(loader, fullname) if code is None else code

        SourceFileLoader.get_code = marked  # type: ignore[method-assign,assignment]
        sys.addaudithook(self._audit)
        return self

    def __exit__(self, *_: Any) -> None:
        SourceFileLoader.get_code = self._get_code  # type: ignore[method-assign]
        self._get_code = None

    def functions(self) -> dict[str, list[str]]:
        """File below its root -> qualified names of its functions that were entered."""
        by_file: dict[str, list[str]] = {}
        for file, name in sorted(self._found):
            by_file.setdefault(file, []).append(name)
        return by_file

    def _called(self, number: int) -> None:
        self._meet(self._names[number])

    def _meet(self, function: Function) -> None:
        if function not in self._found:
            self._found.add(function)
            if function in self._matter and self.met is not None:
                self.met(function)

    def _marked(self, loader: Any, path: str) -> CodeType | None:
        file = self._places.name(path)
        if file not in self._files or file is None:
            return None
        tree = ast.parse(loader.get_data(path), path)
        if any(map(source.runs_as_script, tree.body)):
            self._meet((file, "<module>"))
        _Marking(file, self._names).visit(tree)
        code: CodeType = loader.source_to_code(tree, path)
        self._codes[id(code)] = code
        return code

    def _audit(self, event: str, given: tuple[Any, ...]) -> None:
        """Note code of a marked file that comes to run in another way than by an import."""
        if event == "exec" and self._get_code is not None and isinstance(given[0], CodeType):
            code = given[0]
            file = self._places.name(code.co_filename)
            if file is not None and file in self._files and id(code) not in self._codes:
                self.unmarked = code.co_filename
                if code.co_name == "<module>":
                    self._meet((file, "<module>"))


class _Marking(ast.NodeTransformer):
    """Puts a mark at the head of every function, and of the lambdas in its decorators and defaults.

    A lambda in its body runs after it.
    """

    def __init__(self, file: str, names: list[Function]) -> None:
        self._file, self._names = file, names
        self._above = ""

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        """The functions inside are called after it."""
        return self._within(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """The mark stands behind the docstring."""
        return self._function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        """As any other."""
        return self._function(node)

    def _function(self, node: Any) -> ast.AST:
        self._within(node)
        name = f"{self._above}.{node.name}" if self._above else node.name
        number = len(self._names)
        self._names.append((self._file, name))
        outside = [*node.decorator_list, *node.args.defaults, *node.args.kw_defaults]
        for node_ in [part for given in outside if given is not None for part in ast.walk(given)]:
            if isinstance(node_, ast.Lambda):
                pair = ast.Tuple([_mark(number, node_), node_.body], ast.Load())
                node_.body = ast.Subscript(pair, ast.Constant(1), ast.Load())
                ast.fix_missing_locations(node_)
        first = 1 if ast.get_docstring(node, clean=False) is not None else 0
        mark = ast.copy_location(ast.Expr(_mark(number, node)), node)
        node.body.insert(first, mark)
        return node

    def _within(self, node: Any) -> ast.AST:
        above = self._above
        self._above = f"{above}.{node.name}" if above else node.name
        self.generic_visit(node)
        self._above = above
        return node


def _mark(number: int, at: ast.AST) -> ast.expr:
    call = ast.Call(ast.Name(_CALLED, ast.Load()), [ast.Constant(number)], [])
    return ast.fix_missing_locations(ast.copy_location(call, at))
