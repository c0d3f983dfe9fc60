"""Pieces of code that differ between two versions, read from their sources.

A piece is a function, what a class does when it is made, or what a module does when it is imported.
Every line of a file belongs to exactly one piece, and every piece that differs is returned: where
only its messages, docstrings or annotations differ, it is returned as ``WORDING``. Nothing is left
out here; what a difference means is decided elsewhere.
"""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from rlregress.model.code import (
    ADDED,
    BODY,
    CHANGED,
    MODULE,
    MOVED,
    REMOVED,
    WORDING,
    Changed,
    Function,
)
from rlregress.source import below, first_line

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
#: calls that print or log something and compute nothing.
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
#: what a message may be made with.
_WORDING = frozenset({"str", "repr", "len", "format", "join", "type"})
#: decorators that only a type checker reads.
_TYPING = frozenset({"override", "overload", "final"})
#: decorators that do not read the annotations of what they decorate.
_BLIND = _TYPING | {
    "property", "setter", "getter", "deleter", "staticmethod", "classmethod", "abstractmethod",
    "contextmanager", "wraps", "lru_cache", "cache", "cached_property", "no_grad", "inference_mode",
}  # fmt: skip
#: names of a module that say its version and its authors.
_VERSIONS = frozenset({"__version__", "__author__", "__email__", "__license__"})
#: modules of types.
_TYPES = frozenset({"typing", "typing_extensions", "__future__"})


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
            if one.a is not None and other.b is not None:
                # the same code may mean something else among the names of another file
                how = MOVED if one.a.code == other.b.code else CHANGED
                paths = one.paths[0], other.paths[1]
                left.append(
                    Changed(
                        file=other.file,
                        name=name,
                        how=how,
                        a=one.a,
                        b=other.b,
                        paths=paths,
                        was=one.file,
                    )
                )
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
        for path in below(Path(folder))
        if path.suffix == ".py"
    }


def _compared(
    file: str,
    paths: tuple[Path | None, Path | None],
    sides: Sequence[Mapping[str, Function]],
) -> Iterator[Changed]:
    a, b = sides
    for name in sorted(set(a) | set(b)):
        one, other = a.get(name), b.get(name)
        if one is None or other is None:
            # a module or a class that is there and does nothing of its own
            if (
                not name.startswith("<")
                or (one or other or Function(name="", first=0, last=0, code="")).code
            ):
                yield Changed(
                    file=file,
                    name=name,
                    how=ADDED if one is None else REMOVED,
                    a=one,
                    b=other,
                    paths=paths,
                )
        elif one.code != other.code:
            yield Changed(file=file, name=name, how=CHANGED, a=one, b=other, paths=paths)
        elif one.whole != other.whole:
            yield Changed(file=file, name=name, how=WORDING, a=one, b=other, paths=paths)


@lru_cache(maxsize=4096)
def of_text(text: bytes) -> Mapping[str, Function]:
    """Qualified name -> piece of a source text; of one that cannot be read the text as a module."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return {MODULE: Function(name=MODULE, first=1, last=1, code=repr(text), whole=repr(text))}
    pieces: dict[str, Function] = {}

    def add(name: str, node: ast.Module | ast.ClassDef | _Function) -> None:
        first, last = (1, 1) if isinstance(node, ast.Module) else _lines(node)
        # of several of one name, as of a property and its setter, all count
        known = pieces.get(name, Function(name=name, first=first, last=last, code=""))
        # first, as annotations are taken from the node for the code
        whole = known.whole + _whole(node)
        pieces[name] = Function(
            name=name, first=known.first, last=last, code=known.code + _code(node), whole=whole
        )

    def visit(statements: Iterable[ast.stmt], above: str) -> None:
        for child in statements:
            if isinstance(child, (*_FUNCTIONS, ast.ClassDef)):
                name = f"{above}.{child.name}" if above else child.name
                if isinstance(child, ast.ClassDef):
                    add(f"{BODY} {name}", child)
                elif not _for_types(child):
                    add(name, child)
                visit(child.body, name)
            else:
                # functions that are defined under a condition, or where an import fails
                visit(_statements(child), above)

    visit(tree.body, "")
    add(MODULE, tree)
    return pieces


_Function = ast.FunctionDef | ast.AsyncFunctionDef


def _lines(node: ast.ClassDef | _Function) -> tuple[int, int]:
    return first_line(node), node.end_lineno or 0


def _statements(node: ast.stmt) -> Iterator[ast.stmt]:
    for field in ("body", "handlers", "cases", "orelse", "finalbody"):
        for inner in getattr(node, field, []):
            if isinstance(inner, ast.stmt):
                yield inner
            else:
                yield from inner.body


def _for_types(node: _Function) -> bool:
    return any(_last_name(each) == "overload" for each in node.decorator_list)


def _last_name(node: ast.expr) -> str:
    called = node.func if isinstance(node, ast.Call) else node
    return ast.unparse(called).rpartition(".")[2]


def _whole(node: ast.Module | ast.ClassDef | _Function) -> str:
    """All that its text says, without functions and classes inside."""
    copied = ast.parse(ast.unparse(node))
    own = copied if isinstance(node, ast.Module) else copied.body[0]
    return ast.dump(_Own().outside(own))


class _Own(ast.NodeTransformer):
    """Takes functions and classes out of what is around them."""

    def outside(self, node: ast.AST) -> ast.AST:
        """The node, without those inside it."""
        return self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """A piece by itself."""

    visit_AsyncFunctionDef = visit_ClassDef = visit_FunctionDef  # type: ignore[assignment]


def _code(node: ast.Module | ast.ClassDef | _Function) -> str:
    """What it does itself: without functions and classes inside, without words and types."""
    lines: list[str] = []
    if isinstance(node, _FUNCTIONS):
        lines += [ast.dump(each) for each in node.decorator_list if _last_name(each) not in _TYPING]
        typed = any(_last_name(each) not in _BLIND for each in node.decorator_list)
        lines.append(ast.dump(node.args if typed else _without_types(node.args)))
        lines += [ast.dump(node.returns)] if typed and node.returns is not None else []
    if isinstance(node, ast.ClassDef):
        lines += [ast.dump(each) for each in (*node.bases, *node.keywords, *node.decorator_list)]
    # a class may be made of its annotations
    typed = isinstance(node, ast.ClassDef) and bool(node.bases or node.decorator_list)
    doing = _Doing(typed=typed, module=isinstance(node, ast.Module))
    imports: list[str] = []
    for child in node.body:
        made = doing.visit(_copied(child))
        if isinstance(made, (ast.Import, ast.ImportFrom)):
            # in which order modules are imported one after the other is a matter of style
            imports += [ast.dump(each) for each in _single(made)]
            continue
        lines += [*sorted(imports)]
        imports = []
        if made is not None:
            lines.append(ast.dump(made))
    return "\n".join([*lines, *sorted(imports)])


def _single(node: ast.Import | ast.ImportFrom) -> Iterator[ast.stmt]:
    for alias in node.names:
        if isinstance(node, ast.Import):
            yield ast.Import([alias])
        else:
            yield ast.ImportFrom(node.module, [alias], node.level)


def _copied(node: ast.stmt) -> ast.stmt:
    # the tree is read again for its outer functions
    (copy,) = ast.parse(ast.unparse(node)).body or [ast.Pass()]
    return copy


def _without_types(arguments: ast.arguments) -> ast.arguments:
    given = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    given += [each for each in (arguments.vararg, arguments.kwarg) if each is not None]
    for each in given:
        each.annotation = None
    return arguments


def computes_nothing(nodes: Iterable[ast.AST]) -> bool:
    """Whether expressions only make words: they call nothing else, and bind nothing."""
    return not any(
        isinstance(each, ast.NamedExpr | ast.Await | ast.Yield | ast.YieldFrom)
        or (isinstance(each, ast.Call) and _last_name(each) not in _WORDING)
        for node in nodes
        for each in ast.walk(node)
    )


def only_words(node: ast.Expr) -> bool:
    """Whether a statement prints, warns or logs, and nothing is computed for it."""
    call = node.value
    if not isinstance(call, ast.Call) or _last_name(call) not in WORDS:
        return False
    return computes_nothing([*call.args, *call.keywords])


class _Doing(ast.NodeTransformer):
    """Leaves what computes something.

    Args:
        typed: annotations without a value count, too.
        module: of a module, names that say its version go.
    """

    def __init__(self, typed: bool = False, module: bool = False) -> None:
        self._typed, self._module = typed, module

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """A piece by itself."""

    visit_AsyncFunctionDef = visit_ClassDef = visit_FunctionDef  # type: ignore[assignment]

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST | None:
        """Types are not computed with."""
        return None if not node.level and node.module in _TYPES else node

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        """Docstrings and words to the user go."""
        if isinstance(node.value, ast.Constant) or only_words(node):
            return None
        return self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        """That an error is raised counts, not what it says."""
        if isinstance(node.exc, ast.Call) and computes_nothing(
            [*node.exc.args, *node.exc.keywords]
        ):
            return ast.Raise(exc=node.exc.func, cause=None)
        return self.generic_visit(node)

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        """That something is asserted counts, not what it says."""
        return ast.Assert(test=node.test, msg=None)

    def visit_Assign(self, node: ast.Assign) -> ast.AST | None:
        """A version is a name for what is compared here."""
        names = {each.id for each in node.targets if isinstance(each, ast.Name)}
        if self._module and len(names) == len(node.targets) and names <= _VERSIONS:
            return None if isinstance(node.value, ast.Constant) else node
        return self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST | None:
        """A type is not computed with, unless a class is made of it."""
        if self._typed:
            return node
        if node.value is None:
            return None
        self.generic_visit(node)
        return ast.Assign(targets=[node.target], value=node.value, lineno=0)

    def visit_If(self, node: ast.If) -> ast.AST | None:
        """What only a type checker runs goes."""
        if ast.unparse(node.test).rpartition(".")[2] == "TYPE_CHECKING":
            if not node.orelse:
                return None
            node.body = [ast.Pass()]
        return self.generic_visit(node)

    def generic_visit(self, node: ast.AST) -> ast.AST:
        """Blocks that are left empty stay blocks."""
        made = super().generic_visit(node)
        if isinstance(getattr(made, "body", None), list) and not made.body:  # type: ignore[attr-defined]
            made.body = [ast.Pass()]  # type: ignore[attr-defined]
        return made


# -- which statements differ -----------------------------------------------------------------------


def changed_statements(piece: Changed) -> list[tuple[int, int]]:
    """First and last lines of the statements of a piece that the old version has not.

    Of the new version; of a statement that is gone, those of the one that now stands there. None
    where only its head differs (arguments, decorators, bases), or one version has no such piece.
    """
    texts = [path.read_bytes() if path is not None else b"" for path in piece.paths]
    try:
        old, new = (_by_piece(text).get(piece.name, ()) for text in texts)
    except (SyntaxError, ValueError):
        return []
    matcher = difflib.SequenceMatcher(
        None, [code for _, _, code in old], [code for _, _, code in new], autojunk=False
    )
    found = []
    for how, _, _, begin, end in matcher.get_opcodes():
        if how == "delete":
            begin = min(begin, len(new) - 1)
            end = begin + 1
        if how != "equal":
            found += [(first, last) for first, last, _ in new[max(begin, 0) : end]]
    return found


@lru_cache(maxsize=256)
def _by_piece(text: bytes) -> Mapping[str, tuple[tuple[int, int, str], ...]]:
    """Qualified name -> its statements: first line, last line, and what it does by itself."""
    pieces: dict[str, list[tuple[int, int, str]]] = {}

    def visit(body: Iterable[ast.stmt], name: str, above: str) -> None:
        own = pieces.setdefault(name, [])
        for child in body:
            if isinstance(child, (*_FUNCTIONS, ast.ClassDef)):
                inner = f"{above}.{child.name}" if above else child.name
                piece = f"{BODY} {inner}" if isinstance(child, ast.ClassDef) else inner
                visit(child.body, piece, inner)
                continue
            blocks = list(_statements(child))
            last = blocks[0].lineno - 1 if blocks else child.end_lineno or child.lineno
            made = _Doing().visit(ast.parse(ast.unparse(child)).body[0])
            if made is not None:
                own.append((child.lineno, max(last, child.lineno), _head(made)))
            visit(blocks, name, above)

    visit(ast.parse(text).body, MODULE, "")
    return {name: tuple(own) for name, own in pieces.items()}


def _head(node: ast.AST) -> str:
    """What a statement does without the statements inside it."""
    for field in ("body", "handlers", "cases", "orelse", "finalbody"):
        if isinstance(getattr(node, field, None), list):
            setattr(node, field, [])
    return ast.dump(node)
