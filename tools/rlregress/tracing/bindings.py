"""Values that modules and classes are given when they are imported: those of another version.

A constant, such as a bound or an epsilon, stands outside of the functions that read it. A function
whose code is the same does something else where such a value differs.

Runs inside foreign and old environments: standard library only, Python 3.9 syntax.
"""

from __future__ import annotations

import ast
import contextlib
import sys
import types
from typing import Any, Dict, Iterator, List, NamedTuple, Sequence, Set, Tuple

from rlregress.tracing import methods
from rlregress.tracing.methods import Misfit

#: the name of a module's own piece, and how that of a class begins.
MODULE, BODY = "<module>", "<class> "
#: statements at the top of a piece that give names a value; an import gives them a meaning alone.
_STATEMENTS = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.If, ast.Try, ast.For, ast.With)
_ABSENT = object()


class Binding(NamedTuple):
    """A value that something has under a name in another version.

    Attributes:
        owner: a module or a class.
    """

    owner: Any
    name: str
    value: Any


def names(piece: str, texts: Sequence[str]) -> Set[str]:
    """Names whose values differ, as far as the texts say, and those that follow from them.

    Args:
        piece: ``MODULE``, or ``BODY`` and the qualified name of a class.
        texts: of the file, of either version.
    """
    if not piece.startswith((MODULE, BODY)):
        return set()
    bodies = [_body(text, piece) for text in texts]
    by_name = [_by_name(body) for body in bodies]
    # what Python itself reads, such as __all__
    every = {name for of in by_name for name in of if not name.startswith("__")}
    found = {name for name in every if by_name[0].get(name) != by_name[1].get(name)}
    before = -1
    while len(found) != before:
        before = len(found)
        for statement in (each for body in bodies for each in body):
            if _reads(statement) & found:
                found |= _binds(statement)
    return found


def others(module: types.ModuleType, piece: str, texts: Sequence[str]) -> List[Binding]:
    """What a module or a class of it is given in the second text, and is not in the first.

    Raises:
        Misfit: a value cannot be had here.
    """
    wanted = names(piece, texts)
    body = [each for each in _body(texts[1], piece) if _binds(each) & wanted]
    owner: Any = module
    for part in piece[len(BODY) :].split(".") if piece.startswith(BODY) else ():
        owner = getattr(owner, part, None)
    if owner is None:
        raise Misfit(f"there is no {piece[len(BODY) :]} in {module.__name__}")
    made = types.ModuleType(module.__name__)
    vars(made).update(vars(module))
    methods.lend_names(made, ast.parse(texts[1]), {n for each in body for n in _reads(each)})
    own: Dict[str, Any] = vars(made) if owner is module else dict(vars(owner))
    try:
        # statements of the other version, which the user has named
        exec(compile(ast.Module(body, []), "<bound>", "exec"), vars(made), own)  # noqa: S102
    except Exception as why:  # whatever they are made of
        raise Misfit(f"the other values of {piece} cannot be had: {why}") from None
    bound = {n for each in body for n in _binds(each)} & wanted
    return [
        Binding(holder, name, own[name])
        for name in sorted(bound)
        if name in own
        for now in (vars(owner).get(name, _ABSENT),)
        if not _is_same(now, own[name])
        for holder in (owner, *(_importers(module, name, now) if owner is module else ()))
    ]


def put(bindings: Sequence[Binding]) -> None:
    """Give everything its other value."""
    for owner, name, value in bindings:
        setattr(owner, name, value)


@contextlib.contextmanager
def meanwhile(bindings: Sequence[Binding]) -> Iterator[None]:
    """Give everything its other value, and its own one in the end."""
    before = [(each.owner, each.name, vars(each.owner).get(each.name, _ABSENT))
              for each in bindings]  # fmt: skip
    put(bindings)
    try:
        yield
    finally:
        for owner, name, value in before:
            if value is _ABSENT:
                delattr(owner, name)
            else:
                setattr(owner, name, value)


def _importers(module: types.ModuleType, name: str, now: Any) -> Iterator[types.ModuleType]:
    """Other modules of the package that have imported a value by its name."""
    package = module.__name__.partition(".")[0]
    for each in list(sys.modules.values()):
        own = getattr(each, "__dict__", {})
        holds = each is not module and now is not _ABSENT and own.get(name, _ABSENT) is now
        if holds and str(own.get("__name__")).partition(".")[0] == package:
            yield each


def _is_same(one: Any, other: Any) -> bool:
    kinds = (bool, int, float, complex, str, bytes, type(None))
    if isinstance(one, (tuple, list)) and type(one) is type(other) and len(one) == len(other):
        return all(map(_is_same, one, other))
    if isinstance(one, dict) and type(one) is type(other) and list(one) == list(other):
        return all(_is_same(one[key], other[key]) for key in one)
    return one is other or (type(one) is type(other) and isinstance(one, kinds) and one == other)


def _body(text: str, piece: str) -> List[ast.stmt]:
    """The statements at the top of a piece that may give names a value."""
    body: List[ast.stmt] = ast.parse(text).body
    for part in piece[len(BODY) :].split(".") if piece.startswith(BODY) else ():
        kinds = [each for each in body if isinstance(each, ast.ClassDef) and each.name == part]
        body = kinds[-1].body if kinds else []
    return [each for each in body if isinstance(each, _STATEMENTS)]


def _by_name(body: Sequence[ast.stmt]) -> Dict[str, List[str]]:
    """Name -> the statements that give it a value."""
    found: Dict[str, List[str]] = {}
    for statement in body:
        for name in _binds(statement):
            found.setdefault(name, []).append(_words(statement))
    return found


def _words(statement: ast.stmt) -> str:
    """What it does: no annotation gives a name a value."""
    if isinstance(statement, ast.AnnAssign):
        return f"{ast.dump(statement.target)} {statement.value and ast.dump(statement.value)}"
    return ast.dump(statement)


def _binds(statement: ast.stmt) -> Set[str]:
    if isinstance(statement, ast.AnnAssign) and statement.value is None:
        return set()
    return {each.id for each in _own(statement)
            if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}  # fmt: skip


def _reads(statement: ast.stmt) -> Set[str]:
    return {each.id for each in ast.walk(statement)
            if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load)}  # fmt: skip


def _own(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a statement, but those of functions, classes and comprehensions in it."""
    yield node
    apart: Tuple[Any, ...] = (
        ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda,
        ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp,
    )  # fmt: skip
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, apart):
            yield from _own(child)
