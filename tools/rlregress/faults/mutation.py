"""Single-line faults of a function, by the operators of the mutation literature.

A sign, a factor, a bound, an operand, a comparison, a condition, a swapped argument, a dropped
statement. What tells somebody something and computes nothing is left alone: words, checks of types,
messages of errors.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from rlregress import source
from rlregress.model.fault_results import Mutant

_COMPARISONS = {
    ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"), ast.Gt: (">", ">="), ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="), ast.NotEq: ("!=", "=="), ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"), ast.In: ("in", "not in"), ast.NotIn: ("not in", "in"),
}  # fmt: skip
_ARITHMETIC = {
    ast.Add: ("+", "-"), ast.Sub: ("-", "+"), ast.Mult: ("*", "/"), ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "*"), ast.Mod: ("%", "*"),
}  # fmt: skip
_EXTREMES = {"min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum"}
#: calls and names of statements that compute nothing of a training.
_WORDS = ("warn", "logger", "print", "progress", "verbose", "_log", "isinstance", "deprecat")


@dataclass(frozen=True)
class Edit:
    """Bytes of one line that are replaced.

    Attributes:
        line: from 1.
        start, end: of the bytes in the line.
        operator: of the mutation literature.
    """

    line: int
    start: int
    end: int
    new: str
    operator: str


def faults(file: str, function: str, first: int, last: int, text: str) -> list[Mutant]:
    """All faults of one function, in the order of its lines.

    Args:
        first, last: its lines.
        text: of the whole file.
    """
    nodes = [
        changed_function
        for changed_function in _functions(text)
        if changed_function.end_lineno == last
    ]
    rows = text.encode().split(b"\n")
    known = {
        (edit.line, _changed(rows[edit.line - 1], edit)): edit
        for node in nodes
        if first <= node.lineno <= last
        for edit in _edits(node, rows)
    }
    made = [mutant(file, function, edit, text) for edit in known.values()]
    return sorted((drawn for drawn in made if drawn is not None), key=lambda fault: fault.line)


def _functions(text: str) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return [node for node in ast.walk(ast.parse(text)) if isinstance(node, kinds)]


@lru_cache(maxsize=256)
def edits(text: str) -> tuple[tuple[str, Edit], ...]:
    """Qualified name of a function and what can be changed in it, for all of a file.

    In the order of lines. What is inside two functions belongs to the inner one.
    """
    rows = text.encode().split(b"\n")
    nodes = {(node.name, node.end_lineno): node for node in _functions(text)}
    known: dict[tuple[int, bytes], tuple[str, Edit]] = {}
    for function in source.parse(text).functions:
        node = nodes.get((function.name.rpartition(".")[2], function.last))
        for edit in _edits(node, rows) if node is not None else ():
            known[edit.line, _changed(rows[edit.line - 1], edit)] = function.name, edit
    return tuple(sorted(known.values(), key=lambda item: item[1].line))


def mutant(file: str, function: str, edit: Edit, text: str) -> Mutant | None:
    """The file with one edit; None if that changes nothing, or is no Python."""
    rows = text.encode().split(b"\n")
    row = rows[edit.line - 1]
    changed = _changed(row, edit)
    whole = b"\n".join([*rows[: edit.line - 1], changed, *rows[edit.line :]]).decode()
    if changed == row or not _compiles(whole):
        return None
    old, new = row.decode().strip(), changed.decode().strip()
    return Mutant(
        file=file,
        function=function,
        line=edit.line,
        operator=edit.operator,
        old=old,
        new=new,
        text=whole,
    )


def _changed(row: bytes, edit: Edit) -> bytes:
    return row[: edit.start] + edit.new.encode() + row[edit.end :]


def spread(every: Sequence[Sequence[Mutant]], limit: int) -> list[Mutant]:
    """Up to ``limit`` faults, as many of each function as of every other as far as there are.

    Drawn by a generator of its own: the same functions have the same faults.
    """
    draw = random.Random(0)
    left = [draw.sample(list(of), len(of)) for of in every]
    drawn: list[Mutant] = []
    while any(left) and len(drawn) < limit:
        for of in left:
            if of and len(drawn) < limit:
                drawn.append(of.pop())
    return drawn


def _compiles(text: str) -> bool:
    try:
        compile(text, "<fault>", "exec")
    except (SyntaxError, ValueError):
        return False
    return True


def _edits(function: ast.AST, rows: Sequence[bytes]) -> Iterator[Edit]:
    for statement in getattr(function, "body", []):
        yield from _of(statement, rows)


def _of(node: ast.AST, rows: Sequence[bytes]) -> Iterator[Edit]:
    if _says(node):
        return
    yield from _own(node, rows)
    for name, value in ast.iter_fields(node):
        # a type is not computed with
        if name in ("annotation", "returns", "type_comment", "decorator_list"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not isinstance(child, ast.arguments):
                yield from _of(child, rows)


def _says(node: ast.AST) -> bool:
    """Whether it only tells somebody something, or is a string."""
    if isinstance(node, (ast.Raise, ast.Assert, ast.JoinedStr, ast.Import, ast.ImportFrom)):
        return True
    if isinstance(node, ast.Expr):
        # what is collected as a number is collected to be told
        collected = ".append(" in ast.unparse(node) and ".item()" in ast.unparse(node)
        return isinstance(node.value, ast.Constant) or collected or _named(node.value)
    if isinstance(node, ast.If):
        # a condition on which an error is raised, or something is said
        return all(_says(statement) for statement in node.body) and not node.orelse
    return isinstance(node, ast.Call) and _named(node.func)


def _named(node: ast.AST) -> bool:
    text = ast.unparse(node.func if isinstance(node, ast.Call) else node)
    return any(word in text for word in _WORDS)


def _own(node: ast.AST, rows: Sequence[bytes]) -> Iterator[Edit]:
    if isinstance(node, ast.Compare):
        values = [node.left, *node.comparators]
        for operator, left, right in zip(node.ops, values, values[1:], strict=False):
            yield from _between(left, right, _COMPARISONS[type(operator)], "comparison", rows)
    elif isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
        yield from _between(node.left, node.right, _ARITHMETIC[type(node.op)], "operator", rows)
        yield from _replaced(node, node.left, rows, "operand")
    elif isinstance(node, ast.BoolOp):
        words = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        for left, right in zip(node.values, node.values[1:], strict=False):
            yield from _between(left, right, words, "condition", rows)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.Not):
        sign = "sign" if isinstance(node.op, ast.USub) else "condition"
        yield from _replaced(node, node.operand, rows, sign)
    elif isinstance(node, ast.Constant):
        yield from _constant(node)
    elif isinstance(node, ast.Call):
        yield from _call(node, rows)
    elif isinstance(node, ast.AugAssign | ast.Assign | ast.Expr):
        yield from _dropped(node, rows)


def _one_line(*nodes: ast.AST) -> bool:
    lines = {getattr(node, "lineno", 0) for node in nodes}
    lines |= {getattr(node, "end_lineno", -1) for node in nodes}
    return len(lines) == 1


def _between(
    left: ast.expr, right: ast.expr, words: tuple[str, str], operator: str, rows: Sequence[bytes]
) -> Iterator[Edit]:
    """The word between two operands."""
    if left.end_lineno != right.lineno or left.end_col_offset is None:
        return
    segment = rows[right.lineno - 1][left.end_col_offset : right.col_offset]
    place = segment.find(words[0].encode())
    if place >= 0:
        start = left.end_col_offset + place
        yield Edit(right.lineno, start, start + len(words[0]), words[1], operator)


def _text(node: ast.AST, rows: Sequence[bytes]) -> str:
    row = rows[getattr(node, "lineno", 1) - 1]
    segment = row[getattr(node, "col_offset", 0) : getattr(node, "end_col_offset", 0)]
    return segment.decode()


def _replaced(
    node: ast.expr, other: ast.expr, rows: Sequence[bytes], operator: str
) -> Iterator[Edit]:
    """A part in place of the whole."""
    if _one_line(node, other):
        text = f"({_text(other, rows)})"
        yield Edit(node.lineno, node.col_offset, node.end_col_offset or 0, text, operator)


def _constant(node: ast.Constant) -> Iterator[Edit]:
    value = node.value
    if isinstance(value, bool):
        new = str(not value)
    elif isinstance(value, int):
        new = str(value + 1)
    elif isinstance(value, float):
        new = repr(value * 2 if value else 1.0)
    else:
        return
    yield Edit(node.lineno, node.col_offset, node.end_col_offset or 0, new, "constant")


def _call(node: ast.Call, rows: Sequence[bytes]) -> Iterator[Edit]:
    name = node.func
    last = name.attr if isinstance(name, ast.Attribute) else getattr(name, "id", "")
    if last in _EXTREMES and name.end_col_offset is not None:
        start = name.end_col_offset - len(last)
        line = name.end_lineno or name.lineno
        yield Edit(line, start, name.end_col_offset, _EXTREMES[last], "bound")
    for left, right in zip(node.args, node.args[1:], strict=False):
        starred = isinstance(left, ast.Starred) or isinstance(right, ast.Starred)
        if _one_line(left, right) and not starred:
            row = rows[left.lineno - 1]
            between = row[left.end_col_offset : right.col_offset].decode()
            new = _text(right, rows) + between + _text(left, rows)
            start, end = left.col_offset, right.end_col_offset or 0
            yield Edit(left.lineno, start, end, new, "swapped argument")


def _dropped(node: ast.AugAssign | ast.Assign | ast.Expr, rows: Sequence[bytes]) -> Iterator[Edit]:
    """A statement that is left out; of assignments those that others can see."""
    if not _one_line(node):
        return
    targets = node.targets if isinstance(node, ast.Assign) else []
    kinds = (ast.Attribute, ast.Subscript)
    if isinstance(node, ast.Assign) and not all(isinstance(target, kinds) for target in targets):
        return
    end = node.end_col_offset or 0
    yield Edit(node.lineno, node.col_offset, end, "pass", "dropped statement")
