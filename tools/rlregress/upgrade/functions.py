"""Functions whose code differs between the two sides, read from their sources."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from rlregress.source import first_line

CHANGED, ADDED, REMOVED = "changed", "added", "removed"
#: code that runs when a module is imported, and when a class is made.
MODULE, BODY = "<module>", "<class>"
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
#: calls that tell somebody something and compute nothing.
WORDS = frozenset(
    {
        "warn",
        "warning",
        "info",
        "debug",
        "print",
        "deprecated",
        "setFormatter",
        "addHandler",
        "setLevel",
    }
)
#: decorators that only a type checker reads.
_TYPING = frozenset({"override", "overload", "final"})


@dataclass(frozen=True)
class Function:
    """One function of a source file.

    Attributes:
        name: qualified: "SAC.train"; ``MODULE`` and "<class> Name" for what runs at import.
        first, last: lines.
        code: what it does, without docstrings, annotations and messages.
    """

    name: str
    first: int
    last: int
    code: str


@dataclass(frozen=True)
class Changed:
    """A function that is not the same on both sides.

    Attributes:
        file: below the folder of its package; on side B, if it has moved.
        how: ``CHANGED``, ``ADDED`` (only on side B) or ``REMOVED`` (only on side A).
        a, b: the function on either side.
        paths: of the file on either side.
        was: its file on side A, if it has moved.
        within: whether it is a method of a class that both sides have: without a word of a changed
            function it takes the place of another method, or leaves its place to one.
    """

    file: str
    name: str
    how: str
    a: Function | None
    b: Function | None
    paths: tuple[Path | None, Path | None]
    was: str = ""
    within: bool = False

    def file_on(self, side: str) -> str:
        """Its file on side "a" or "b"."""
        return self.was if side == "a" and self.was else self.file

    @property
    def counts(self) -> bool:
        """Whether an upgrade may change by it what side A's users do.

        What is new, or gone, is only reached through a function that has changed, or by code that
        fits one side alone.
        """
        return self.how == CHANGED or self.within

    @property
    def key(self) -> tuple[str, str]:
        """File and name."""
        return self.file, self.name

    @property
    def at_import(self) -> bool:
        """Whether it runs when its module is imported."""
        return self.name.startswith("<")

    @property
    def place(self) -> str:
        """``file:line``, on side B if it is there."""
        shown = self.b or self.a
        return f"{self.file}:{shown.first if shown else 0}"

    def __str__(self) -> str:
        return f"{self.place} {self.name}"


def changed(a: Sequence[str], b: Sequence[str]) -> list[Changed]:
    """Functions that differ between the packages of two sides.

    Args:
        a, b: folders of the packages on either side.
    """
    one, other = files(a), files(b)
    differing: list[Changed] = []
    classes: list[set[tuple[str, str]]] = [set(), set()]
    for file in sorted(set(one) | set(other)):
        paths = one.get(file), other.get(file)
        texts = [path.read_bytes() if path is not None else b"" for path in paths]
        if texts[0] != texts[1]:
            sides = [of_text(t) if path else {} for t, path in zip(texts, paths, strict=True)]
            differing += _compared(file, paths, sides)
            for known, side in zip(classes, sides, strict=True):
                known |= {(file, name) for name in side}
    stayed = classes[0] & classes[1]
    return _with_moved([replace(each, within=_class(each) in stayed) for each in differing])


def _class(function: Changed) -> tuple[str, str]:
    """The key of the class that it is a method of, or of what it is inside of."""
    above = function.name.rpartition(".")[0]
    return function.file, f"{BODY} {above}"


def _with_moved(differing: Sequence[Changed]) -> list[Changed]:
    """What is gone from one file and new in another, under one name, has moved."""
    gone = _by_name(each for each in differing if each.how == REMOVED and not each.at_import)
    new = _by_name(each for each in differing if each.how == ADDED and not each.at_import)
    left = list(differing)
    for name in sorted(set(gone) & set(new)):
        for one, other in _pairs(gone[name], new[name]):
            left.remove(one)
            left.remove(other)
            if one.a is not None and other.b is not None and one.a.code != other.b.code:
                paths = one.paths[0], other.paths[1]
                left.append(Changed(other.file, name, CHANGED, one.a, other.b, paths, was=one.file))
    return sorted(left, key=lambda each: each.key)


def _by_name(functions: Iterable[Changed]) -> dict[str, list[Changed]]:
    named: dict[str, list[Changed]] = {}
    for each in functions:
        named.setdefault(each.name, []).append(each)
    return named


def _pairs(gone: Sequence[Changed], new: Sequence[Changed]) -> Iterator[tuple[Changed, Changed]]:
    """Those with the same code, and of the others the only ones that are left."""
    gone, new = list(gone), list(new)
    for one in list(gone):
        same = [other for other in new if other.b and one.a and other.b.code == one.a.code]
        if same:
            gone.remove(one)
            new.remove(same[0])
            yield one, same[0]
    if len(gone) == len(new) == 1:
        yield gone[0], new[0]


def files(folders: Sequence[str]) -> dict[str, Path]:
    """File below the folder of its package -> path, of all sources."""
    return {
        str(path.relative_to(Path(folder).parent)): path
        for folder in folders
        for path in sorted(Path(folder).rglob("*.py"))
    }


def _compared(
    file: str,
    paths: tuple[Path | None, Path | None],
    sides: Sequence[Mapping[str, Function]],
) -> Iterator[Changed]:
    a, b = sides
    for name in sorted(set(a) | set(b)):
        one, other = a.get(name), b.get(name)
        if name.startswith("<") and not any(each and each.code for each in (one, other)):
            continue
        if one is not None and other is not None and one.code == other.code:
            continue
        how = CHANGED if one is not None and other is not None else ADDED if other else REMOVED
        yield Changed(file, name, how, one, other, paths)


@lru_cache(maxsize=4096)
def of_text(text: bytes) -> Mapping[str, Function]:
    """Qualified name -> function of a source text; none if it cannot be read."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return {}
    functions: dict[str, Function] = {}

    def visit(node: ast.AST, above: str) -> None:
        for child in getattr(node, "body", []):
            _visit_statement(child, above)

    def _visit_statement(child: ast.stmt, above: str) -> None:
        if isinstance(child, (*_FUNCTIONS, ast.ClassDef)):
            name = f"{above}.{child.name}" if above else child.name
            if isinstance(child, ast.ClassDef):
                lines = (first_line(child), child.end_lineno or 0)
                functions[f"{BODY} {name}"] = Function(f"{BODY} {name}", *lines, _own_code(child))
                visit(child, name)
            elif not _for_types(child):
                lines = (first_line(child), child.end_lineno or 0)
                # of several of one name, as of a property and its setter, all count
                known = functions.get(name, Function(name, *lines, ""))
                code = known.code + _own_code(child)
                functions[name] = Function(name, known.first, lines[1], code)
                visit_nested(child, name)
            return
        # functions that are defined under a condition, or where an import fails
        for inner in _statements(child):
            _visit_statement(inner, above)

    def visit_nested(node: ast.AST, name: str) -> None:
        for inner in getattr(node, "body", []):
            _visit_statement(inner, name)

    visit(tree, "")
    functions[MODULE] = Function(MODULE, 1, 1, _own_code(tree))
    return functions


def _statements(node: ast.stmt) -> Iterator[ast.stmt]:
    for field in ("body", "handlers", "cases", "orelse", "finalbody"):
        for inner in getattr(node, field, []):
            if isinstance(inner, ast.stmt):
                yield inner
            else:
                yield from inner.body


def _for_types(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any(ast.unparse(each).rpartition(".")[2] == "overload" for each in node.decorator_list)


def _own_code(node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """What it does itself: without functions and classes inside, without words and types."""
    lines = []
    if isinstance(node, _FUNCTIONS):
        lines += [ast.dump(each) for each in node.decorator_list if not _typing(each)]
        lines.append(ast.dump(_without_types(node.args)))
    if isinstance(node, ast.ClassDef):
        lines += [ast.dump(base) for base in (*node.bases, *node.keywords)]
    for child in node.body:
        made = _Doing().visit(_copied(child))
        if made is not None:
            lines.append(ast.dump(made))
    return "\n".join(lines)


def _copied(node: ast.stmt) -> ast.stmt:
    # the tree is read again for its outer functions
    (copy,) = ast.parse(ast.unparse(node)).body or [ast.Pass()]
    return copy


def _typing(node: ast.expr) -> bool:
    return ast.unparse(node).rpartition(".")[2] in _TYPING


def _without_types(arguments: ast.arguments) -> ast.arguments:
    for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        each.annotation = None
    for rest in (arguments.vararg, arguments.kwarg):
        if rest is not None:
            rest.annotation = None
    return arguments


class _Doing(ast.NodeTransformer):
    """Leaves what computes something."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """Functions inside are functions of their own."""

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        """As above."""

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """As above."""

    def visit_Import(self, node: ast.Import) -> None:
        """What is imported does something where it is used."""

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """As above."""

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        """Docstrings and words to the user go."""
        if isinstance(node.value, ast.Constant):
            return None
        if isinstance(node.value, ast.Call):
            called = ast.unparse(node.value.func).rpartition(".")[2]
            if called in WORDS:
                return None
        return self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        """That an error is raised counts, not what it says."""
        name = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
        return ast.copy_location(ast.Raise(exc=name, cause=None), node)

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        """That something is asserted counts, not what it says."""
        return ast.Assert(test=node.test, msg=None)

    def visit_Assign(self, node: ast.Assign) -> ast.AST | None:
        """Names such as ``__all__`` say something to others."""
        if all(isinstance(each, ast.Name) and each.id.startswith("__") for each in node.targets):
            return None
        return self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST | None:
        """A type is not computed with."""
        if node.value is None:
            return None
        self.generic_visit(node)
        return ast.Assign(targets=[node.target], value=node.value, lineno=0)

    def visit_If(self, node: ast.If) -> ast.AST | None:
        """What only a type checker runs goes."""
        if ast.unparse(node.test).rpartition(".")[2] == "TYPE_CHECKING":
            return None
        return self._filled(self.generic_visit(node))

    def generic_visit(self, node: ast.AST) -> ast.AST:
        """Blocks that are left empty stay blocks."""
        return self._filled(super().generic_visit(node))

    def _filled(self, node: ast.AST) -> ast.AST:
        if isinstance(getattr(node, "body", None), list) and not node.body:  # type: ignore[attr-defined]
            node.body = [ast.Pass()]  # type: ignore[attr-defined]
        return node
