"""A script as statement lists, and the places in it that a quantity comes from.

The suite keeps no text of a script: it reads the user's copy.
"""

from __future__ import annotations

import ast
import difflib
import functools
import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from rlregress import suite
from rlregress.errors import UserError
from rlregress.frameworks.cleanrl import statement_names
from rlregress.probing.interface import Unprobed

#: a line of the list of scripts: digest, two spaces, path.
_LISTED = re.compile(r"([0-9a-f]{64})  \S+")

#: statements whose insides are no part of the script's own course.
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)

#: says whether a statement is the one that a quantity is looked for by.
Shape = Callable[[ast.stmt], bool]


class AnchorLost(Unprobed):
    """No statement of a script gives the quantity that a probe looks for."""


class ArgumentLost(AnchorLost, UserError):
    """A script's command line lacks an argument that a training or probe passes."""


class Unreadable(Unprobed, UserError):
    """A file of the scripts is missing, or is no Python text."""


class AnchorAmbiguous(Unprobed):
    """Several statements give the quantity, and the probe does not choose among them."""


class SliceUnbound(Unprobed):
    """The statements need a name that neither the script nor the probe binds."""


class SliceFailed(Unprobed):
    """The statements raised an error."""


def read_script_text(path: Path) -> str:
    """Return the text of a file of the scripts, which is UTF-8.

    Raises:
        Unreadable: there is no such file, or it holds something else.
    """
    try:
        return Path(path).read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise make_unreadable_error(path, error) from None


def make_unreadable_error(path: Path, error: Exception) -> Unreadable:
    """Return the error for a file of the scripts that cannot be read or compiled."""
    line = f" at line {error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
    words = error.strerror if isinstance(error, OSError) else str(getattr(error, "msg", error))
    return Unreadable(
        f"{path} cannot be read as a script of CleanRL: {type(error).__name__}{line}: {words}; "
        "expected the file as upstream has it: check it out or install it again",
        False,
    )


class Block(NamedTuple):
    """A list of statements outside functions and classes.

    Attributes:
        statements: in order.
        outer: the block that holds the compound statement of this one, None at the top.
        place: the index of that statement in ``outer``.
        branch: which of its lists this is: "body", "orelse", "handler" or "finalbody".
    """

    statements: list[ast.stmt]
    outer: Block | None
    place: int
    branch: str

    @property
    def owner(self) -> ast.stmt | None:
        """The compound statement that holds this block."""
        return None if self.outer is None else self.outer.statements[self.place]


@dataclass(frozen=True, eq=False)
class Anchor:
    """The place of a statement of a script, the one that computes a quantity."""

    script: Script
    quantity: str
    block: Block
    index: int

    @property
    def statement(self) -> ast.stmt:
        return self.block.statements[self.index]

    @property
    def line(self) -> int:
        """Its first line in the file."""
        return self.statement.lineno


@functools.cache
def load_digests_of_known_scripts() -> frozenset[str]:
    """Return SHA-256 of the scripts that the suite was written for, from its list in ``baselines``.

    Raises:
        UserError: the list is missing or empty, or a line of it is no digest.
    """
    path = suite.locate_baselines() / "scripts" / "cleanrl.sha256"
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"cannot read {path}: {error}; restore the list of scripts") from None
    digests = set()
    for number, line in enumerate(lines, start=1):
        if line.strip() and line[0] != "#":
            entry = _LISTED.fullmatch(line)
            if entry is None:
                raise UserError(
                    f"{path}, line {number}: found {line!r}, expected 64 hexadecimal digits, two "
                    f"spaces and a path, as sha256sum writes them"
                )
            digests.add(entry.group(1))
    if not digests:
        raise UserError(f"{path} lists no script; restore the list of scripts")
    return frozenset(digests)


class Script:
    """A script, parsed.

    Attributes:
        path: the file.
        sha256: of its bytes.
        blocks: its statement lists outside functions and classes, outermost first.
        known: whether the suite was written for exactly this file.
        origins: name that an import binds -> the module that it is, or comes from.
        slices: of it that were made already (see ``slices``).
    """

    def __init__(self, path: Path) -> None:
        content = read_script_text(path).encode()
        self.path = Path(path)
        self.sha256 = hashlib.sha256(content).hexdigest()
        self.known = self.sha256 in load_digests_of_known_scripts()
        self.slices: dict[Any, Any] = {}
        self._shaped: dict[Shape, list[tuple[Block, int]]] = {}
        self.blocks: list[Block] = []
        try:
            tree = ast.parse(content)
        except (SyntaxError, ValueError) as error:
            raise make_unreadable_error(path, error) from None
        self._collect_blocks(Block(tree.body, None, 0, "body"))
        self.origins = {
            name: module
            for block in self.blocks
            for statement in block.statements
            if isinstance(statement, (ast.Import, ast.ImportFrom))
            for name, module in statement_names.map_imported_names_to_modules(statement).items()
        }

    @property
    def imports(self) -> frozenset[str]:
        """The modules that the script imports, by their full names."""
        return frozenset(self.origins.values())

    def __repr__(self) -> str:
        return f"{self.path.name} ({self.sha256[:12]})"

    def _collect_blocks(self, block: Block) -> None:
        self.blocks.append(block)
        for place, statement in enumerate(block.statements):
            if isinstance(statement, DEFINITIONS):
                continue
            for branch in ("body", "orelse", "finalbody"):
                inner = getattr(statement, branch, None)
                if inner:
                    self._collect_blocks(Block(inner, block, place, branch))
            for handler in getattr(statement, "handlers", ()):
                self._collect_blocks(Block(handler.body, block, place, "handler"))

    # -- places ------------------------------------------------------------------------------

    def find_statement_binding(self, quantity: str, *candidates: str, which: str = "") -> Anchor:
        """Return the statement that assigns the first of ``candidates`` that the script assigns.

        Of several such statements in one list it is the last one. If both branches of an ``if``
        bind the name, it is the whole ``if``.

        Args:
            quantity: name of the quantity in error messages.
            candidates: names, the newest script's first.
            which: "first" or "last", by line, if the name is bound in several loops.

        Raises:
            AnchorLost: no candidate is bound.
            AnchorAmbiguous: bound in several loops, and ``which`` is not given.
        """
        for name in candidates:
            places = [
                Anchor(self, quantity, block, index)
                for block in self.blocks
                for index, statement in enumerate(block.statements)
                if name in _list_assigned_or_defined_names(statement)
            ]
            if places:
                return self._choose_anchor(quantity, name, places, which)
        raise self.make_anchor_lost_error(quantity, *candidates)

    def find_statement_of_shape(
        self, quantity: str, shape: Shape, shape_in_words: str, which: str = ""
    ) -> Anchor:
        """Return the statement for which ``shape`` returns true, such as a loop over epochs.

        Args:
            quantity: name of the quantity in error messages.
            shape: whether a statement, perhaps a compound one, is of that shape.
            shape_in_words: the shape in words.
            which: "first", "last" (by line), "outermost" or "innermost" of several statements;
                empty: several are an error.
        """
        if shape not in self._shaped:
            self._shaped[shape] = [
                (block, index)
                for block in self.blocks
                for index, statement in enumerate(block.statements)
                if shape(statement)
            ]
        places = [Anchor(self, quantity, *where) for where in self._shaped[shape]]
        if not places:
            raise AnchorLost(
                f"{self}: {quantity}: no statement is {shape_in_words}; "
                f"{self._describe_whether_known()}",
                self.known,
            )
        if which in ("outermost", "innermost"):
            depths = [len(_list_enclosing_blocks(place.block)) for place in places]
            wanted_depth = min(depths) if which == "outermost" else max(depths)
            places = [p for p, depth in zip(places, depths, strict=False) if depth == wanted_depth]
        elif which:
            return min(places, key=lambda p: p.line if which == "first" else -p.line)
        if len(places) > 1:
            raise self._make_anchor_ambiguous_error(
                quantity, f"statements that are {shape_in_words}", places
            )
        return places[0]

    def _choose_anchor(self, quantity: str, name: str, places: list[Anchor], which: str) -> Anchor:
        if which:
            return min(places, key=lambda p: p.line if which == "first" else -p.line)
        common = _find_common_block(places)
        inside = [_find_index_in_block(common, place) for place in places]
        last = common.statements[max(inside)]
        if len(places) == 1:
            return places[0]
        if isinstance(last, (ast.For, ast.While)):
            raise self._make_anchor_ambiguous_error(quantity, f"assignments to '{name}'", places)
        return Anchor(self, quantity, common, max(inside))

    # -- reports -----------------------------------------------------------------------------

    def _describe_whether_known(self) -> str:
        if self.known:
            return "the suite was written for this file, so this is a fault of the suite"
        return "the suite does not know this version of the file"

    def make_anchor_lost_error(self, quantity: str, *candidates: str) -> AnchorLost:
        """Return the error that no variable has one of the names in ``candidates``."""
        names = sorted(
            {name for block in self.blocks for name in _list_bound_or_changed_names(block)}
        )
        near: dict[str, None] = {}
        for name in candidates:
            near.update(dict.fromkeys(difflib.get_close_matches(name, names, n=3, cutoff=0.5)))
        nearest = f"nearest names: {', '.join(near)}" if near else "no name is near"
        tried = ", ".join(candidates)
        # a statement that binds the name may not have run
        bound = bool(set(candidates) & set(names))
        why = f"the run has not bound {tried}" if bound else f"nothing is assigned to {tried}"
        return AnchorLost(
            f"{self}: {quantity}: {why}; {nearest}; {self._describe_whether_known()}", self.known
        )

    def _make_anchor_ambiguous_error(
        self, quantity: str, problem: str, places: list[Anchor]
    ) -> AnchorAmbiguous:
        lines = ", ".join(str(place.line) for place in places)
        return AnchorAmbiguous(
            f"{self}: {quantity}: there are several {problem} (lines {lines}); "
            f"{self._describe_whether_known()}",
            self.known,
        )


def _list_assigned_or_defined_names(statement: ast.stmt) -> frozenset[str]:
    """Return names that a statement itself binds, without those of statements inside it."""
    if isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign, *DEFINITIONS)):
        return statement_names.list_names_of_statement(statement).binds
    return frozenset()


def _list_bound_or_changed_names(block: Block) -> frozenset[str]:
    return statement_names.list_names_of_statements(block.statements).touches


def _list_enclosing_blocks(block: Block) -> list[tuple[Block, int]]:
    """Return the blocks around ``block``, outermost first, each with the index of its inner one."""
    chain: list[tuple[Block, int]] = []
    while block.outer is not None:
        chain.append((block.outer, block.place))
        block = block.outer
    return chain[::-1]


def _find_index_in_block(block: Block, place: Anchor) -> int:
    """Return the index in ``block`` of the statement that is, or contains, the anchor's."""
    if place.block is block:
        return place.index
    return next(index for outer, index in _list_enclosing_blocks(place.block) if outer is block)


def _find_common_block(places: Sequence[Anchor]) -> Block:
    """Return the innermost block that contains all anchors, in itself or in inner blocks."""
    chains: list[list[Any]] = [
        [*(outer for outer, _ in _list_enclosing_blocks(place.block)), place.block]
        for place in places
    ]
    shared = places[0].block
    for level in zip(*chains, strict=False):
        if any(block is not level[0] for block in level):
            break
        shared = level[0]
    return shared
