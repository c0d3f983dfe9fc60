"""Where a user's script, and the files beside it that it imports, name what is gone.

Sources are read, never run. What they name is imported in a process of either version: it is gone
if the old version has it, and the new one does not. What a variable of the script holds is not
known: of its attributes those count whose name is gone.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from rlregress.errors import UserError
from rlregress.model.upgrade_result import NamedLine, ScriptNames
from rlregress.source import UNREADABLE
from rlregress.tracing.recording_processes import Side
from rlregress.upgrade import side_process, state
from rlregress.upgrade.sides import Sides

#: dotted path -> "is", what it is, or "error", why there is no such thing; of one version.
Imported = Mapping[str, Mapping[str, str]]
_WORKER = "rlregress.inside.importable_names"


def gone(script: Path, names: Collection[str], sides: Sides) -> ScriptNames:
    """Return the lines that name what is gone or incompatible, as imports in both versions show.

    Args:
        names: dotted paths of public names that are gone or incompatible.
    """
    found = search(script, names)
    paths = sorted({path for line in found.lines for path in (line.dotted, _owner(line.name))
                    if not path.startswith(".")})  # fmt: skip
    if not paths:
        return found
    old, new = sides.run(f"script-names-{state.key_of(paths)}", _imported, paths)
    try:
        return confirmed(found, old.result(), new.result())
    except UserError as error:
        unread = (*found.unread, f"what they import ({error})")
        return replace(found, lines=(), unread=unread)


def _imported(side: Side, kept: Path, paths: Sequence[str]) -> Imported:
    answers: Imported = side_process.run_module(side, _WORKER, {"names": paths}, kept)
    return answers


def _owner(name: str) -> str:
    """Return what a caller names: of the arguments of a class, the class."""
    return name.removesuffix(".__init__")


def confirmed(found: ScriptNames, old: Imported, new: Imported) -> ScriptNames:
    """Return only the lines whose name the new version does not have, or has otherwise."""
    lines: list[NamedLine] = []
    for line in found.lines:
        known = not line.dotted.startswith(".")
        name = _owner(line.name)
        path = line.dotted if known else name
        error = new[path].get("error", "")
        if error and "error" not in old[path]:
            why = error if known else f"if it is {line.name}: {error}"
        elif known and line.name != line.dotted and not error and new[path] == new[name]:
            why = f"{line.name} is incompatible"
        else:
            continue
        # the first path that fails is why longer ones do
        if not any((line.file, line.line) == (other.file, other.line) for other in lines):
            lines.append(replace(line, why=why))
    return replace(found, lines=tuple(lines))


def search(script: Path, names: Collection[str]) -> ScriptNames:
    """Return the lines that name anything of the packages of some public names.

    A line that may name one of these stands there for each.

    Args:
        names: dotted paths, the package first.
    """
    folder, packages = script.parent, {name.partition(".")[0] for name in names}
    files, unread, lines, left = [], [], [], [script]
    while left:
        path = left.pop(0)
        file = path.relative_to(folder).as_posix()
        try:
            text = path.read_text(encoding="utf-8")
            tree = ast.parse(text)
        except (OSError, *UNREADABLE):
            unread.append(file)
            continue
        files.append(file)
        found = {
            (line, dotted, name)
            for line, dotted in _named(tree)
            for name in {dotted, *names}
            if _is(name, dotted) and name.partition(".")[0] in packages
        }
        rows = text.splitlines()
        lines += [
            NamedLine(name=name, file=file, line=line, text=rows[line - 1].strip(), dotted=dotted)
            for line, dotted, name in sorted(found)
        ]
        known = {*files, *unread, *(of.relative_to(folder).as_posix() for of in left)}
        for imported in dict.fromkeys(_files_imported(tree, path.parent, folder, packages)):
            if imported.relative_to(folder).as_posix() not in known:
                left.append(imported)
    return ScriptNames(files=tuple(files), unread=tuple(unread), lines=tuple(lines))


def _is(name: str, dotted: str) -> bool:
    """Whether what a script calls this may be that public name; a path may lead there another way.

    Args:
        dotted: begins with a point where it is not known what the attribute is of.
    """
    parts = _owner(name).split(".")
    found = dotted.split(".")
    return parts[-1] == found[-1] and found[0] in ("", parts[0])


def _named(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and dotted path of everything that a source names, every part of a path for itself."""
    known = dict(_bound(tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.lineno, str(node.module)
            yield from ((alias.lineno, f"{node.module}.{alias.name}") for alias in node.names)
        elif isinstance(node, ast.Name) and node.id in known:
            yield node.lineno, known[node.id]
        elif isinstance(node, ast.Attribute):
            yield node.end_lineno or node.lineno, _dotted(node, known)


def _bound(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Names that imports bind, each with what it is."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.partition(".")[0]
                yield alias.asname or top, alias.name if alias.asname else top
        elif isinstance(node, ast.ImportFrom) and not node.level:
            for alias in node.names:
                yield alias.asname or alias.name, f"{node.module}.{alias.name}"


def _dotted(node: ast.Attribute, known: dict[str, str]) -> str:
    """``a.b.c``, its root by its import; ``.c`` where that is a value of the script."""
    names, of = [node.attr], node.value
    while isinstance(of, ast.Attribute):
        names.append(of.attr)
        of = of.value
    if isinstance(of, ast.Name) and of.id in known:
        return ".".join([known[of.id], *reversed(names)])
    return f".{node.attr}"


def _files_imported(
    tree: ast.Module, here: Path, folder: Path, packages: Collection[str]
) -> Iterator[Path]:
    """Files below the script's folder that a source imports, without the compared packages."""
    for node in ast.walk(tree):
        modules: list[tuple[Path, str]] = []
        if isinstance(node, ast.Import):
            modules = [(folder, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = [here, *here.parents]
            base = above[min(node.level, len(above)) - 1] if node.level else folder
            stem = [node.module] if node.module else []
            modules = [(base, ".".join(stem))] if stem else []
            modules += [(base, ".".join([*stem, alias.name])) for alias in node.names]
        for base, module in modules:
            parts = module.split(".")
            if base.is_relative_to(folder) and parts[0] not in packages:
                yield from _files(base, parts)


def _files(base: Path, parts: Sequence[str]) -> Iterator[Path]:
    """The files that the import of a module runs, its packages first."""
    for part in parts:
        base /= part
        for path in (base.with_name(f"{part}.py"), base / "__init__.py"):
            if path.is_file():
                yield path
