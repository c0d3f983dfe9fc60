"""Generates mutants: changes of one line of a function, by the operators of mutation testing.

They change a sign, a factor, a bound, an operand, a comparison or a condition, swap two arguments,
or drop a statement. Code that computes nothing has no mutants: texts, checks of types, errors.
"""

from __future__ import annotations

import ast
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
#: parts of the names of calls that compute nothing of a training
_REPORTING_NAMES = (
    "warn", "logger", "print", "progress", "verbose", "_log", "isinstance", "deprecat",
)  # fmt: skip


@dataclass(frozen=True)
class Edit:
    """A mutation: it replaces some bytes of one line.

    Attributes:
        line: from 1.
        start, end: positions of the bytes in the line.
        new: their replacement.
        operator: the kind of change.
    """

    line: int
    start: int
    end: int
    new: str
    operator: str


def _list_functions(source: str) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return [node for node in ast.walk(ast.parse(source)) if isinstance(node, kinds)]


@lru_cache(maxsize=256)
def list_edits_of_file(content: str) -> tuple[tuple[str, Edit], ...]:
    """Return all mutations of a file by line, each with the qualified name of its function.

    An edit in a nested function belongs to the inner one.
    """
    rows = content.encode().split(b"\n")
    nodes = {(node.name, node.end_lineno): node for node in _list_functions(content)}
    edits_by_result: dict[tuple[int, bytes], tuple[str, Edit]] = {}
    for function in source.parse_source(content).functions:
        node = nodes.get((function.name.rpartition(".")[2], function.last))
        for edit in _list_edits_of_function(node, rows) if node is not None else ():
            result = edit.line, _apply_edit_to_line(rows[edit.line - 1], edit)
            edits_by_result[result] = function.name, edit
    return tuple(sorted(edits_by_result.values(), key=lambda item: item[1].line))


def build_mutant(file: str, function: str, edit: Edit, source: str) -> Mutant | None:
    """Return the mutant of one edit; None if the edit changes nothing or the file fails to parse.

    Args:
        source: the text of the whole file.
    """
    rows = source.encode().split(b"\n")
    row = rows[edit.line - 1]
    changed = _apply_edit_to_line(row, edit)
    new_text = b"\n".join([*rows[: edit.line - 1], changed, *rows[edit.line :]]).decode()
    if changed == row or not _does_source_compile(new_text):
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


def _apply_edit_to_line(line: bytes, edit: Edit) -> bytes:
    return line[: edit.start] + edit.new.encode() + line[edit.end :]


def _does_source_compile(source: str) -> bool:
    try:
        compile(source, "<mutant>", "exec")
    except (SyntaxError, ValueError):
        return False
    return True


def _list_edits_of_function(function: ast.AST, rows: Sequence[bytes]) -> Iterator[Edit]:
    for statement in getattr(function, "body", []):
        yield from _list_edits_below(statement, rows)


def _list_edits_below(node: ast.AST, rows: Sequence[bytes]) -> Iterator[Edit]:
    if _is_report(node):
        return
    yield from _list_edits_of_node(node, rows)
    for name, value in ast.iter_fields(node):
        # not in annotations, which compute nothing
        if name in ("annotation", "returns", "type_comment", "decorator_list"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not isinstance(child, ast.arguments):
                yield from _list_edits_below(child, rows)


def _is_report(node: ast.AST) -> bool:
    """Return whether code only reports or checks something, or is text: it has no mutants."""
    if isinstance(node, (ast.Raise, ast.Assert, ast.JoinedStr, ast.Import, ast.ImportFrom)):
        return True
    if isinstance(node, ast.Expr):
        # numbers that a training collects this way go to its log
        text = ast.unparse(node)
        is_logged = ".append(" in text and ".item()" in text
        return isinstance(node.value, ast.Constant) or is_logged or _is_reporting_call(node.value)
    if isinstance(node, ast.If):
        # an "if" that only raises or reports is a check of arguments
        return all(_is_report(statement) for statement in node.body) and not node.orelse
    return isinstance(node, ast.Call) and _is_reporting_call(node.func)


def _is_reporting_call(node: ast.AST) -> bool:
    text = ast.unparse(node.func if isinstance(node, ast.Call) else node)
    return any(name in text for name in _REPORTING_NAMES)


def _list_edits_of_node(node: ast.AST, rows: Sequence[bytes]) -> Iterator[Edit]:
    if isinstance(node, ast.Compare):
        values = [node.left, *node.comparators]
        for operator, operand, next_operand in zip(node.ops, values, values[1:], strict=False):
            yield from _list_edits_of_operator(
                operand, next_operand, _COMPARISONS[type(operator)], "comparison", rows
            )
    elif isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
        symbols = _ARITHMETIC[type(node.op)]
        yield from _list_edits_of_operator(node.left, node.right, symbols, "operator", rows)
        yield from _list_edits_replacing_by_operand(node, node.left, rows, "operand")
    elif isinstance(node, ast.BoolOp):
        words = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        for operand, next_operand in zip(node.values, node.values[1:], strict=False):
            yield from _list_edits_of_operator(operand, next_operand, words, "condition", rows)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.Not):
        sign = "sign" if isinstance(node.op, ast.USub) else "condition"
        yield from _list_edits_replacing_by_operand(node, node.operand, rows, sign)
    elif isinstance(node, ast.Constant):
        yield from _list_edits_of_constant(node)
    elif isinstance(node, ast.Call):
        yield from _list_edits_of_call(node, rows)
    elif isinstance(node, ast.AugAssign | ast.Assign | ast.Expr):
        yield from _list_edits_dropping_statement(node)


def _are_on_one_line(*nodes: ast.AST) -> bool:
    lines = {getattr(node, "lineno", 0) for node in nodes}
    lines |= {getattr(node, "end_lineno", -1) for node in nodes}
    return len(lines) == 1


def _list_edits_of_operator(
    first: ast.expr, second: ast.expr, words: tuple[str, str], operator: str, rows: Sequence[bytes]
) -> Iterator[Edit]:
    """Yield the edit that replaces the word or symbol between two operands."""
    if first.end_lineno != second.lineno or first.end_col_offset is None:
        return
    segment = rows[second.lineno - 1][first.end_col_offset : second.col_offset]
    place = segment.find(words[0].encode())
    if place >= 0:
        start = first.end_col_offset + place
        yield Edit(second.lineno, start, start + len(words[0]), words[1], operator)


def _get_source_of_node(node: ast.AST, rows: Sequence[bytes]) -> str:
    row = rows[getattr(node, "lineno", 1) - 1]
    segment = row[getattr(node, "col_offset", 0) : getattr(node, "end_col_offset", 0)]
    return segment.decode()


def _list_edits_replacing_by_operand(
    node: ast.expr, operand: ast.expr, rows: Sequence[bytes], operator: str
) -> Iterator[Edit]:
    """Yield the edit that replaces an expression by one of its operands."""
    if _are_on_one_line(node, operand):
        text = f"({_get_source_of_node(operand, rows)})"
        yield Edit(node.lineno, node.col_offset, node.end_col_offset or 0, text, operator)


def _list_edits_of_constant(node: ast.Constant) -> Iterator[Edit]:
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


def _list_edits_of_call(node: ast.Call, rows: Sequence[bytes]) -> Iterator[Edit]:
    """Yield edits that exchange minimum and maximum, or two arguments that follow each other."""
    name = node.func
    last = name.attr if isinstance(name, ast.Attribute) else getattr(name, "id", "")
    if last in _EXTREMES and name.end_col_offset is not None:
        start = name.end_col_offset - len(last)
        line = name.end_lineno or name.lineno
        yield Edit(line, start, name.end_col_offset, _EXTREMES[last], "bound")
    for argument, next_argument in zip(node.args, node.args[1:], strict=False):
        starred = isinstance(argument, ast.Starred) or isinstance(next_argument, ast.Starred)
        if _are_on_one_line(argument, next_argument) and not starred:
            row = rows[argument.lineno - 1]
            separator = row[argument.end_col_offset : next_argument.col_offset].decode()
            new = (
                _get_source_of_node(next_argument, rows)
                + separator
                + _get_source_of_node(argument, rows)
            )
            start, end = argument.col_offset, next_argument.end_col_offset or 0
            yield Edit(argument.lineno, start, end, new, "swapped argument")


def _list_edits_dropping_statement(node: ast.AugAssign | ast.Assign | ast.Expr) -> Iterator[Edit]:
    """Yield the edit that drops a statement; none for an assignment to a local variable."""
    if not _are_on_one_line(node):
        return
    kinds = (ast.Attribute, ast.Subscript)
    if isinstance(node, ast.Assign) and not all(isinstance(item, kinds) for item in node.targets):
        return
    end = node.end_col_offset or 0
    yield Edit(node.lineno, node.col_offset, end, "pass", "dropped statement")
