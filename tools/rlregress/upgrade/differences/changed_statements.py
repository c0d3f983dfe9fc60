"""Finds the statements that differ in a piece of code: some may not run when the code runs.

A statement is compared without the statements inside it, at its place in the blocks around it. Of
parts that a statement evaluates only sometimes (the second operand of ``and``, either branch of a
conditional expression, the inside of a comprehension or a lambda, a default) no line tells whether
they were evaluated: a difference there is *unmeasured*.
"""

from __future__ import annotations

import ast
import copy
import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from rlregress.marks import list_parts_that_run_first
from rlregress.model.code import CODE_CHANGED, ChangedPiece
from rlregress.source import UNREADABLE
from rlregress.upgrade.differences import changed_functions

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@dataclass(frozen=True, kw_only=True)
class Statement:
    """One statement, without those inside it.

    Attributes:
        first, last: lines.
        where: the blocks around the statement.
        code: its syntax tree as text; ``certain``: only what is evaluated whenever it runs.
        shares: whether the statement around it begins on the same line.
        binds: names, and attributes, that it assigns.
        defines: whether it defines a function or a class.
        raises: whether its block only makes an error and raises it.
        acts: whether it changes something else than names of its piece: it calls something whose
            value it does not keep, or sets an attribute or item.
    """

    first: int
    last: int
    where: str
    code: str
    certain: str
    shares: bool = False
    binds: frozenset[str] = frozenset()
    defines: bool = False
    raises: bool = False
    acts: bool = False


@dataclass(frozen=True, kw_only=True)
class StatementDifferences:
    """The statements that differ between two versions of a piece of code.

    Attributes:
        spans: first and last lines, in the new version, of the statements that differ.
        raising: the spans that only raise an error where the old version has no other code.
        unmeasured: number of differences for which executed lines do not show whether they ran.
        binds: names whose value differs, in either version.
        act: whether one of the statements ``acts``, in either version.
    """

    spans: tuple[tuple[int, int], ...] = ()
    raising: tuple[tuple[int, int], ...] = ()
    unmeasured: int = 0
    binds: frozenset[str] = frozenset()
    act: bool = False


def find_differing_statements(piece: ChangedPiece) -> StatementDifferences:
    """Return the differences between the statements of a piece in both versions."""
    texts = [path.read_bytes() if path is not None else b"" for path in piece.paths]
    old, new = (_list_statements(text, piece.name) for text in texts)
    if old == new and piece.how == CODE_CHANGED:
        # a message of it may fail
        old, new = (_list_statements(text, piece.name, spoken=True) for text in texts)
    if old is None or new is None:
        return StatementDifferences(unmeasured=1)
    spans: list[tuple[int, int]] = []
    raising: list[tuple[int, int]] = []
    unmeasured = 0
    differing: list[list[Statement]] = [[], []]
    codes = [[(statement.where, statement.code) for statement in version] for version in (old, new)]
    matcher = difflib.SequenceMatcher(None, codes[0], codes[1], autojunk=False)
    for how, begin, end, first, last in matcher.get_opcodes():
        if how == "equal":
            continue
        gone, come = old[begin:end], new[first:last]
        did = {statement.where for statement in gone if not statement.raises}
        differing[0] += gone
        differing[1] += come
        if how == "delete":
            come = _find_neighbouring_statements(gone, new, first)
            unmeasured += not come
        for number, inner_statement in enumerate(come):
            replaced = gone[number] if len(gone) == len(come) and how == "replace" else None
            same = replaced is not None and (replaced.where, replaced.certain) == (
                inner_statement.where,
                inner_statement.certain,
            )
            if same or inner_statement.shares:
                unmeasured += 1
            else:
                span = inner_statement.first, inner_statement.last
                spans.append(span)
                if inner_statement.raises and inner_statement.where not in did:
                    raising.append(span)
    return StatementDifferences(
        spans=tuple(spans),
        raising=tuple(raising),
        unmeasured=unmeasured,
        binds=_list_names_bound_in_differences(*differing),
        act=any(statement.acts for version in differing for statement in version),
    )


def _list_names_bound_in_differences(
    old: Sequence[Statement], new: Sequence[Statement]
) -> frozenset[str]:
    """Return names that differing statements bind, without functions and classes."""
    bound = {
        name for statement in (*old, *new) for name in statement.binds if not statement.defines
    }
    defined = [
        {n for statement in version if statement.defines for n in statement.binds}
        for version in (old, new)
    ]
    return frozenset(bound | (defined[0] & defined[1]))


def _find_neighbouring_statements(
    removed: Sequence[Statement], new: tuple[Statement, ...], position: int
) -> tuple[Statement, ...]:
    """Return the statement after the removed ones in their block, or else the one before."""
    for number in (position, position - 1):
        if 0 <= number < len(new) and new[number].where == removed[0].where:
            return new[number : number + 1]
    return ()


@lru_cache(maxsize=4096)
def _list_statements(text: bytes, piece: str, spoken: bool = False) -> tuple[Statement, ...] | None:
    """Return the statements of a piece, by its qualified name; None: the text cannot be read.

    Args:
        spoken: messages count, too.
    """
    statements: list[Statement] = []
    try:
        for node in changed_functions.map_pieces_to_definitions(text).get(piece, ()):
            if isinstance(node, ast.Module):
                statements += _list_statements_of_block(node.body, "", 0, spoken)
            else:
                statements.append(_make_statement_of_signature(node))
                statements += _list_statements_of_block(node.body, "", node.lineno, spoken)
    except UNREADABLE:
        return None
    return tuple(statements)


def _list_statements_of_block(
    body: Sequence[ast.stmt], block: str, line: int, spoken: bool
) -> Iterator[Statement]:
    """Yield the statements of a block and of the blocks in it, without those of inner pieces.

    Args:
        block: the blocks around the statements.
        line: of the statement around them.
        spoken: messages count, too.
    """
    # only a block within a function can be a check that ends in an error
    raises = bool(block) and _only_raises(body)
    for child in body:
        if isinstance(child, _DEFINITIONS):
            code = f"define {child.name}"
            yield Statement(
                first=child.lineno, last=child.lineno, where=block, code=code, certain=code,
                binds=frozenset([child.name]), defines=True,
            )  # fmt: skip
            continue
        yield from _list_statement_parts(child, block, line, raises, spoken)
        for label, inside, at, head in changed_functions.list_blocks_of_statement(child):
            where = f"{block}/{label}"
            if head:
                # its line runs whenever it is tested
                yield Statement(
                    first=at, last=at, where=where, code=head, certain=head,
                    raises=_only_raises(inside),
                )  # fmt: skip
            yield from _list_statements_of_block(inside, where, at, spoken)


def _only_raises(body: Sequence[ast.stmt]) -> bool:
    """Return whether a block only makes an error and raises it."""
    return isinstance(body[-1], ast.Raise) and all(
        isinstance(statement, (ast.Raise, ast.Assign, ast.AnnAssign)) for statement in body
    )


def _list_statement_parts(
    node: ast.stmt, block: str, line: int, raises: bool, spoken: bool
) -> Iterator[Statement]:
    bare = changed_functions.copy_without_blocks(node)
    stripped = changed_functions.copy_without_docstring(bare, spoken)
    if stripped is None:
        return
    blocks = changed_functions.list_blocks_of_statement(node)
    after = min(
        (inside[0].lineno for _, inside, *_ in blocks),
        default=(node.end_lineno or node.lineno) + 1,
    )
    yield Statement(
        first=node.lineno,
        last=max(after - 1, node.lineno),
        where=block,
        code=ast.dump(stripped),
        # of the copy, and last: it removes parts of it
        certain=ast.dump(_AlwaysEvaluatedParts().visit(stripped)),
        shares=node.lineno == line,
        binds=frozenset(_list_bound_names(node)),
        raises=raises,
        acts=isinstance(node, (ast.Expr, ast.Delete))
        or any(isinstance(x, (ast.Attribute, ast.Subscript)) for x in _list_targets(node)),
    )


def _make_statement_of_signature(
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef,
) -> Statement:
    """Return a statement that stands for a signature: decorators, arguments or bases."""
    certain = copy.copy(node)
    if not isinstance(certain, ast.ClassDef):
        certain.args = copy.copy(certain.args)
        certain.args.defaults = []
        certain.args.kw_defaults = [None for _ in certain.args.kwonlyargs]
    return Statement(
        first=node.lineno,
        # a function's definition counts with all of its lines
        last=node.end_lineno or node.lineno,
        where="",
        code=changed_functions.dump_signature(node),
        certain=changed_functions.dump_signature(certain),
        binds=frozenset([node.name]),
    )


def _list_bound_names(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        for alias in node.names:
            yield alias.asname or alias.name.partition(".")[0]
        return
    for target in _list_targets(node):
        for child in ast.walk(target):
            if isinstance(child, ast.Name):
                yield child.id
            elif isinstance(child, ast.Attribute):
                yield child.attr


def _list_targets(node: ast.stmt) -> list[ast.expr]:
    targets = getattr(node, "targets", None) or [getattr(node, "target", None)]
    return [target for target in targets if isinstance(target, ast.expr)]


class _AlwaysEvaluatedParts(ast.NodeTransformer):
    """Keeps the expressions of a statement that are evaluated whenever the statement runs."""

    def visit(self, node: ast.AST) -> Any:
        """Keep the first operand, the condition or the first iterable of an expression."""
        if isinstance(node, ast.Lambda):
            # its body runs later or never
            return ast.Constant("lambda")
        if isinstance(node, ast.BoolOp):
            node.values = node.values[:1]
        elif isinstance(node, ast.expr) and (parts := list_parts_that_run_first(node)):
            return self.visit(parts[0])
        return self.generic_visit(node)
