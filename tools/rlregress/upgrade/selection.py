"""Which functions can tell two sides apart: a training that enters none of them does the same.

A training is fixed by its seeds, the machine and the code that it runs. Where everything beside the
packages under test is the same on both sides, only code that differs can part it: functions that
differ, and functions that use a name which the import of a module binds to something else. This is
regression test selection by what is executed (Rothermel and Harrold, 1997, "A safe, efficient
regression test selection technique"), for whole trainings.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rlregress.upgrade import functions

#: files that no code reads, beside those of Python.
_WORDS = frozenset({".md", ".rst", ".txt", ".typed", ".pyi", ".pyc"})
#: what a class does when another is made of it, without anybody naming it.
_IN_SILENCE = frozenset({"__init_subclass__", "__set_name__", "__class_getitem__", "__prepare__"})
#: methods that put something into a container.
_FILLING = frozenset({"update", "append", "extend", "add", "setdefault"})
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
Key = tuple[str, str]


@dataclass(frozen=True)
class Telling:
    """What has to be entered for the sides to part.

    Attributes:
        functions: file below the folder of its package and qualified name, as side B has them.
        because: why every training may part, whatever it enters; "" if that is not so.
    """

    functions: frozenset[Key] = frozenset()
    because: str = ""


@dataclass
class _Names:
    """Names that mean something else on the other side.

    Attributes:
        anywhere: in every file, such as constants and attributes of classes.
        within: file -> names that mean something else there: what it imports.
        classes: simple names of classes of which every method counts.
    """

    anywhere: set[str] = field(default_factory=set)
    within: dict[str, set[str]] = field(default_factory=dict)
    classes: set[str] = field(default_factory=set)

    @property
    def count(self) -> int:
        """How many there are: names only come in."""
        return len(self.anywhere) + sum(map(len, self.within.values())) + len(self.classes)


def telling(a: Sequence[str], b: Sequence[str]) -> Telling:
    """Functions of side B by which the packages of two sides can be told apart.

    Args:
        a, b: folders of the packages on either side.
    """
    sides = _Side(a), _Side(b)
    files = sorted(set(sides[0].paths) | set(sides[1].paths))
    differing = [file for file in files if sides[0].text(file) != sides[1].text(file)]
    names = _Names(anywhere=_others(a, b))
    for file in differing:
        said = _of_import(file, [side.statements(file) for side in sides], names)
        if said:
            return Telling(because=said)
    found: set[Key] = set()
    for file in differing:
        rows = [side.functions(file) for side in sides]
        for name in sorted(set(rows[0]) | set(rows[1])):
            one, other = rows[0].get(name), rows[1].get(name)
            if name.startswith("<") or one == other:
                continue
            if name.rpartition(".")[2] in _IN_SILENCE:
                return Telling(because=f"{file} {name} differs, which runs when a class is made")
            if other is not None:
                found.add((file, name))
            if one is None or other is None:
                _gone_or_new(name, names)
    return _spread(found, names, sides)


def _gone_or_new(name: str, names: _Names) -> None:
    """Who asks for a function by its name, and who has it from a class, meets another."""
    kind, _, own = name.rpartition(".")
    if kind:
        names.classes.add(kind.rpartition(".")[2])
    if not own.startswith("__"):
        names.anywhere.add(own)


def _others(a: Sequence[str], b: Sequence[str]) -> set[str]:
    """Names without endings of the files that differ and are none of Python."""
    found = []
    for folders in (a, b):
        found.append(
            {
                str(path.relative_to(Path(folder).parent)): path
                for folder in folders
                for path in Path(folder).rglob("*")
                if path.is_file() and path.suffix not in {".py", *_WORDS}
            }
        )
    one, other = found
    return {
        Path(file).name.partition(".")[0]
        for file in set(one) | set(other)
        if file not in one
        or file not in other
        or one[file].read_bytes() != other[file].read_bytes()
    }


class _Side:
    """The sources of one side."""

    def __init__(self, folders: Sequence[str]) -> None:
        self.paths = functions.files(folders)
        self._texts: dict[str, bytes] = {}
        self._functions: dict[str, dict[str, str]] = {}
        self._at_import: dict[str, list[tuple[str, ast.stmt]]] = {}

    def text(self, file: str) -> bytes:
        """Of a file; nothing where there is none."""
        if file not in self._texts:
            path = self.paths.get(file)
            self._texts[file] = path.read_bytes() if path is not None else b""
        return self._texts[file]

    def functions(self, file: str) -> dict[str, str]:
        """Qualified name -> what it does, with what it imports itself."""
        if file not in self._functions:
            text = self.text(file)
            imported = _inner_imports(text)
            self._functions[file] = {
                name: each.code + imported.get(name, "")
                for name, each in functions.of_text(text).items()
            }
        return self._functions[file]

    def statements(self, file: str) -> list[tuple[str, ast.stmt]]:
        """Scope ("" of a module, or the class) and statement of all that runs at import."""
        if file not in self._at_import:
            try:
                self._at_import[file] = list(_statements(ast.parse(self.text(file)), ""))
            except (SyntaxError, ValueError):
                self._at_import[file] = []
        return self._at_import[file]

    def mentioning(self, names: Iterable[str]) -> list[str]:
        """Files in which a name stands."""
        pattern = re.compile(rb"\b(" + b"|".join(re.escape(n.encode()) for n in names) + rb")\b")
        return [file for file in self.paths if pattern.search(self.text(file))]


def _inner_imports(text: bytes) -> dict[str, str]:
    """Qualified name of a function -> the imports inside it."""
    found: dict[str, str] = {}

    def visit(node: ast.AST, name: str, inside: bool) -> None:
        for child in ast.iter_child_nodes(node):
            own, within = name, inside
            if isinstance(child, _DEFINITIONS):
                own = f"{name}.{child.name}" if name else child.name
                within = inside or not isinstance(child, ast.ClassDef)
            if isinstance(child, ast.Import | ast.ImportFrom) and inside:
                found[name] = found.get(name, "") + "\n" + ast.unparse(child)
            visit(child, own, within)

    try:
        visit(ast.parse(text), "", False)
    except (SyntaxError, ValueError):
        return {}
    return found


def _statements(node: ast.Module | ast.ClassDef, scope: str) -> Iterator[tuple[str, ast.stmt]]:
    for child in node.body:
        if isinstance(child, ast.ClassDef):
            name = f"{scope}.{child.name}" if scope else child.name
            # what it is made of, without what stands in it
            bases, made = (child.bases, child.keywords), child.decorator_list
            yield scope, ast.ClassDef(child.name, *bases, [], made)
            yield from _statements(child, name)
        elif not isinstance(child, _DEFINITIONS) and not _idle(child):
            yield scope, child


def _idle(node: ast.stmt) -> bool:
    """Docstrings, what only tells somebody something, and what runs in no import."""
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant) or _called(node) in functions.WORDS
    if isinstance(node, ast.If):
        test = ast.unparse(node.test)
        return test.rpartition(".")[2] == "TYPE_CHECKING" or test == "__name__ == '__main__'"
    return isinstance(node, ast.Pass)


def _of_import(file: str, sides: Sequence[Sequence[tuple[str, ast.stmt]]], names: _Names) -> str:
    """Note what the import of a file binds otherwise; in words, what cannot be told apart."""
    counts = [
        Counter((scope, row) for scope, node in side for row in _rows(node)) for side in sides
    ]
    for scope, row in (counts[0] - counts[1]) + (counts[1] - counts[0]):
        kind, name = row[0], row[1]
        if kind == "import":
            if name == "*":
                return f"{file} imports other names at once: {row[2]}"
            names.within.setdefault(file, set()).add(name)
        elif kind == "class":
            names.anywhere.add(name)
            names.classes.add(name)
        elif kind == "bind":
            names.anywhere.add(name)
        else:
            where = f" in {scope}" if scope else ""
            return f"{file}{where} runs other code when it is imported: {row[2]}"
    return ""


def _rows(node: ast.stmt) -> Iterator[tuple[str, str, str]]:
    """What a statement binds: kind, name, and to what."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        origin = f"{'.' * node.level}{node.module}." if isinstance(node, ast.ImportFrom) else ""
        for alias in node.names:
            if origin == "__future__.":
                continue
            bound = alias.asname or (alias.name if origin else alias.name.partition(".")[0])
            yield "import", bound, origin + alias.name
        return
    if isinstance(node, ast.ClassDef):
        made = [*node.bases, *node.keywords, *node.decorator_list]
        yield "class", node.name, ", ".join(ast.dump(each) for each in made)
        return
    targets = list(_bound(node))
    if not targets or _acts(node):
        yield "other", "", ast.unparse(node).partition("\n")[0]
        return
    if isinstance(node, ast.If | ast.Try | ast.With):
        # with what it hangs on
        text = ast.unparse(_without_definitions(node))
    else:
        text = ast.unparse(_untyped(node))
    for name in targets:
        if name.startswith("__") and name.endswith("__"):
            continue
        yield "bind", name, text


def _untyped(node: ast.stmt) -> ast.stmt:
    if isinstance(node, ast.AnnAssign) and node.value is not None:
        return ast.Assign(targets=[node.target], value=node.value, lineno=0)
    return node


def _without_definitions(node: ast.stmt) -> ast.stmt:
    class Without(ast.NodeTransformer):
        def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
            return ast.Pass()

        def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
            return ast.Pass()

    return Without().visit(ast.parse(ast.unparse(node)).body[0])


def _called(node: ast.stmt) -> str:
    """Simple name of what a statement calls and does nothing else with."""
    if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)):
        return ""
    return ast.unparse(node.value.func).rpartition(".")[2]


def _filled(node: ast.AST) -> str:
    """Name of the container that a statement puts something into, if it calls nothing else."""
    if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)):
        return ""
    call, more = node.value, [*node.value.args, *node.value.keywords]
    if any(isinstance(each, ast.Call) for given in more for each in ast.walk(given)):
        return ""
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    return owner.id if isinstance(owner, ast.Name) and _called(node) in _FILLING else ""


def _bound(node: ast.AST) -> Iterator[str]:
    """Names that a statement binds; of an attribute or an entry, the name that has it."""
    if isinstance(node, _DEFINITIONS):
        yield node.name
        return
    if isinstance(node, ast.Import | ast.ImportFrom):
        for alias in node.names:
            yield alias.asname or alias.name.partition(".")[0]
        return
    if _filled(node):
        yield _filled(node)
        return
    targets: list[ast.expr] = []
    if isinstance(node, ast.Assign):
        targets = node.targets
    elif isinstance(node, ast.AnnAssign | ast.AugAssign):
        targets = [node.target]
    for target in targets:
        for each in ast.walk(target):
            if isinstance(each, ast.Name):
                yield each.id
            elif isinstance(each, ast.Attribute):
                yield each.attr
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt | ast.ExceptHandler):
            yield from _bound(child)


def _acts(node: ast.stmt) -> bool:
    """Whether it does more than bind names and tell somebody something."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        return _called(node) not in functions.WORDS and not _filled(node)
    if isinstance(node, ast.Delete | ast.For | ast.While):
        return True
    return any(
        _acts(child)
        for each in ast.iter_child_nodes(node)
        if not isinstance(each, _DEFINITIONS)
        for child in (each.body if isinstance(each, ast.ExceptHandler) else [each])
        if isinstance(child, ast.stmt)
    )


def _spread(
    found: set[Key],
    names: _Names,
    sides: tuple[_Side, _Side],
) -> Telling:
    """Follow the names through everything that is bound to them, to the functions that use them."""
    b = sides[1]
    before = -1
    while names.count != before:
        before = names.count
        _through_imports(b, names)
        said = _through_statements(b, names)
        if said:
            return Telling(because=said)
    family = _family(sides, names.classes)
    for file in _files_to_read(b, names, family):
        within = names.within.get(file, set())
        for name, code in b.functions(file).items():
            if name.startswith("<"):
                continue
            kinds = set(name.split(".")[:-1])
            if kinds & family or _uses(code, names.anywhere, within):
                found.add((file, name))
    return Telling(frozenset(found))


def _files_to_read(b: _Side, names: _Names, family: set[str]) -> list[str]:
    every = names.anywhere | family
    found = set(b.mentioning(every)) if every else set()
    return sorted(found | {file for file in names.within if file in b.paths})


def _uses(code: str, anywhere: set[str], within: set[str]) -> bool:
    mentioned = set(re.findall(r"'([\w.]+)'", code))
    parts = {part for each in mentioned for part in each.split(".")}
    return bool(parts & anywhere) or any(f"id='{name}'" in code for name in within)


def _through_imports(b: _Side, names: _Names) -> None:
    """Who imports a name of a file that binds it otherwise, binds it otherwise."""
    changed = {name for within in names.within.values() for name in within}
    if not changed:
        return
    for file in b.mentioning(changed):
        for _, node in b.statements(file):
            if not isinstance(node, ast.ImportFrom):
                continue
            sources = [s for s in names.within if _is_module(s, node, file)]
            for alias in node.names:
                if any(alias.name in names.within[s] for s in sources if s != file):
                    names.within.setdefault(file, set()).add(alias.asname or alias.name)


def _is_module(file: str, node: ast.ImportFrom, importing: str) -> bool:
    """Whether a module is what is imported from."""
    module = file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    if not node.level:
        return node.module == module
    above = importing.removesuffix(".py").split("/")[: -node.level]
    return ".".join([*above, *([node.module] if node.module else [])]) == module


def _through_statements(b: _Side, names: _Names) -> str:
    """What the import of a module makes of such names; in words, what cannot be followed."""
    every = names.anywhere | {name for within in names.within.values() for name in within}
    for file in b.mentioning(every) if every else ():
        within = names.within.get(file, set())
        for _, node in b.statements(file):
            if isinstance(node, ast.Import | ast.ImportFrom):
                for alias in node.names:
                    if alias.name in names.anywhere and alias.asname:
                        names.anywhere.add(alias.asname)
                continue
            bare = _untyped(node) if not isinstance(node, ast.ClassDef) else node
            if not _uses(ast.dump(bare), names.anywhere, within):
                continue
            if isinstance(node, ast.ClassDef):
                names.classes.add(node.name)
                names.anywhere.add(node.name)
                continue
            binds = list(_bound(node))
            bound = [name for name in binds if not name.startswith("__")]
            if _acts(node) or not binds:
                return f"{file} uses what differs when it is imported: {ast.unparse(node)[:80]}"
            names.anywhere.update(bound)
    return ""


def _family(sides: Iterable[_Side], kinds: set[str]) -> set[str]:
    """Simple names of classes, of those that they are made of, and of those made of them."""
    if not kinds:
        return set()
    above: dict[str, set[str]] = {}
    for side in sides:
        for file in side.paths:
            if b"class " not in side.text(file):
                continue
            for _, node in side.statements(file):
                if isinstance(node, ast.ClassDef):
                    bases = {ast.unparse(base).rpartition(".")[2] for base in node.bases}
                    above.setdefault(node.name, set()).update(bases)
    below: dict[str, set[str]] = {}
    for name, bases in above.items():
        for base in bases:
            below.setdefault(base, set()).add(name)
    return _closed(kinds, above, above) | _closed(kinds, below, above)


def _closed(kinds: set[str], step: Mapping[str, set[str]], known: Mapping[str, object]) -> set[str]:
    found, left = set(kinds), list(kinds)
    while left:
        for other in step.get(left.pop(), ()):
            if other in known and other not in found:
                found.add(other)
                left.append(other)
    return found
