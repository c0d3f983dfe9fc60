"""Notes the values that some statements of a function read and write while it runs.

A repetition with changed arguments is evidence on the statements that differ between two versions
only if it changes a value that they read or write, or how often they run. Values are looked up
without running any code of the objects, so that the repetition is not disturbed.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import sys
import types
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from rlregress import source
from rlregress.inside import leaves
from rlregress.inside.methods import list_names_and_attributes
from rlregress.marks import list_inner_code_objects

#: the first executions of a statement whose values are noted; later ones are only counted.
_PASSES = 4
#: over how many assignments the origin of a name is followed back.
_STEPS = 2
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_STATEMENTS = (ast.stmt, ast.ExceptHandler)
_MISSING = object()
#: how a value is reached: a name, then attributes (".sigma") and constant keys.
Chain = tuple[Any, ...]
#: (line of a statement, line run next) -> digests of its values each time, and how many times.
Values = dict[tuple[int, int], tuple[list[tuple[str | None, ...]], int]]
#: instead of the line run next: the statement begins and reads values; it ends the function.
_BEGINS, _RETURNS = 0, -1


class Statement(NamedTuple):
    """A statement without inner statements, and the names that it reads and writes.

    Attributes:
        first, last: its lines; 0: the function's signature, which reads the arguments.
    """

    first: int
    last: int
    reads: tuple[Chain, ...]
    writes: tuple[Chain, ...] = ()


def list_statements_at_lines(text: str, first_line: int, rows: Collection[int]) -> list[Statement]:
    """Return the statements of a function that lie on some lines of a source text.

    Args:
        first_line: the function's first line, decorators included.
    """
    function = _find_function(text, first_line)
    if function is None:
        return []
    differing: list[Statement] = []
    if not set(range(first_line, function.body[0].lineno)).isdisjoint(rows):
        named = [arg.arg for arg in ast.walk(function.args) if isinstance(arg, ast.arg)]
        differing.append(Statement(0, 0, tuple((name,) for name in named)))
    for node in ast.walk(function):
        if node is function or not isinstance(node, _STATEMENTS):
            continue
        own = _list_own_expressions(node)
        lines = [n for part in (node, *own) for n in (part.lineno, part.end_lineno or 0)]
        # a block ends where the next statement begins
        last = max([node.lineno, *lines[2:]]) if hasattr(node, "body") else max(lines)
        if set(range(min(lines), last + 1)).isdisjoint(rows):
            continue
        reads = [chain for part in own for chain in _list_always_evaluated_chains(part, ast.Load)]
        writes = [chain for part in own for chain in _list_always_evaluated_chains(part, ast.Store)]
        reads += writes if isinstance(node, ast.AugAssign) else []
        differing.append(Statement(min(lines), last, tuple(reads), tuple(writes)))
    return differing


def find_names_with_origins(text: str, first_line: int, names: set[str]) -> set[str]:
    """Return ``names``, and the names from which a function's assignments compute them."""
    function = _find_function(text, first_line) or ast.Pass()
    assigned = [node for node in ast.walk(function) if isinstance(node, ast.Assign)]
    for _ in range(_STEPS):
        values = [
            node.value
            for node in assigned
            if any(list_names_and_attributes(target) & names for target in node.targets)
        ]
        names = names.union(*map(list_names_and_attributes, values))
    return names


def _find_function(text: str, first: int) -> Any:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, _FUNCTIONS) and source.get_first_line(node) == first:
            return node
    return None


def _list_own_expressions(statement: ast.AST) -> list[Any]:
    """Return the expressions of a statement, without those of statements inside it."""
    expressions: list[Any] = []
    for child in ast.iter_child_nodes(statement):
        if isinstance(child, ast.expr):
            expressions.append(child)
        elif not isinstance(child, _STATEMENTS):
            expressions += _list_own_expressions(child)
    return expressions


def _list_always_evaluated_chains(node: ast.AST, context: type) -> Iterator[Chain]:
    """Yield the chains of names and constant keys that an expression always looks up or sets."""
    chain = _read_attribute_chain(node)
    if isinstance(getattr(node, "ctx", None), context):
        # an item is written into its container
        written = chain or (
            _read_attribute_chain(node.value) if isinstance(node, ast.Subscript) else None
        )
        if written is not None:
            yield written
    if chain is None:
        for child in _list_always_evaluated(node):
            yield from _list_always_evaluated_chains(child, context)


def _list_always_evaluated(node: ast.AST) -> Iterable[ast.AST]:
    """Return the parts of a node that are always evaluated."""
    if isinstance(node, ast.BoolOp):
        return node.values[:1]
    return [node.test] if isinstance(node, ast.IfExp) else ast.iter_child_nodes(node)


def _read_attribute_chain(node: ast.AST) -> Chain | None:
    if isinstance(node, ast.Name):
        return (node.id,)
    if not isinstance(node, (ast.Attribute, ast.Subscript)):
        return None
    base = _read_attribute_chain(node.value)
    if base is None or isinstance(node, ast.Attribute):
        return base and (*base, f".{node.attr}")  # type: ignore[union-attr]
    return (*base, node.slice.value) if isinstance(node.slice, ast.Constant) else None


class ValueTracer:
    """Notes the values that statements of a called function read and write.

    Args:
        code: of the function; functions defined inside it are part of it.

    Attributes:
        values: as they were read and written.
    """

    def __init__(self, code: types.CodeType | None, differing: Sequence[Statement]) -> None:
        self._codes = (
            {code, *list_inner_code_objects(code)} if differing and code is not None else set()
        )
        self._differing = differing
        self._at = {line: number for number, statement in enumerate(differing)
                    for line in range(statement.first, statement.last + 1)}  # fmt: skip
        self._first: dict[int | None, int] = {n: s.first for n, s in enumerate(differing)}
        self.values: Values = {}

    def call_and_note_values(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function; note the values that statements of the traced code read and write."""
        if not self._codes:
            return function(*arguments)
        sys.settrace(self._trace_call)
        try:
            return function(*arguments)
        finally:
            sys.settrace(None)

    def _trace_call(self, frame: Any, event: str, _: Any) -> Any:
        if frame.f_code not in self._codes:
            return None
        if 0 in self._at:
            self._note_values(self._at[0], frame, _BEGINS)
        running: int | None = None

        def note_line(frame: Any, event: str, result: Any) -> Any:
            nonlocal running
            now = self._at.get(frame.f_lineno) if event == "line" else None
            goes_on = now is not None and now == running
            if event == "exception" or (goes_on and frame.f_lineno != self._first[now]):
                return note_line
            if running is not None:
                # the values that it has written are there when the next one begins
                after, returned = (
                    (_RETURNS, [result]) if event == "return" else (frame.f_lineno, [])
                )
                self._note_values(running, frame, after, returned)
            running = now
            if now is not None:
                self._note_values(now, frame, _BEGINS)
            return note_line

        return note_line

    def _note_values(
        self, number: int, frame: Any, after: int, returned: Sequence[Any] = ()
    ) -> None:
        passes, count = self.values.get((number, after), ([], 0))
        self.values[number, after] = passes, count + 1
        if count < _PASSES:
            statement, names = self._differing[number], {**frame.f_globals, **frame.f_locals}
            chains = statement.writes if after else statement.reads
            passes.append(
                tuple(
                    map(
                        _digest_value,
                        [*(_look_up_attribute_chain(c, names) for c in chains), *returned],
                    )
                )
            )


def do_perturbed_values_differ(
    before: Sequence[Values], repeated: Sequence[Values], perturbed: Sequence[Values]
) -> bool:
    """Return whether statements read or wrote other values, or ran another number of times.

    Statements that read no values, only code, need only run.

    Args:
        before, repeated: values of the old and the new version, from two calls with the same
            arguments. A value that differs between the calls is no evidence.
        perturbed: values of both versions with other arguments.
    """
    flat = [
        {(version, *place): noted_values for version, values in enumerate(versions)
         for place, noted_values in values.items()} for versions in (before, repeated, perturbed)
    ]  # fmt: skip
    for place in {*flat[0], *flat[2]}:
        passes, counts = zip(*(values.get(place, ([], 0)) for values in flat), strict=True)
        if counts[0] == counts[1] != counts[2]:
            return True
        for row in zip(*passes, strict=False):
            if any(value == same != changed_ for value, same, changed_ in zip(*row, strict=False)):
                return True
    read = [value for (*_, after), (passes, _) in flat[2].items() if after == _BEGINS
            for values in passes for value in values]  # fmt: skip
    return bool(flat[2]) and all(value is None for value in read)


def _look_up_attribute_chain(chain: Chain, names: dict[str, Any]) -> Any:
    """Return the value that a chain leads to; an object written in C is returned as a whole."""
    value = names.get(chain[0], _MISSING)
    for key in chain[1:]:
        attribute = isinstance(key, str) and key.startswith(".")
        if isinstance(value, types.ModuleType):
            value = vars(value).get(key[1:], _MISSING)
        elif value is _MISSING or leaves.describe_leaf(value) is not None:
            return value
        elif attribute and not leaves.is_tensor_batch(value):
            own = leaves.list_own_attributes(value)
            if key[1:] not in own:
                return _look_up_class_attribute(value, key[1:], own)
            value = own[key[1:]]
        elif not attribute and (isinstance(value, dict) or leaves.is_tensor_batch(value)):
            value = value.get(key, _MISSING)
        else:
            return value
    return value


def _look_up_class_attribute(value: Any, name: str, own: dict[str, Any]) -> Any:
    """Return an attribute of a class; for a method or property, the values that it reads."""
    code = find_code_of_member(type(value), name)
    if code is not None:
        return {n: own[n] for n in sorted(list_names_read(code)) if n in own}
    attribute = inspect.getattr_static(type(value), name, _MISSING)
    return value if callable(attribute) else attribute


def find_code_of_member(kind: type, name: str) -> types.CodeType | None:
    """Return the code of a method or a property of a class; None: it is not written in Python."""
    member = inspect.getattr_static(kind, name, None)
    function = getattr(member, "fget", None) or getattr(member, "__func__", member)
    code = getattr(inspect.unwrap(function) if callable(function) else None, "__code__", None)
    return code if isinstance(code, types.CodeType) else None


def list_names_read(code: types.CodeType) -> set[str]:
    """Return the names of attributes and globals that a code object reads."""
    return {name for inner in (code, *list_inner_code_objects(code)) for name in inner.co_names}


def _digest_value(value: Any) -> str | None:
    """Return a digest of a value; None: the value is code, or could not be looked up."""
    if value is _MISSING or (isinstance(value, types.FunctionType) and not value.__closure__):
        return None
    try:
        described = leaves.list_leaves(value, "")
    except leaves.TooManyLeaves:
        return None
    if all(kind == "code" for kind, _ in described.values()):
        return None
    digest = hashlib.blake2b(digest_size=12)
    for path, (kind, content) in described.items():
        array = isinstance(content, np.ndarray)
        digest.update(f"{path} {kind} {content.shape if array else content}".encode())
        digest.update(np.ascontiguousarray(content).tobytes() if array else b"")
    return digest.hexdigest()
