"""Where a user's script, and the files beside it that it imports, name what is gone.

Sources are read, never run. A name whose package an import gives is not taken for one of another
package; what a variable of the script holds is not known, and counts where the attribute is the
same.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from rlregress.model.upgrade_result import NamedLine, ScriptNames
from rlregress.source import UNREADABLE


def search(script: Path, names: Collection[str]) -> ScriptNames:
    """The lines that name any of some public names.

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
            (line, name) for line, dotted in _named(tree) for name in names if _is(name, dotted)
        }
        rows = text.splitlines()
        lines += [
            NamedLine(name=name, file=file, line=line, text=rows[line - 1].strip())
            for line, name in sorted(found)
        ]
        known = {*files, *unread, *(of.relative_to(folder).as_posix() for of in left)}
        for imported in dict.fromkeys(_imported(tree, path.parent, folder, packages)):
            if imported.relative_to(folder).as_posix() not in known:
                left.append(imported)
    return ScriptNames(files=tuple(files), unread=tuple(unread), lines=tuple(lines))


def _is(name: str, dotted: str) -> bool:
    """Whether what a script calls this may be that public name; a path may lead there another way.

    Args:
        dotted: begins with a point where it is not known what the attribute is of.
    """
    parts = name.removesuffix(".__init__").split(".")
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


def _imported(
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
