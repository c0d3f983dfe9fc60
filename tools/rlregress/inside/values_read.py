"""What some statements of a function read while it runs: did changed arguments reach them?

A repetition with changed arguments is evidence on the statements that differ between two versions
only if it changes a value that they read or write, or how often they run. Values are looked up
without running any code of the objects, so that a repetition does what it would do unobserved.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import sys
import types
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import (
    Any,
    NamedTuple,
)

import numpy as np

from rlregress import source
from rlregress.inside import leaves, swap

#: passes of one statement whose values are noted; of others, that there are some.
_PASSES = 4
#: how often names are followed back through assignments.
_STEPS = 2
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_STATEMENTS = (ast.stmt, ast.ExceptHandler)
_MISSING = object()
#: a name, then attributes (".sigma") and constant keys that are looked up from there.
Chain = tuple[Any, ...]
#: (statement, line after it) -> digests of the values in its passes, and how many there were.
Values = dict[tuple[int, int], tuple[list[tuple[str | None, ...]], int]]
#: in place of the line after a statement: what it reads when it begins; it ends the function.
_BEGINS, _RETURNS = 0, -1


class Statement(NamedTuple):
    """A statement without those inside it, and what it reads and writes.

    Attributes:
        first, last: its lines; 0: the head of the function, which reads the arguments.
    """

    first: int
    last: int
    reads: tuple[Chain, ...]
    writes: tuple[Chain, ...] = ()


def statements(text: str, first: int, rows: Collection[int]) -> list[Statement]:
    """Return the statements of a function that stand in some rows of a source text.

    Args:
        first: its first line, decorators included.
    """
    function = _function(text, first)
    if function is None:
        return []
    found: list[Statement] = []
    if not set(range(first, function.body[0].lineno)).isdisjoint(rows):
        named = [arg.arg for arg in ast.walk(function.args) if isinstance(arg, ast.arg)]
        found.append(Statement(0, 0, tuple((name,) for name in named)))
    for node in ast.walk(function):
        if node is function or not isinstance(node, _STATEMENTS):
            continue
        own = _own(node)
        lines = [n for part in (node, *own) for n in (part.lineno, part.end_lineno or 0)]
        # a block ends where the next statement begins
        last = max([node.lineno, *lines[2:]]) if hasattr(node, "body") else max(lines)
        if set(range(min(lines), last + 1)).isdisjoint(rows):
            continue
        reads = [chain for part in own for chain in _chains(part, ast.Load)]
        writes = [chain for part in own for chain in _chains(part, ast.Store)]
        reads += writes if isinstance(node, ast.AugAssign) else []
        found.append(Statement(min(lines), last, tuple(reads), tuple(writes)))
    return found


def names_behind(text: str, first: int, names: set[str]) -> set[str]:
    """Return names, and those that assignments of a function compute them from."""
    function = _function(text, first) or ast.Pass()
    assigned = [node for node in ast.walk(function) if isinstance(node, ast.Assign)]
    for _ in range(_STEPS):
        values = [node.value for node in assigned
                  if any(_names(target) & names for target in node.targets)]  # fmt: skip
        names = names.union(*map(_names, values))
    return names


def _names(node: ast.AST) -> set[str]:
    return {
        part.id if isinstance(part, ast.Name) else part.attr
        for part in ast.walk(node)
        if isinstance(part, (ast.Name, ast.Attribute))
    }


def _function(text: str, first: int) -> Any:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, _FUNCTIONS) and source.first_line(node) == first:
            return node
    return None


def _own(statement: ast.AST) -> list[Any]:
    """The expressions of a statement, without those of the statements inside it."""
    found: list[Any] = []
    for child in ast.iter_child_nodes(statement):
        if isinstance(child, ast.expr):
            found.append(child)
        elif not isinstance(child, _STATEMENTS):
            found += _own(child)
    return found


def _chains(node: ast.AST, context: type) -> Iterator[Chain]:
    """What an expression looks up or sets, as far as names and constant keys lead."""
    chain = _chain(node)
    if isinstance(getattr(node, "ctx", None), context):
        # an item is written into what holds it
        held = chain or (_chain(node.value) if isinstance(node, ast.Subscript) else None)
        if held is not None:
            yield held
    if chain is None:
        for child in _certain(node):
            yield from _chains(child, context)


def _certain(node: ast.AST) -> Iterable[ast.AST]:
    """The parts that are always evaluated: what comes of others, is written or changes the path."""
    if isinstance(node, ast.BoolOp):
        return node.values[:1]
    return [node.test] if isinstance(node, ast.IfExp) else ast.iter_child_nodes(node)


def _chain(node: ast.AST) -> Chain | None:
    if isinstance(node, ast.Name):
        return (node.id,)
    if not isinstance(node, (ast.Attribute, ast.Subscript)):
        return None
    base = _chain(node.value)
    if base is None or isinstance(node, ast.Attribute):
        return base and (*base, f".{node.attr}")  # type: ignore[union-attr]
    return (*base, node.slice.value) if isinstance(node.slice, ast.Constant) else None


class Watch:
    """Notes the values of statements of a function that is called.

    Args:
        code: of the function; what is defined inside it is part of it.

    Attributes:
        values: what was noted.
    """

    def __init__(self, code: types.CodeType | None, differing: Sequence[Statement]) -> None:
        self._codes = {code, *swap.inside(code)} if differing and code is not None else set()
        self._differing = differing
        self._at = {line: number for number, statement in enumerate(differing)
                    for line in range(statement.first, statement.last + 1)}  # fmt: skip
        self._first: dict[int | None, int] = {n: one.first for n, one in enumerate(differing)}
        self.values: Values = {}

    def run(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call something that calls the function."""

        def traced() -> Any:
            sys.settrace(self._call)
            try:
                return function(*arguments)
            finally:
                sys.settrace(None)

        # calls are captured within a trace function, where nothing else is traced
        return sys.call_tracing(traced, ()) if self._codes else function(*arguments)

    def _call(self, frame: Any, event: str, _: Any) -> Any:
        if frame.f_code not in self._codes:
            return None
        if 0 in self._at:
            self._note(self._at[0], frame, _BEGINS)
        running: int | None = None

        def line(frame: Any, event: str, result: Any) -> Any:
            nonlocal running
            now = self._at.get(frame.f_lineno) if event == "line" else None
            goes_on = now is not None and now == running
            if event == "exception" or (goes_on and frame.f_lineno != self._first[now]):
                return line
            if running is not None:
                # what it has written is there when the next one begins
                after, returned = (
                    (_RETURNS, [result]) if event == "return" else (frame.f_lineno, [])
                )
                self._note(running, frame, after, returned)
            running = now
            if now is not None:
                self._note(now, frame, _BEGINS)
            return line

        return line

    def _note(self, number: int, frame: Any, after: int, more: Sequence[Any] = ()) -> None:
        passes, count = self.values.get((number, after), ([], 0))
        self.values[number, after] = passes, count + 1
        if count < _PASSES:
            statement, names = self._differing[number], {**frame.f_globals, **frame.f_locals}
            chains = statement.writes if after else statement.reads
            passes.append(tuple(map(_digest, [*(_find(c, names) for c in chains), *more])))


def changed(before: Sequence[Values], again: Sequence[Values], others: Sequence[Values]) -> bool:
    """Return whether statements read or wrote other values, or ran more or less often.

    Those that read nothing but code need only run.

    Args:
        before, again: of the old and the new version with the same arguments, twice: what differs
            between them is no evidence.
        others: the same with other arguments.
    """
    flat = [
        {(version, *place): noted for version, values in enumerate(of)
         for place, noted in values.items()} for of in (before, again, others)
    ]  # fmt: skip
    for place in {*flat[0], *flat[2]}:
        (passes, count), (second, times), (third, now) = (
            values.get(place, ([], 0)) for values in flat
        )
        if count == times != now:
            return True
        for row in zip(passes, second, third, strict=False):
            if any(one == same != other for one, same, other in zip(*row, strict=False)):
                return True
    read = [value for (*_, after), (passes, _) in flat[2].items() if after == _BEGINS
            for values in passes for value in values]  # fmt: skip
    return bool(flat[2]) and all(value is None for value in read)


def _find(chain: Chain, names: dict[str, Any]) -> Any:
    """What a chain leads to; of what is written in C, the whole of it."""
    value = names.get(chain[0], _MISSING)
    for key in chain[1:]:
        attribute = isinstance(key, str) and key.startswith(".")
        if isinstance(value, types.ModuleType):
            value = vars(value).get(key[1:], _MISSING)
        elif value is _MISSING or leaves.leaf(value) is not None:
            return value
        elif attribute and not leaves.is_batch(value):
            own = leaves.attributes(value)
            if key[1:] not in own:
                return _of_class(value, key[1:], own)
            value = own[key[1:]]
        elif not attribute and (isinstance(value, dict) or leaves.is_batch(value)):
            value = value.get(key, _MISSING)
        else:
            return value
    return value


def _of_class(value: Any, name: str, own: dict[str, Any]) -> Any:
    """What an object has from its class; a method or a property is what it reads of the object."""
    code = code_of(type(value), name)
    if code is not None:
        return {n: own[n] for n in sorted(names_read(code)) if n in own}
    found = inspect.getattr_static(type(value), name, _MISSING)
    return value if callable(found) else found


def code_of(kind: type, name: str) -> types.CodeType | None:
    """Return the code of a method or a property of a class; None: it is none of Python."""
    found = inspect.getattr_static(kind, name, None)
    function = getattr(found, "fget", None) or getattr(found, "__func__", found)
    code = getattr(inspect.unwrap(function) if callable(function) else None, "__code__", None)
    return code if isinstance(code, types.CodeType) else None


def names_read(code: types.CodeType) -> set[str]:
    """Return the names of attributes and globals that a code object reads."""
    return {name for inner in (code, *swap.inside(code)) for name in inner.co_names}


def _digest(value: Any) -> str | None:
    """What tells a value from others; None: it is code, or cannot be looked up."""
    if value is _MISSING or (isinstance(value, types.FunctionType) and not value.__closure__):
        return None
    try:
        found = leaves.described(value, "")
    except leaves.TooMany:
        return None
    if all(kind == "code" for kind, _ in found.values()):
        return None
    made = hashlib.blake2b(digest_size=12)
    for path, (kind, content) in found.items():
        array = isinstance(content, np.ndarray)
        made.update(f"{path} {kind} {content.shape if array else content}".encode())
        made.update(np.ascontiguousarray(content).tobytes() if array else b"")
    return made.hexdigest()
