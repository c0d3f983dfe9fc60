"""Backward slices of a script: the statements that a quantity depends on, run on inputs of a probe.

From the statement of the quantity upwards, only those statements are kept that bind or change a
name that is still needed. They are compiled and run with variables of the probe. Conditions around
the statement are not evaluated: the slice runs its branch, and records them as guards.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from rlregress import marks
from rlregress.frameworks.cleanrl import statement_names
from rlregress.frameworks.cleanrl.script import (
    DEFINITIONS,
    Anchor,
    Block,
    Script,
    SliceFailed,
    SliceUnbound,
)

#: packages that a slice may import.
_IMPORTED = {
    "collections", "copy", "dataclasses", "functools", "gymnasium", "itertools", "math", "numpy",
    "os", "random", "time", "torch", "typing",
}  # fmt: skip
#: of these, what must never be imported or is not installed everywhere.
_NOT_IMPORTED = ("torch.utils.tensorboard",)


class SliceResult(Mapping[str, Any]):
    """Values of a script's variables by name, after some of its statements ran.

    Attributes:
        guards: conditions around the quantity that were not evaluated, from the inside out; with
            "not" for an ``else``.
        lines: first and last line of every statement that ran.
        place: where the quantity comes from.
    """

    def __init__(
        self,
        place: Anchor,
        namespace: dict[str, Any],
        guards: Sequence[str],
        lines: Sequence[tuple[int, int]],
    ) -> None:
        self.place = place
        self.guards = tuple(guards)
        self.lines = tuple(lines)
        self._namespace = namespace

    def __getitem__(self, name: str) -> Any:
        return self.get_first_bound(name)

    def __contains__(self, name: object) -> bool:
        return name in self._namespace

    def __iter__(self) -> Iterator[str]:
        return iter(self._namespace)

    def __len__(self) -> int:
        return len(self._namespace)

    def get_first_bound(self, *candidates: str) -> Any:
        """Return the value of the first of ``candidates`` that is bound."""
        for name in candidates:
            if name in self._namespace:
                return self._namespace[name]
        raise self.place.script.make_anchor_lost_error(self.place.quantity, *candidates)

    def get_number(self, *candidates: str) -> float:
        """Return the first bound value of ``candidates``, of one element, as a float."""
        return float(self.get_vector(*candidates).reshape(()))

    def get_vector(self, *candidates: str) -> np.ndarray:
        """Return the first bound value of ``candidates`` as a copied float64 array."""
        value = self.get_first_bound(*candidates)
        if hasattr(value, "detach"):
            value = value.detach().cpu().numpy()
        return np.array(value, dtype=np.float64)


def run_slice_up_to_anchor(
    place: Anchor, variables: Mapping[str, Any], used: Sequence[str] = ()
) -> SliceResult:
    """Run the statement of an anchor and those before it that it needs; return the variables.

    Args:
        place: from ``Script.find_statement_binding`` or ``Script.find_statement_of_shape``.
        variables: names that the statements find bound; nothing that would bind these is run.
        used: those of the variables that replace an object which the script would make itself.

    Raises:
        AnchorLost: the statements do not read a name in ``used``: the script has another name for
            that object, and would use its own.
        SliceUnbound: a name is needed that is neither in ``variables`` nor bound above the anchor.
        SliceFailed: a statement raised an error.
    """
    reads = _prepare_slice(place, frozenset(variables), runs_place=True).reads
    for name in used:
        if name not in reads:
            raise place.script.make_anchor_lost_error(place.quantity, name)
    return _run_slice(place, variables, runs_place=True)


def run_slice_before_anchor(place: Anchor, variables: Mapping[str, Any]) -> dict[str, Any]:
    """Run the statements that an anchor needs, without its own; return name -> value.

    For a statement that is run several times on the same objects:
    ``bound = run_slice_before_anchor(place, variables)``, then
    ``run_slice_up_to_anchor(place, {**bound, "global_step": 1})`` and so on.
    """
    sliced = _run_slice(place, variables, runs_place=False)
    return {name: sliced[name] for name in sliced if not name.startswith("__")}


def _run_slice(place: Anchor, variables: Mapping[str, Any], runs_place: bool) -> SliceResult:
    script, is_known = place.script, place.script.known
    prepared = _prepare_slice(place, frozenset(variables), runs_place)
    if prepared.missing:
        raise SliceUnbound(
            f"{script}: {place.quantity}: line {place.line} needs "
            f"{', '.join(sorted(prepared.missing))}, which nothing before it binds",
            is_known,
        )
    namespace: dict[str, Any] = {"__name__": "__probe__", "__file__": str(script.path)}
    namespace.update(variables)
    try:
        exec(prepared.code, namespace)  # noqa: S102
    except Exception as error:
        kind = SliceUnbound if isinstance(error, NameError) else SliceFailed
        raise kind(
            f"{script}: {place.quantity}: {type(error).__name__} at line "
            f"{_find_line_of_error(error, script)}: {error}",
            is_known,
        ) from error
    return SliceResult(place, namespace, prepared.guards, prepared.lines)


class _Prepared(NamedTuple):
    code: Any
    guards: Sequence[str]
    lines: Sequence[tuple[int, int]]
    missing: set[str]
    reads: frozenset[str]


def _prepare_slice(place: Anchor, variables: frozenset[str], runs_place: bool) -> _Prepared:
    """Return the compiled slice, cached with the script, as probes run the same one in loops."""
    slices = place.script.slices
    key = (place.statement, variables, runs_place)
    if key not in slices:
        last = [place.statement] if runs_place else []
        statements, guards, missing = _slice_whole_script(place, set(variables), last)
        tree = ast.fix_missing_locations(ast.Module(body=statements, type_ignores=[]))
        lines = [(node.lineno, node.end_lineno or node.lineno) for node in statements]
        code = marks.compile_source(tree, str(place.script.path))
        reads = statement_names.list_names_of_statements(statements).reads
        slices[key] = _Prepared(code, guards, lines, missing, reads)
    return slices[key]


def _find_line_of_error(error: Exception, script: Script) -> Any:
    line: Any = "?"
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == str(script.path):
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


def _slice_whole_script(
    place: Anchor, variables: set[str], tail: list[ast.stmt]
) -> tuple[list[ast.stmt], list[str], set[str]]:
    """Return (statements to run, ``tail`` last; conditions of ifs around them; unbound names).

    A function may use a name that is bound after it. So names that are missing at first are
    searched for again in the whole script.
    """
    late: set[str] = set()
    while True:
        attempt = _slice_block_of_place(place, variables, tail, late)
        defined = {
            statement.name
            for statement in place.script.blocks[0].statements
            if isinstance(statement, DEFINITIONS)
        }
        later = attempt[2] & defined - late
        if not later:
            return attempt
        late |= later


def _slice_block_of_place(
    place: Anchor, variables: set[str], tail: list[ast.stmt], unbound: set[str]
) -> tuple[list[ast.stmt], list[str], set[str]]:
    ready = variables | set(dir(builtins)) | {"__file__", "__name__"}
    statements: list[ast.stmt] = list(tail)
    need = (set(statement_names.list_names_of_statement(place.statement).reads) | unbound) - ready
    guards: list[str] = []
    # bound on some paths only, or in a loop for its next round: the run shows whether they are
    perhaps = set(statement_names.list_names_of_statement(place.statement).touches)
    block, end = place.block, place.index
    while True:
        for index in reversed(range(len(block.statements))):
            statement = block.statements[index]
            # a function or a class may be defined anywhere, as it is used when the script runs
            if index >= end and (
                statement is place.statement or not isinstance(statement, DEFINITIONS)
            ):
                continue
            names = statement_names.list_names_of_statement(statement)
            # a setting of an imported module ("torch.backends...") computes no quantity
            changes = names.touches - (place.script.origins.keys() - names.binds)
            if not need & changes or not _has_only_allowed_imports(statement):
                continue
            statements.insert(0, statement)
            perhaps |= names.touches
            need = (need - names.binds) | (set(names.reads) - ready)
        if block.outer is None:
            return statements, guards, need - perhaps
        statements, need = _climb_out_of_block(block, statements, need, ready, guards)
        block, end = block.outer, block.place


def _climb_out_of_block(
    block: Block, statements: list[ast.stmt], need: set[str], ready: set[str], guards: list[str]
) -> tuple[list[ast.stmt], set[str]]:
    """Return statements and needed names for the block around; add its condition to ``guards``.

    A ``with`` stays around the statements.
    """
    owner = block.owner
    if isinstance(owner, ast.If):
        test = ast.unparse(owner.test)
        if "__name__" not in test:
            guards.append(f"not ({test})" if block.branch == "orelse" else test)
    elif isinstance(owner, ast.With):
        head = statement_names.list_names_of_with(owner)
        around = ast.copy_location(ast.With(items=owner.items, body=statements), owner)
        return [around], (need - head.binds) | (set(head.reads) - ready)
    return statements, need


def _has_only_allowed_imports(statement: ast.stmt) -> bool:
    """Return whether a slice may run a statement: imports only of some modules."""
    if isinstance(statement, ast.Import):
        modules = [alias.name for alias in statement.names]
    elif isinstance(statement, ast.ImportFrom):
        modules = [statement.module or ""]
    else:
        return True
    return all(
        name.partition(".")[0] in _IMPORTED and name not in _NOT_IMPORTED for name in modules
    )
