"""Pieces of code that differ between two versions, read from their sources.

A piece is a function, what a class does when it is made, or what a module does when it is imported.
Every line of a file belongs to exactly one piece, and every piece that differs is returned: where
only its messages, docstrings or annotations differ, it is returned as ``WORDING``. Nothing is left
out here; what a difference means is decided elsewhere.
"""

from __future__ import annotations

import ast
import builtins
import copy
import pickle
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import TypeVar

from rlregress.model.code import (
    ADDED,
    BODY,
    CODE_CHANGED,
    CODE_MOVED,
    MODULE,
    REMOVED,
    WORDING,
    ChangedPiece,
    Function,
)
from rlregress.source import UNREADABLE, get_first_line, list_sources_below
from rlregress.trace import child_processes
from rlregress.upgrade.differences.name_origins import (
    TYPE_CHECKING,
    find_full_names,
    is_named_one_of,
    may_be_scripted,
    parse_with_origins,
)

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_PIECES = (*_FUNCTIONS, ast.ClassDef)
_IMPORTS = (ast.Import, ast.ImportFrom)
_Node = TypeVar("_Node", bound=ast.AST)
#: fields of a statement that hold others.
_BLOCKS = ("body", "handlers", "cases", "orelse", "finalbody")
#: calls that print or log something and compute nothing.
WORDS = frozenset(
    {"warn", "warning", "info", "debug", "print", "deprecated",
     "setFormatter", "addHandler", "setLevel"}
)  # fmt: skip
#: what a message may be made with.
_WORDING = frozenset({"str", "repr", "len", "format", "join", "type"})
#: decorators that only a type checker reads.
_TYPING = frozenset(
    f"{module}.{name}"
    for module in ("typing", "typing_extensions")
    for name in ("override", "overload", "final")
)
_OVERLOAD = frozenset({"typing.overload", "typing_extensions.overload"})
#: decorators that do not read the annotations of what they decorate.
_BLIND = _TYPING | {
    "builtins.property", "builtins.staticmethod", "builtins.classmethod", "abc.abstractmethod",
    "contextlib.contextmanager", "functools.wraps", "functools.lru_cache", "functools.cache",
    "functools.cached_property", "torch.no_grad", "torch.inference_mode",
}  # fmt: skip
_ACCESSORS = frozenset({"setter", "getter", "deleter"})
#: names of a module that say its version and its authors.
_VERSIONS = frozenset({"__version__", "__author__", "__email__", "__license__"})
#: who prints or logs, in the words of its name.
_SPEAKERS = ("log", "warn")


def find_changed_pieces(old: Sequence[str], new: Sequence[str]) -> list[ChangedPiece]:
    """Return the functions, class bodies and module bodies that differ between two versions.

    Args:
        old, new: folders of the packages in the old and in the new version.
    """
    old_files, new_files = map_files_by_name(old), map_files_by_name(new)
    differing: list[ChangedPiece] = []
    classes: list[set[str]] = [set(), set()]
    for file in sorted(set(old_files) | set(new_files)):
        paths = old_files.get(file), new_files.get(file)
        texts = [path.read_bytes() if path is not None else None for path in paths]
        if texts[0] != texts[1]:
            child_processes.raise_if_time_is_over()
            versions = [{} if text is None else parse_code_pieces(text) for text in texts]
            names_of_file = sorted({*versions[0], *versions[1]})
            for name in names_of_file:
                old_piece, new_piece = (pieces.get(name) for pieces in versions)
                how = _classify_difference_of_pieces(
                    old_piece, new_piece, names_of_file == [MODULE]
                )
                piece = ChangedPiece(
                    file=file, name=name, how=how, old=old_piece, new=new_piece, paths=paths
                )
                if how == WORDING and _evaluates_more(piece):
                    piece = replace(piece, how=CODE_CHANGED)
                differing += [piece] if how else []
            for names, version in zip(classes, versions, strict=True):
                names |= set(version)
    # also for a class that has moved to another file
    stayed = classes[0] & classes[1]
    # read once: of a package that has moved to another folder, every module is new
    imported = {
        word
        for path in old_files.values()
        for line in path.read_bytes().splitlines()
        if b"import" in line
        for word in re.findall(rb"\w+", line)
    }
    return _join_moved_pieces(
        [
            replace(
                piece,
                # the class, or the outer function, of the piece
                within=f"{BODY} {piece.name.rpartition('.')[0]}" in stayed,
                awaited=_is_named_by_old_code(piece, imported),
            )
            for piece in differing
        ]
    )


def _is_named_by_old_code(piece: ChangedPiece, imported: Collection[bytes]) -> bool:
    """Return whether code of the old version names a piece that only the new version has.

    Examples: a function that hides a builtin or an imported one; a module that an import tries.
    Python itself names ``__getattr__`` and ``__dir__`` of a module.

    Args:
        imported: words on import lines of the old version.
    """
    if piece.how != ADDED or piece.name.startswith(BODY) or "." in piece.name:
        return False
    if piece.name != MODULE:
        path = piece.paths[0]
        text = path.read_bytes() if path is not None else b""
        is_known_to_python = hasattr(builtins, piece.name) or piece.name.endswith("__")
        return is_known_to_python or _contains_word(text, piece.name)
    parts = Path(piece.file).with_suffix("").parts
    stem = parts[-2] if parts[-1] == "__init__" and len(parts) > 1 else parts[-1]
    return stem.encode() in imported


def _contains_word(text: bytes, name: str) -> bool:
    return re.search(rb"\b" + re.escape(name.encode()) + rb"\b", text) is not None


def _join_moved_pieces(differing: Sequence[ChangedPiece]) -> list[ChangedPiece]:
    """Join pieces that moved: gone from one file, and new in another under the same name."""
    remaining = {piece.key: piece for piece in differing}
    lone: dict[str, tuple[list[ChangedPiece], list[ChangedPiece]]] = {}
    for piece in differing:
        if piece.how in (REMOVED, ADDED) and not piece.runs_at_import:
            lone.setdefault(piece.name, ([], []))[piece.how == ADDED].append(piece)
    for name, versions in lone.items():
        for removed, added in _pair_moved_functions(*versions):
            if not _is_still_named_in_its_old_file(removed):
                del remaining[removed.key]
            # the same code may mean something else among the names of another file
            same = removed.old and added.new and removed.old.code == added.new.code
            remaining[added.key] = ChangedPiece(
                file=added.file, name=name, how=CODE_MOVED if same else CODE_CHANGED,
                old=removed.old, new=added.new, paths=(removed.paths[0], added.paths[1]),
                was=removed.file,
            )  # fmt: skip
    return [remaining[key] for key in sorted(remaining)]


def _is_still_named_in_its_old_file(function: ChangedPiece) -> bool:
    """Return whether the file that lost a function still names it, and does not import it."""
    path = function.paths[1]
    text = path.read_bytes() if path is not None else b""
    lines = [
        line for line in text.splitlines() if _contains_word(line, function.name.rpartition(".")[2])
    ]
    return "." not in function.name and bool(lines) and not any(b"import" in line for line in lines)


def _pair_moved_functions(
    old: list[ChangedPiece], new: list[ChangedPiece]
) -> Iterator[tuple[ChangedPiece, ChangedPiece]]:
    """Pair functions with the same code; if each version has one left, pair these two as well."""
    for removed in list(old):
        same = [f for f in new if f.new and removed.old and f.new.code == removed.old.code]
        if same:
            old.remove(removed)
            new.remove(same[0])
            yield removed, same[0]
    if len(old) == len(new) == 1:
        yield old[0], new[0]


def map_files_by_name(
    folders: Sequence[str], list_below: Callable[[Path], Iterable[Path]] = list_sources_below
) -> dict[str, Path]:
    """Return "package/file.py" -> path, for all sources, or files, in the folders of packages."""
    return {
        str(path.relative_to(Path(folder).parent)): path
        for folder in folders
        for path in list_below(Path(folder))
    }


def _classify_difference_of_pieces(
    old: Function | None, new: Function | None, is_only: bool
) -> str:
    """Return how two pieces of the same name differ; empty: they are the same.

    Args:
        is_only: neither version has another piece in the file.
    """
    if old is not None and new is not None:
        if old.code != new.code or _are_common_definitions_reordered(old, new):
            return CODE_CHANGED
        return WORDING if old.whole != new.whole else ""
    piece = old or new
    # the statements of a module or class that has none change nothing where it comes or goes; an
    # empty module does: it can be imported
    if piece is None or (piece.name.startswith("<") and not piece.code and not is_only):
        return ""
    return REMOVED if new is None else ADDED


def _are_common_definitions_reordered(old: Function, new: Function) -> bool:
    """Return whether definitions that both versions have differ in their order or block."""
    shared = {name_.rpartition(" ")[2] for name_ in old.defines} & {
        name_.rpartition(" ")[2] for name_ in new.defines
    }
    orders = [
        [name_ for name_ in version.defines if name_.rpartition(" ")[2] in shared]
        for version in (old, new)
    ]
    return orders[0] != orders[1]


@lru_cache(maxsize=4096)
def parse_code_pieces(text: bytes) -> Mapping[str, Function]:
    """Return the pieces of a source text by qualified name; unreadable text is one module."""
    try:
        return _split_into_pieces(parse_with_origins(text))
    except UNREADABLE:
        unread = repr(text)
        return {
            MODULE: Function(name=MODULE, first=1, last=1, code=unread, spoken=unread, whole=unread)
        }


def _split_into_pieces(tree: ast.Module) -> Mapping[str, Function]:
    """Return the pieces of a syntax tree; the tree is modified."""
    pieces: dict[str, Function] = {}
    for name, node in list(list_pieces(tree)):
        first = last = 1
        if not isinstance(node, ast.Module):
            first, last = get_first_line(node), node.end_lineno or 0
        # definitions of one name, such as a property and its setter, are one piece
        earlier = pieces.get(name, Function(name=name, first=first, last=last, code=""))
        # first, as each of the texts below removes parts of the tree: inner pieces, types, messages
        defines, acts = tuple(_list_definitions_in_order(node.body, "")), _acts_when_defined(node)
        head = "" if isinstance(node, ast.Module) else dump_signature(node)
        full_text, (spoken, code) = _dump_without_inner_pieces(node), _dump_code(node, head)
        pieces[name] = Function(
            name=name,
            first=earlier.first,
            last=last,
            code=earlier.code + code,
            head=earlier.head + head,
            spoken=earlier.spoken + spoken,
            whole=earlier.whole + full_text,
            defines=earlier.defines + defines,
            acts=earlier.acts or acts,
        )
    return pieces


def list_pieces(tree: ast.Module) -> Iterator[tuple[str, ast.Module | ast.ClassDef | _Function]]:
    """Yield the pieces of a module with their qualified names."""

    def list_pieces_of_block(
        statements: Iterable[ast.stmt], prefix: str
    ) -> Iterator[tuple[str, ast.ClassDef | _Function]]:
        for child in statements:
            if isinstance(child, _PIECES):
                name = f"{prefix}.{child.name}" if prefix else child.name
                if isinstance(child, ast.ClassDef):
                    yield f"{BODY} {name}", child
                elif not _is_overload(child):
                    yield name, child
                yield from list_pieces_of_block(child.body, name)
            else:
                # functions that are defined under a condition, or where an import fails
                for _, inside, *_ in list_blocks_of_statement(child):
                    yield from list_pieces_of_block(inside, prefix)

    yield from list_pieces_of_block(tree.body, "")
    yield MODULE, tree


_Function = ast.FunctionDef | ast.AsyncFunctionDef


@lru_cache(maxsize=64)
def map_pieces_to_definitions(
    text: bytes,
) -> Mapping[str, Sequence[ast.Module | ast.ClassDef | _Function]]:
    """Return the definitions of each piece of a source text; raise ``UNREADABLE`` for no Python."""
    definitions = defaultdict(list)
    for name, node in list_pieces(parse_with_origins(text)):
        definitions[name].append(node)
    return definitions


def _evaluates_more(piece: ChangedPiece) -> bool:
    """Return whether the new version, with its messages, evaluates what the old one does not.

    A message with another name, attribute or item may fail.
    """
    old, new = (_list_evaluated(path.read_bytes(), piece.name) for path in piece.paths if path)
    return not new <= old


def _list_evaluated(text: bytes, name: str) -> set[str]:
    """Return names and texts of expressions that a piece evaluates; none that its module binds."""
    definitions = map_pieces_to_definitions(text)
    assigned = (node for node in definitions[MODULE][0].body if isinstance(node, ast.Assign))
    bound = {getattr(target, "id", "") for node in assigned for target in node.targets}
    evaluated: set[str] = set()
    pending: list[ast.AST] = []
    for node in definitions[name]:
        if not isinstance(node, ast.Module | ast.ClassDef):
            evaluated |= {part.arg for part in ast.walk(node.args) if isinstance(part, ast.arg)}
        statements = (copy_without_docstring(child, spoken=True) for child in node.body)
        pending += filter(None, statements)
    for part in (part for node in pending for part in ast.walk(node)):
        is_formatted = isinstance(part, ast.FormattedValue) and part.format_spec is not None
        if isinstance(part, ast.Name):
            # what an import or Python binds is there
            if "" in (find_full_names(part) or {""}):
                evaluated.add(part.id)
        elif isinstance(part, ast.ExceptHandler):
            evaluated.add(part.name or "")
        elif isinstance(part, ast.Attribute) and part.attr in WORDS | _WORDING:
            # of a logger, or a text
            continue
        elif isinstance(part, ast.Attribute | ast.Subscript) or is_formatted:
            evaluated.add(ast.dump(part).replace("Store()", "Load()"))
    return evaluated - bound


def list_blocks_of_statement(node: ast.stmt) -> Iterator[tuple[str, list[ast.stmt], int, str]]:
    """Yield label, statements, and line and text of the head of each block of a statement.

    Only error handlers and cases have a text.
    """
    kind = type(node).__name__
    if inside := getattr(node, "body", None):
        yield f"{kind}.body", inside, node.lineno, ""
    for handler in getattr(node, "handlers", ()):
        head = f"except {ast.dump(handler.type) if handler.type else ''} {handler.name}"
        yield f"{kind}.except", handler.body, handler.lineno, head
    for case in getattr(node, "cases", ()):
        head = f"case {ast.dump(case.pattern)} {ast.dump(case.guard) if case.guard else ''}"
        yield f"{kind}.case", case.body, case.pattern.lineno, head
    for field in ("orelse", "finalbody"):
        if inside := getattr(node, field, None):
            yield f"{kind}.{field}", inside, 0, ""


def _is_overload(node: _Function) -> bool:
    # typing.overload takes no arguments
    return any(is_named_one_of(decorator, _OVERLOAD) for decorator in node.decorator_list)


def _list_definitions_in_order(body: Iterable[ast.stmt], label: str) -> Iterator[str]:
    """Yield functions and classes in the order of their definition, each with its block."""
    for child in body:
        if isinstance(child, _PIECES):
            if isinstance(child, ast.ClassDef) or not _is_overload(child):
                yield f"{label} {child.name}"
        else:
            for block, inside, *_ in list_blocks_of_statement(child):
                yield from _list_definitions_in_order(inside, f"{label}/{block}")


def _acts_when_defined(node: ast.Module | ast.ClassDef | _Function) -> bool:
    """Return whether a definition may do more than bind its name: by a decorator or a base."""
    if isinstance(node, ast.Module):
        return False
    if isinstance(node, ast.ClassDef):
        return bool(node.bases or node.keywords or node.decorator_list)
    return not all(_ignores_annotations(decorator, node.name) for decorator in node.decorator_list)


def _ignores_annotations(decorator: ast.expr, decorated: str) -> bool:
    """Return whether a decorator is known to have no effect that depends on annotations."""
    if isinstance(decorator, ast.Call):
        return is_named_one_of(decorator.func, _BLIND)
    if isinstance(decorator, ast.Attribute) and decorator.attr in _ACCESSORS:
        # a setter belongs to the property of the same name above it
        return isinstance(decorator.value, ast.Name) and decorator.value.id == decorated
    return is_named_one_of(decorator, _BLIND)


def _get_last_name(node: ast.expr) -> str:
    called = node.func if isinstance(node, ast.Call) else node
    return ast.unparse(called).rpartition(".")[2]


def _dump_without_inner_pieces(node: ast.Module | ast.ClassDef | _Function) -> str:
    """Dump a definition without the functions and classes in it, which are pieces themselves."""
    own = copy.copy(node)
    own.body = node.body[:]
    return ast.dump(_WithoutInnerFunctions().generic_visit(own))


def dump_signature(node: ast.ClassDef | _Function) -> str:
    """Dump kind, decorators, arguments or bases, without types where nothing reads them."""
    lines = [type(node).__name__]
    for decorator in node.decorator_list:
        if not is_named_one_of(decorator, _TYPING):
            lines.append(f"decorator {ast.dump(decorator)}")
    if isinstance(node, ast.ClassDef):
        return "\n".join([*lines, *(f"base {ast.dump(b)}" for b in (*node.bases, *node.keywords))])
    typed = _acts_when_defined(node) or may_be_scripted(node)
    arguments = node.args if typed else _copy_node(node.args)
    for part in () if typed else ast.walk(arguments):
        if isinstance(part, ast.arg):
            part.annotation = None
    lines.append(ast.dump(arguments))
    lines += [ast.dump(node.returns)] if typed and node.returns is not None else []
    return "\n".join(lines)


def _dump_code(node: ast.Module | ast.ClassDef | _Function, head: str) -> tuple[str, str]:
    """Dump a piece below its head with its messages, and without; the tree is modified.

    Docstrings, and annotations without an effect, are in neither text.
    """
    is_module = isinstance(node, ast.Module)
    typed = isinstance(node, ast.ClassDef) and _acts_when_defined(node)
    saying = _WithoutDocstringsTypesAndVersion(typed, is_module)
    spoken = [saying.visit(_copy_node(x)) for x in node.body if not isinstance(x, _PIECES)]
    doing = _WithoutMessages(typed, is_module)
    code = [head] if head else []
    rows = [*code, *map(ast.dump, filter(None, spoken))]
    # what is left out ends a group of imports
    for is_import, group in groupby(map(doing.visit, node.body), lambda x: isinstance(x, _IMPORTS)):
        statements = [statement for statement in group if statement is not None]
        code += _dump_sorted_imports(statements) if is_import else map(ast.dump, statements)
    return "\n".join(rows), "\n".join(code)


def copy_without_docstring(child: ast.stmt, spoken: bool) -> ast.AST | None:
    """Copy a statement without docstrings, and without messages unless they are ``spoken``.

    None: nothing is left.
    """
    if isinstance(child, _PIECES):
        return None
    remover = _WithoutDocstringsTypesAndVersion() if spoken else _WithoutMessages()
    visited: ast.AST | None = remover.visit(_copy_node(child))
    return visited


def copy_without_blocks(node: ast.stmt) -> ast.stmt:
    """Return a copy of a statement without the statements inside it."""
    bare = copy.copy(node)
    for field in _BLOCKS:
        if isinstance(getattr(bare, field, None), list):
            setattr(bare, field, [])
    return bare


def _dump_sorted_imports(imports: Iterable[ast.Import | ast.ImportFrom]) -> list[str]:
    """Dump adjacent imports, sorted: their order has no effect unless a name is bound twice."""
    rows, names = [], []
    for node in imports:
        for alias in node.names:
            single = copy.copy(node)
            single.names = [alias]
            rows.append(ast.dump(single))
            names.append(alias.asname or alias.name)
    return rows if "*" in names or len(set(names)) < len(names) else sorted(rows)


def _copy_node(node: _Node) -> _Node:
    # C code, unlike a deep copy
    copied: _Node = pickle.loads(pickle.dumps(node))  # noqa: S301 - its own bytes
    return copied


def only_make_text(nodes: Iterable[ast.AST]) -> bool:
    """Return whether expressions only format text: they call and bind nothing else."""
    return not any(
        isinstance(child, ast.NamedExpr | ast.Await | ast.Yield | ast.YieldFrom)
        or (isinstance(child, ast.Call) and _get_last_name(child) not in _WORDING)
        for node in nodes
        for child in ast.walk(node)
    )


def only_reports(node: ast.Expr) -> bool:
    """Return whether a statement only prints, warns or logs, without other computations."""
    call = node.value
    if not isinstance(call, ast.Call) or _get_last_name(call) not in WORDS:
        return False
    # only a logger's or printer's call: a method of this name on another object may compute
    speakers = [origin.rpartition(".")[0] for origin in find_full_names(call.func)]
    if isinstance(call.func, ast.Attribute):
        speakers = [ast.unparse(call.func.value)]
    last_words = {speaker.rpartition(".")[2].lower() for speaker in speakers} - {"builtins"}
    if not all(any(word in last for word in _SPEAKERS) for last in last_words):
        return False
    return only_make_text([*call.args, *call.keywords])


def _are_only_texts(nodes: Iterable[ast.AST]) -> bool:
    """Return whether each expression is a text, and only formats it."""
    values = [node.value if isinstance(node, ast.keyword) else node for node in nodes]
    return only_make_text(values) and all(
        isinstance(value, ast.JoinedStr)
        or (isinstance(value, ast.Constant) and isinstance(value.value, str))
        or (isinstance(value, ast.BinOp | ast.Call))
        for value in values
    )


class _WithoutInnerFunctions(ast.NodeTransformer):
    """Removes inner functions and classes, which are separate pieces."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """Drop an inner function, which is a separate piece."""

    visit_AsyncFunctionDef = visit_ClassDef = visit_FunctionDef  # type: ignore[assignment]

    def generic_visit(self, node: ast.AST) -> ast.AST:
        """Visit a node, and put ``pass`` into a block that becomes empty."""
        visited = super().generic_visit(node)
        if isinstance(getattr(visited, "body", None), list) and not visited.body:  # type: ignore[attr-defined]
            visited.body = [ast.Pass()]  # type: ignore[attr-defined]
        return visited


class _WithoutDocstringsTypesAndVersion(_WithoutInnerFunctions):
    """Removes docstrings, type annotations and the version number from a syntax tree.

    Args:
        typed: annotations without a value count, too.
        module: the code is that of a module: assignments of its version are removed.
    """

    def __init__(self, typed: bool = False, module: bool = False) -> None:
        self._typed, self._module = typed, module

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        """Drop docstrings."""
        return None if isinstance(node.value, ast.Constant) else self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> ast.AST | None:
        """Remove the version of the package, which differs in each release."""
        names = {target.id for target in node.targets if isinstance(target, ast.Name)}
        if self._module and len(names) == len(node.targets) and names <= _VERSIONS:
            return None if isinstance(node.value, ast.Constant) else node
        return self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST | None:
        """Drop an annotation unless it has an effect, as it has in a dataclass."""
        if self._typed or may_be_scripted(node):
            return node
        if node.value is None:
            return None
        self.generic_visit(node)
        return ast.Assign(targets=[node.target], value=node.value, lineno=0)

    def visit_If(self, node: ast.If) -> ast.AST | None:
        """Remove blocks that only a type checker runs."""
        if is_named_one_of(node.test, TYPE_CHECKING):
            if not node.orelse:
                return None
            node.body = [ast.Pass()]
        return self.generic_visit(node)


class _WithoutMessages(_WithoutDocstringsTypesAndVersion):
    """Removes messages to the user, too: calls that print or log, and the texts of errors."""

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        """Drop docstrings and messages to the user."""
        return None if only_reports(node) else super().visit_Expr(node)

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        """Keep the type of an error, not its message."""
        if isinstance(node.exc, ast.Call) and _are_only_texts([*node.exc.args, *node.exc.keywords]):
            node.exc = node.exc.func
        return self.generic_visit(node)

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        """Keep the condition of an assertion, not its message."""
        return ast.Assert(test=node.test, msg=None)
