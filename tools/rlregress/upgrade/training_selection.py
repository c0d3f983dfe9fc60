"""Which functions can tell two sides apart: a training that enters none of them does the same.

A training is fixed by its seeds, the machine and the code that it runs. Where everything beside the
packages under test is the same on both sides, only code that differs can part it: functions that
differ, and functions that use a name which the import of a module binds to something else. This is
regression test selection by what is executed (Rothermel and Harrold, 1997, "A safe, efficient
regression test selection technique"), for whole trainings.

A file with ``if __name__ == "__main__":`` is a script. Whatever differs in it tells the sides apart
as soon as its body runs, as a script or by an import, and never before.

What an import may do otherwise is a short list: bind names to values that no code of the packages
computes, define classes and functions, import modules that only bind names. Every other difference
that an import meets, down to the order of its statements, says that nothing can be told.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from packaging.version import InvalidVersion, Version

from rlregress.model.code import MODULE
from rlregress.source import UNREADABLE, below, runs_as_script
from rlregress.tracing import child_processes
from rlregress.upgrade import changed_functions

#: files that no code reads, and those that say a version.
_FOR_TYPES = frozenset({".typed", ".pyi"})
_VERSION_FILES = frozenset({"version.txt", "VERSION.txt", "VERSION"})
#: what a class does when another is made of it, or a module when it is asked for a name.
_IN_SILENCE = frozenset(
    {
        "__init_subclass__",
        "__set_name__",
        "__class_getitem__",
        "__prepare__",
        "__getattr__",
        "__dir__",
    }
)
#: modules of types, and names of a module, that no computation uses.
_TYPES = frozenset({"typing", "typing_extensions", "collections.abc", "__future__"})
_INCIDENTAL_NAMES = frozenset({"__all__", "__version__", "__author__", "__email__", "__license__"})
#: bases whose classes are made of their annotations.
_RECORDS = frozenset({"NamedTuple", "TypedDict", "BaseModel", "Struct"})
#: methods that put something into a container, and what words may be made with.
_FILLING = frozenset({"update", "append", "extend", "add", "setdefault"})
_WORDING = frozenset({"str", "repr", "len", "format", "join", "type"})
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_IMPORTS = (ast.Import, ast.ImportFrom)
_BLOCKS = (ast.If, ast.Try, ast.With)
Key = tuple[str, str]


@dataclass(frozen=True)
class Triggers:
    """What has to be entered for the sides to part.

    Attributes:
        functions: file below the folder of its package and qualified name, as the new version has
            them; ``MODULE`` is the body of a script.
        because: why every training may part, whatever it enters; "" if that is not so.
    """

    functions: frozenset[Key] = frozenset()
    because: str = ""


class _Cannot(Exception):
    """It cannot be told; says why."""


@dataclass(frozen=True)
class _Row:
    """A statement that runs at import.

    Attributes:
        scope: the class that it stands in, qualified; "" of a module.
        node: of a class without what stands in it, of a block without its functions and classes.
    """

    scope: str
    node: ast.stmt

    @cached_property
    def text(self) -> str:
        """What it does."""
        return ast.dump(self.node)


@dataclass
class _File:
    """What a source file does at import, and the functions that it defines.

    Attributes:
        functions: qualified name -> what it does, with all that stands inside it.
        decorators: the same -> its decorators.
    """

    rows: list[_Row] = field(default_factory=list)
    functions: dict[str, str] = field(default_factory=dict)
    decorators: dict[str, list[ast.expr]] = field(default_factory=dict)

    @property
    def is_script(self) -> bool:
        """Whether it has a block that runs only when the file is run as a script."""
        return MODULE in self.functions

    def add(self, body: Iterable[ast.stmt], scope: str, reads: bool = False) -> None:
        """Take in statements; ``reads``: of a class that is made of its annotations."""
        for child in body:
            name = f"{scope}.{getattr(child, 'name', '')}" if scope else getattr(child, "name", "")
            if runs_as_script(child):
                known = self.functions.get(MODULE, "")
                self.functions[MODULE] = known + ast.dump(_Untyped().visit(child))
            elif isinstance(child, _FUNCTIONS):
                known = self.functions.get(name, "")
                self.functions[name] = known + ast.dump(_Untyped().visit(child))
                self.decorators.setdefault(name, []).extend(child.decorator_list)
            elif isinstance(child, ast.ClassDef):
                header = ast.ClassDef(
                    child.name, child.bases, child.keywords, [], child.decorator_list
                )
                self.rows.append(_Row(scope, header))
                names = {_simple(base) for base in child.bases}
                self.add(child.body, name, bool(child.decorator_list or names & _RECORDS))
            elif isinstance(child, _BLOCKS) and not _idle(child, scope):
                defined = list(_definitions(child))
                self.rows.append(_Row(scope, _Bare().visit(child)))
                self.add(defined, scope)
            elif not _idle(child, scope) and (reads or not _only_typed(child)):
                self.rows.append(_Row(scope, child if reads else _Untyped().visit(child)))


class _Side:
    """The sources of one side."""

    def __init__(self, folders: Sequence[str], until: float | None) -> None:
        self.paths = changed_functions.files(folders)
        self._until = until
        self.packages = {Path(folder).name for folder in folders}
        self._texts: dict[str, bytes] = {}
        self._files: dict[str, _File] = {}

    def text(self, file: str) -> bytes:
        """Of a file; nothing where there is none."""
        if file not in self._texts:
            path = self.paths.get(file)
            self._texts[file] = path.read_bytes() if path is not None else b""
        return self._texts[file]

    def file(self, name: str) -> _File:
        """What a file does; raises ``_Cannot`` where it cannot be read."""
        if name not in self._files:
            child_processes.check_time(self._until)
            made = self._files[name] = _File()
            try:
                made.add(ast.parse(self.text(name)).body, "")
            except UNREADABLE as error:
                raise _Cannot(f"{name} cannot be read: {error}") from None
        return self._files[name]

    @cached_property
    def own(self) -> frozenset[str]:
        """Simple names of all functions and classes of the packages."""
        names: set[str] = set()
        for name in self.paths:
            of_file = self.file(name)
            names.update(function.rpartition(".")[2] for function in of_file.functions)
            names.update(
                row.node.name for row in of_file.rows if isinstance(row.node, ast.ClassDef)
            )
        return frozenset(names)

    @cached_property
    def bases(self) -> Mapping[str, frozenset[str]]:
        """Simple name of a class -> those of what it is made of."""
        by_class: dict[str, frozenset[str]] = {}
        for name in self.paths:
            for row in self.file(name).rows:
                if isinstance(row.node, ast.ClassDef):
                    bases = {_simple(base) for base in row.node.bases}
                    by_class[row.node.name] = by_class.get(row.node.name, frozenset()) | bases
        return by_class

    def mentioning(self, names: Iterable[str]) -> list[str]:
        """Files in which a name stands."""
        wanted = [name.encode() for name in names]
        return [
            name
            for name in self.paths
            if any(known_name in self.text(name) for known_name in wanted)
        ]

    def imported(self, node: ast.Import | ast.ImportFrom, importing: str) -> list[str] | None:
        """Files of the packages that an import may run; None: it is of another package."""
        modules = [alias.name for alias in node.names]
        if isinstance(node, ast.ImportFrom):
            above = importing.split("/")[: -node.level] if node.level else []
            origin = ".".join([*above, *([node.module] if node.module else [])])
            modules = [origin, *(f"{origin}.{name}" for name in modules)]
        if modules[0].partition(".")[0] not in self.packages:
            return None
        places = [module.replace(".", "/") for module in modules]
        every = [file for at in places for file in (f"{at}.py", f"{at}/__init__.py")]
        return [file for file in every if file in self.paths]


def triggers(
    a: Sequence[str], b: Sequence[str], users: Iterable[Path] = (), until: float | None = None
) -> Triggers:
    """Functions of the new version by which the packages of two sides can be told apart.

    Args:
        a, b: folders of the packages on either side.
        users: source files that use the packages, such as those of an adapter.
        until: the time at which the search ends; None: with that of the command.
    """
    try:
        sides = _Side(a, until), _Side(b, until)
        return Triggers(_Difference(*sides, _others(a, b)).functions(users))
    except child_processes.OutOfTime:
        return Triggers(because="time was over before it was known which ones run changed code")
    except (_Cannot, *UNREADABLE) as why:
        return Triggers(because=str(why))


def without_effect(file: str, texts: Sequence[bytes]) -> str:
    """Why a file that is none of Python can have no effect; empty: it may have one.

    Args:
        texts: of all versions; nothing where there is none.
    """
    if Path(file).suffix in _FOR_TYPES:
        return "read by type checkers only"
    if Path(file).name in _VERSION_FILES and all(_is_version(text) for text in texts if text):
        return "a version string"
    return ""


def _is_version(text: bytes) -> bool:
    try:
        Version(text.decode("utf-8", "replace").strip())
    except InvalidVersion:
        return False
    return True


def _others(a: Sequence[str], b: Sequence[str]) -> set[str]:
    """Names without endings of the files that differ and are none of Python."""
    one, other = (
        {
            str(path.relative_to(Path(folder).parent)): path
            for folder in folders
            for path in below(Path(folder))
            if path.suffix != ".py"
        }
        for folders in (a, b)
    )
    names = set()
    for file in sorted(set(one) | set(other)):
        texts = [side[file].read_bytes() if file in side else b"" for side in (one, other)]
        same = texts[0] == texts[1] and file in one and file in other
        if same or without_effect(file, texts):
            continue
        name = Path(file).name.partition(".")[0]
        if not name.isidentifier():
            raise _Cannot(f"{file} differs, and code need not name it to read it")
        names.add(name)
    return names


class _Difference:
    """What differs between two sides: functions, and names that mean something else."""

    def __init__(self, a: _Side, b: _Side, names: set[str]) -> None:
        self._sides = a, b
        self._names = names
        #: simple names of classes of which every method counts.
        self._classes: set[str] = set()
        self._found: set[Key] = set()
        #: rows that are known to bind another value.
        self._known: set[int] = set()
        for file in sorted(set(a.paths) | set(b.paths)):
            if a.text(file) != b.text(file):
                self._of_file(file)

    def _of_file(self, file: str) -> None:
        files = [side.file(file) for side in self._sides]
        a_script = any(file_.is_script for file_ in files)
        bodies = [[(row.scope, row.text) for row in file_.rows] for file_ in files]
        if bodies[0] != bodies[1] or (a_script and files[0].functions != files[1].functions):
            # of a module without a main block: if it is run as a script all the same
            self._found.add((file, MODULE))
        if a_script:
            return
        kept: list[list[_Row]] = []
        for side, own, opposite in zip(self._sides, files, reversed(files), strict=True):
            texts = {(row.scope, row.text) for row in opposite.rows}
            alone = [row for row in own.rows if (row.scope, row.text) not in texts]
            assigned = {name for row in own.rows if not row.scope for name in _assigned(row.node)}
            for row in alone:
                self._binds(side, file, row, assigned)
            kept.append([row for row in own.rows if row not in alone])
        if [(row.scope, row.text) for row in kept[0]] != [(r.scope, r.text) for r in kept[1]]:
            raise _Cannot(f"{file} runs its statements in another order when it is imported")
        one, opposite = files
        for name in sorted(set(one.functions) | set(opposite.functions)):
            if one.functions.get(name) != opposite.functions.get(name):
                self._function(file, name, one, opposite)

    def _binds(self, side: _Side, file: str, row: _Row, assigned: set[str]) -> None:
        """Note what a statement of one side alone binds."""
        node = row.node
        if isinstance(node, ast.ClassDef):
            self._computed(side, file, row, [*node.decorator_list, *node.keywords])
            self._classes.add(node.name)
            bound = {node.name}
        elif isinstance(node, _IMPORTS):
            bound = self._imports(side, file, node)
        elif isinstance(node, _BLOCKS):
            bound = self._block(side, file, row)
        else:
            bound = set(_assigned(node)) or ({_filled(node)} & assigned)
            if not bound or any(_both_ends(name) and not row.scope for name in bound):
                raise _Cannot(_runs(file, row))
            self._computed(side, file, row, [node])
        if row.scope:
            kind = row.scope.rpartition(".")[2]
            self._classes.add(kind)
            bound = {*bound, kind}
        self._names |= bound
        self._known.add(id(row))

    def _computed(self, side: _Side, file: str, row: _Row, nodes: Iterable[ast.AST]) -> None:
        """Refuse what code of the packages computes: it may do more than that."""
        for node in nodes:
            for child in ast.walk(node):
                called = _simple(child.func) if isinstance(child, ast.Call) else ""
                named = _simple(child) if node in getattr(row.node, "decorator_list", ()) else ""
                if {called, named} & side.own or isinstance(child, ast.NamedExpr | ast.Await):
                    raise _Cannot(_runs(file, row))
        hooks = {"__init_subclass__", "__set_name__", "__prepare__"} & side.own
        if isinstance(row.node, ast.ClassDef) and hooks:
            raise _Cannot(f"{file} makes class {row.node.name}, and {min(hooks)} may run")

    def _imports(self, side: _Side, file: str, node: ast.Import | ast.ImportFrom) -> set[str]:
        for imported in side.imported(node, file) or ():
            for row in side.file(imported).rows:
                if _acts(row.node):
                    raise _Cannot(f"{file} imports {imported}, which does more than bind names")
        if any(alias.name == "*" for alias in node.names):
            raise _Cannot(f"{file} imports other names at once: {ast.unparse(node)}")
        return set(_imported(node))

    def _block(self, side: _Side, file: str, row: _Row) -> set[str]:
        """A block that only imports, binds constants, passes or raises."""
        bound: set[str] = set()
        for child in ast.walk(row.node):
            if isinstance(child, _IMPORTS):
                bound |= self._imports(side, file, child)
            elif isinstance(child, ast.Assign) and isinstance(child.value, ast.Constant):
                bound |= set(_assigned(child))
            elif isinstance(child, ast.stmt) and not isinstance(
                child, (*_BLOCKS, ast.Raise, ast.Pass)
            ):
                raise _Cannot(_runs(file, row))
        self._computed(side, file, row, [row.node])
        return bound

    def _function(self, file: str, name: str, old: _File, new: _File) -> None:
        kind, _, own = name.rpartition(".")
        if own in _IN_SILENCE and (kind or own in ("__getattr__", "__dir__")):
            raise _Cannot(f"{file} {name} differs, which runs when nobody calls it")
        decorators = [function.decorators.get(name, []) for function in (old, new)]
        if [ast.dump(d) for d in decorators[0]] != [ast.dump(d) for d in decorators[1]]:
            for side, of_side in zip(self._sides, decorators, strict=True):
                if any(_decorating(names) & side.own for names in of_side):
                    raise _Cannot(f"{file} {name} is decorated otherwise")
        if name in new.functions:
            self._found.add((file, name))
        if name in old.functions and name in new.functions:
            return
        if kind:
            simple = kind.rpartition(".")[2]
            self._classes.add(simple)
            # a class that no function of the packages makes shows itself by its name
            if not self._made_here(simple):
                self._names.add(simple)
        if not _both_ends(own):
            self._names.add(own)

    def _made_here(self, kind: str) -> bool:
        """Whether every object of a class enters a function of the packages when it is made."""
        b = self._sides[1]
        kinds = _closed({kind}, b.bases)
        return any(
            name.rpartition(".")[2] in ("__init__", "__new__")
            and name.rpartition(".")[0].rpartition(".")[2] in kinds
            for file in b.paths
            for name in b.file(file).functions
        )

    def functions(self, users: Iterable[Path]) -> frozenset[Key]:
        """Those of the new version that tell; raises ``_Cannot`` where every training may part."""
        b = self._sides[1]
        before = -1
        while len(self._names) + len(self._classes) != before:
            before = len(self._names) + len(self._classes)
            for file in b.mentioning(self._names):
                for row in b.file(file).rows:
                    self._follow(b, file, row)
        for path in users:
            used = _mentioned(ast.dump(ast.parse(path.read_bytes()))) & self._names
            if used:
                raise _Cannot(f"{path.name} uses {', '.join(sorted(used)[:3])}, which differs")
        family = self._family()
        for file in b.mentioning(self._names | family):
            for name, code in b.file(file).functions.items():
                if set(name.split(".")[:-1]) & family or _mentioned(code) & self._names:
                    self._found.add((file, name))
        return frozenset(self._found)

    def _follow(self, side: _Side, file: str, row: _Row) -> None:
        """What an import makes of names that mean something else."""
        node = row.node
        if isinstance(node, (*_IMPORTS, *_BLOCKS)):
            for child in ast.walk(node):
                if isinstance(child, _IMPORTS):
                    self._names |= set(_renamed(child, self._names))
            if isinstance(node, _IMPORTS):
                return
        if id(row) in self._known or not _mentioned(row.text) & self._names:
            return
        if isinstance(node, ast.ClassDef):
            self._computed(side, file, row, [*node.decorator_list, *node.keywords])
            self._classes.add(node.name)
            self._names.add(node.name)
        elif isinstance(node, _BLOCKS):
            # whichever way it goes, it binds these
            if _acts(node) or any(
                isinstance(inner_node, ast.ClassDef) for inner_node in ast.walk(node)
            ):
                raise _Cannot(_uses(file, node))
            self._computed(side, file, row, [node])
            every = {name for inner_node in ast.walk(node) for name in _assigned(inner_node)}
            self._names |= {name for name in every if name not in _INCIDENTAL_NAMES}
        elif not _assigned(node):
            raise _Cannot(_uses(file, node))
        else:
            self._computed(side, file, row, [node])
            self._names |= {name for name in _assigned(node) if name not in _INCIDENTAL_NAMES}
            if row.scope:
                self._classes.add(row.scope.rpartition(".")[2])
                self._names.add(row.scope.rpartition(".")[2])

    def _family(self) -> set[str]:
        """Classes, what they are made of, and what is made of them."""
        family: set[str] = set(self._classes)
        for side in self._sides:
            below: dict[str, set[str]] = {}
            for name, bases in side.bases.items():
                for base in bases:
                    below.setdefault(base, set()).add(name)
            family |= _closed(self._classes, side.bases) | _closed(self._classes, below)
        return family & (set(self._sides[0].bases) | set(self._sides[1].bases))


def _closed(kinds: Iterable[str], step: Mapping[str, Iterable[str]]) -> set[str]:
    executed, left = set(kinds), list(kinds)
    while left:
        for following in step.get(left.pop(), ()):
            if following not in executed:
                executed.add(following)
                left.append(following)
    return executed


# -- statements ------------------------------------------------------------------------------------


class _Untyped(ast.NodeTransformer):
    """Takes away docstrings and annotations."""

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        """A constant that stands by itself."""
        return ast.Pass() if isinstance(node.value, ast.Constant) else self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        """An argument keeps its name."""
        return ast.arg(node.arg)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """What it returns is not computed with."""
        node.returns = None
        return self.generic_visit(node)

    visit_AsyncFunctionDef = visit_FunctionDef  # type: ignore[assignment]

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        """A name with a type is a name."""
        self.generic_visit(node)
        if node.value is None:
            return ast.Pass()
        return ast.Assign(targets=[node.target], value=node.value, lineno=0)


class _Bare(ast.NodeTransformer):
    """Takes away functions and classes, which are looked at by themselves."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """The statement stays."""
        return ast.Pass()

    visit_AsyncFunctionDef = visit_ClassDef = visit_FunctionDef  # type: ignore[assignment]


def _definitions(node: ast.AST) -> Iterator[ast.stmt]:
    """Functions and classes of a block, the outer ones."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (*_FUNCTIONS, ast.ClassDef)):
            yield child
        else:
            yield from _definitions(child)


def _idle(node: ast.stmt, scope: str) -> bool:
    """Docstrings, what only tells somebody something, types, and what runs in no import."""
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant) or _words(node)
    if isinstance(node, ast.If) and not node.orelse:
        return ast.unparse(node.test).rpartition(".")[2] == "TYPE_CHECKING"
    if isinstance(node, ast.ImportFrom):
        return not node.level and node.module in _TYPES
    named = set(_assigned(node))
    return isinstance(node, ast.Pass) or bool(not scope and named and named <= _INCIDENTAL_NAMES)


def _only_typed(node: ast.stmt) -> bool:
    return isinstance(node, ast.AnnAssign) and node.value is None


def _words(node: ast.Expr) -> bool:
    """Whether a call tells somebody something, and nothing is computed for it."""
    call = node.value
    if not isinstance(call, ast.Call) or _simple(call.func) not in changed_functions.WORDS:
        return False
    inside = [child for given in (*call.args, *call.keywords) for child in ast.walk(given)]
    return not any(
        isinstance(statement, ast.NamedExpr | ast.Await | ast.Yield | ast.YieldFrom)
        or (isinstance(statement, ast.Call) and _simple(statement.func) not in _WORDING)
        for statement in inside
    )


def _acts(node: ast.stmt) -> bool:
    """Whether a statement does more than define, import and bind names."""
    if isinstance(node, (*_IMPORTS, ast.ClassDef, ast.Pass, ast.Raise)):
        return False
    if isinstance(node, _BLOCKS):
        inner = [
            child for child in ast.walk(node) if isinstance(child, ast.stmt) and child is not node
        ]
        return any(_acts(statement) for statement in inner)
    if isinstance(node, ast.AnnAssign) and node.value is None:
        return False
    return not _assigned(node)


def _assigned(node: ast.AST) -> list[str]:
    """Plain names that a statement binds to a value; none if it does anything else."""
    if isinstance(node, ast.Assign):
        targets = node.targets
    elif isinstance(node, ast.AnnAssign):
        targets = [node.target]
    else:
        return []
    names = [target.id for target in targets if isinstance(target, ast.Name)]
    return names if len(names) == len(targets) else []


def _filled(node: ast.AST) -> str:
    """Name of the container that a statement puts something into, if it calls nothing else."""
    if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)):
        return ""
    call, more = node.value, [*node.value.args, *node.value.keywords]
    if any(isinstance(child, ast.Call) for given in more for child in ast.walk(given)):
        return ""
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    return owner.id if isinstance(owner, ast.Name) and _simple(call.func) in _FILLING else ""


def _imported(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    """Names that an import binds."""
    for alias in node.names:
        whole = isinstance(node, ast.ImportFrom)
        yield alias.asname or (alias.name if whole else alias.name.partition(".")[0])


def _renamed(node: ast.Import | ast.ImportFrom, names: set[str]) -> Iterator[str]:
    """Names that an import binds to what names that mean something else stand for."""
    origin = set((getattr(node, "module", None) or "").split("."))
    for alias, bound in zip(node.names, _imported(node), strict=True):
        if (origin | set(alias.name.split("."))) & names:
            yield bound


def _simple(node: ast.AST) -> str:
    """The last name of an expression: of "th.nn.Module" or "Generic[T]"."""
    if isinstance(node, ast.Subscript):
        return _simple(node.value)
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _decorating(node: ast.expr) -> set[str]:
    """Names that a decorator calls; a property's own setter is none."""
    if isinstance(node, ast.Attribute) and node.attr in ("setter", "getter", "deleter"):
        return set()
    return {_simple(child) for child in ast.walk(node)} - {""}


def _mentioned(code: str) -> set[str]:
    """Names and words that stand in code, part by part."""
    parts = {part for literal in code.split("'")[1::2] for part in literal.split(".")}
    return {part for part in parts if part.isidentifier()}


def _both_ends(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def _runs(file: str, row: _Row) -> str:
    where = f" in {row.scope}" if row.scope else ""
    code = ast.unparse(ast.fix_missing_locations(row.node)).partition("\n")[0]
    return f"{file}{where} runs other code when it is imported: {code[:80]}"


def _uses(file: str, node: ast.stmt) -> str:
    code = ast.unparse(ast.fix_missing_locations(node)).partition("\n")[0]
    return f"{file} uses what differs when it is imported: {code[:80]}"
