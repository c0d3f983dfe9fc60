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
    edits_by_place = {
        (edit.line, _changed(rows[edit.line - 1], edit)): edit
        for node in nodes
        if first <= node.lineno <= last
        for edit in _edits(node, rows)
    }
    mutants = [mutant(file, function, edit, text) for edit in edits_by_place.values()]
    return sorted(
        (mutants_drawn for mutants_drawn in mutants if mutants_drawn is not None),
        key=lambda fault: fault.line,
    )


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
    edits_by_place: dict[tuple[int, bytes], tuple[str, Edit]] = {}
    for function in source.parse(text).functions:
        node = nodes.get((function.name.rpartition(".")[2], function.last))
        for edit in _edits(node, rows) if node is not None else ():
            edits_by_place[edit.line, _changed(rows[edit.line - 1], edit)] = function.name, edit
    return tuple(sorted(edits_by_place.values(), key=lambda item: item[1].line))


def mutant(file: str, function: str, edit: Edit, text: str) -> Mutant | None:
    """The file with one edit; None if that changes nothing, or is no Python."""
    rows = text.encode().split(b"\n")
    row = rows[edit.line - 1]
    changed = _changed(row, edit)
    new_text = b"\n".join([*rows[: edit.line - 1], changed, *rows[edit.line :]]).decode()
    if changed == row or not _compiles(new_text):
        return None
    old, new = row.decode().strip(), changed.decode().strip()
    return Mutant(
        file=file,
        function=function,
        line=edit.line,
        operator=edit.operator,
        old=old,
        new=new,
        text=new_text,
    )


def _changed(row: bytes, edit: Edit) -> bytes:
    return row[: edit.start] + edit.new.encode() + row[edit.end :]


def spread(mutants_by_function: Sequence[Sequence[Mutant]], limit: int) -> list[Mutant]:
    """Up to ``limit`` faults, as many of each function as of every other as far as there are.

    Drawn by a generator of its own: the same functions have the same faults.
    """
    draw = random.Random(0)
    remaining = [
        draw.sample(list(function_mutants), len(function_mutants))
        for function_mutants in mutants_by_function
    ]
    mutants_drawn: list[Mutant] = []
    while any(remaining) and len(mutants_drawn) < limit:
        for function_mutants in remaining:
            if function_mutants and len(mutants_drawn) < limit:
                mutants_drawn.append(function_mutants.pop())
    return mutants_drawn


def _compiles(text: str) -> bool:
    try:
        compile(text, "<fault>", "exec")
    except (SyntaxError, ValueError):
        return False
    return True


def _edits(function: ast.AST, rows: Sequence[bytes]) -> Iterator[Edit]:
    for statement in getattr(function, "body", []):
        yield from _mutants_of_node(statement, rows)


def _mutants_of_node(node: ast.AST, rows: Sequence[bytes]) -> Iterator[Edit]:
    if _says(node):
        return
    yield from _own(node, rows)
    for name, value in ast.iter_fields(node):
        # a type is not computed with
        if name in ("annotation", "returns", "type_comment", "decorator_list"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not isinstance(child, ast.arguments):
                yield from _mutants_of_node(child, rows)


def _says(node: ast.AST) -> bool:
    """Return whether a statement only reports something or is a string."""
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
        for operator, operand, next_operand in zip(node.ops, values, values[1:], strict=False):
            yield from _between(
                operand, next_operand, _COMPARISONS[type(operator)], "comparison", rows
            )
    elif isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
        yield from _between(node.left, node.right, _ARITHMETIC[type(node.op)], "operator", rows)
        yield from _replaced(node, node.left, rows, "operand")
    elif isinstance(node, ast.BoolOp):
        words = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        for operand, next_operand in zip(node.values, node.values[1:], strict=False):
            yield from _between(operand, next_operand, words, "condition", rows)
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
    first: ast.expr, second: ast.expr, words: tuple[str, str], operator: str, rows: Sequence[bytes]
) -> Iterator[Edit]:
    """The word between two operands."""
    if first.end_lineno != second.lineno or first.end_col_offset is None:
        return
    segment = rows[second.lineno - 1][first.end_col_offset : second.col_offset]
    place = segment.find(words[0].encode())
    if place >= 0:
        start = first.end_col_offset + place
        yield Edit(second.lineno, start, start + len(words[0]), words[1], operator)


def _text(node: ast.AST, rows: Sequence[bytes]) -> str:
    row = rows[getattr(node, "lineno", 1) - 1]
    segment = row[getattr(node, "col_offset", 0) : getattr(node, "end_col_offset", 0)]
    return segment.decode()


def _replaced(
    node: ast.expr, part: ast.expr, rows: Sequence[bytes], operator: str
) -> Iterator[Edit]:
    """A part in place of the whole."""
    if _one_line(node, part):
        text = f"({_text(part, rows)})"
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
    for argument, next_argument in zip(node.args, node.args[1:], strict=False):
        starred = isinstance(argument, ast.Starred) or isinstance(next_argument, ast.Starred)
        if _one_line(argument, next_argument) and not starred:
            row = rows[argument.lineno - 1]
            between = row[argument.end_col_offset : next_argument.col_offset].decode()
            new = _text(next_argument, rows) + between + _text(argument, rows)
            start, end = argument.col_offset, next_argument.end_col_offset or 0
            yield Edit(argument.lineno, start, end, new, "swapped argument")


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
