"""Finds lines with lost names in a user's script and in its own files that it imports.

Sources are read, never run. Each name is imported in a process of each version. It is gone if
only the old version has it. Values of variables are not known: an attribute of one counts if its
name is gone.
"""

from __future__ import annotations

import ast
import contextlib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from rlregress.errors import UserError
from rlregress.model.upgrade_result import NamedLine, ScriptNames
from rlregress.source import UNREADABLE, list_files_below, list_sources_below
from rlregress.upgrade.differences.name_origins import find_full_names, parse_with_origins
from rlregress.upgrade.evidence import runtime_process
from rlregress.upgrade.evidence.runtimes import Runtimes
from rlregress.upgrade.versions import state

#: on one version: dotted path -> {"is": its kind} or {"error": why it cannot be imported}.
Imported = Mapping[str, Mapping[str, str]]
#: finds words that may be a part of a name.
_WORD = re.compile(rb"\w+")
#: functions that find something by its name -> the position of the argument with the name.
_BY_NAME = {
    "getattr": 1, "attrgetter": 0, "methodcaller": 0, "eval": 0, "exec": 0, "__import__": 0,
    "import_module": 0,
}  # fmt: skip
#: endings of files, other than Python sources, that may name what a script calls.
_SETTINGS = (".yaml", ".yml", ".json", ".toml", ".cfg", ".ini", ".ipynb")
#: the most bytes of such a file that is read; a larger one is taken for data.
_LARGEST = 2_000_000
#: folders with installed packages, and all folders whose files are not the user's own.
_INSTALLED = {"site-packages", "dist-packages"}
_NOT_OWN = {"__pycache__", ".git", "node_modules", *_INSTALLED}


def find_lost_names_in_script(
    script: Path, names: Collection[str], runtimes: Runtimes
) -> ScriptNames:
    """Return a script's lines with lost names, confirmed by importing these on both versions.

    Args:
        names: dotted paths of public names that are gone or incompatible.
    """
    searched = find_lines_naming(script, names)
    named = ((line.dotted, _name_as_callers_write(line.name)) for line in searched.lines)
    paths = sorted({path for pair in named for path in pair if not path.startswith(".")})
    if not paths:
        return searched
    old, new = runtimes.call_for_each_version(
        f"script-names-{state.name_recordings_folder(paths)}",
        runtime_process.run_module_on_version,
        "rlregress.inside.importable_names",
        {"names": paths},
    )
    try:
        return keep_lines_of_changed_names(searched, old.result(), new.result())
    except UserError as error:
        unread = (*searched.unread, f"what they import ({error})")
        return replace(searched, lines=(), unread=unread)


def _name_as_callers_write(name: str) -> str:
    """Return the name that a caller writes: of the constructor of a class, the class."""
    return name.removesuffix(".__init__")


def keep_lines_of_changed_names(searched: ScriptNames, old: Imported, new: Imported) -> ScriptNames:
    """Keep only the lines that use a name which the new version lacks or has made incompatible."""
    lines: list[NamedLine] = []
    for line in searched.lines:
        is_path = not line.dotted.startswith(".")
        name = _name_as_callers_write(line.name)
        path = line.dotted if is_path else name
        error = new[path].get("error", "")
        if error and "error" not in old[path]:
            why = error if is_path else f"if it is {line.name}: {error}"
        elif is_path and line.name != line.dotted and not error and new[path] == new[name]:
            why = f"{line.name} is incompatible"
        else:
            continue
        # the first path that fails is why longer ones do
        if not any((line.file, line.line) == (first.file, first.line) for first in lines):
            lines.append(replace(line, why=why))
    return replace(searched, lines=tuple(lines))


def find_lines_naming(script: Path, names: Collection[str]) -> ScriptNames:
    """Return the lines of a script and its own modules that name objects of the packages.

    A line that may use several of the names is returned once for each.

    Args:
        names: dotted paths, the package first.
    """
    folder, packages = script.parent, {name.partition(".")[0] for name in names}
    files, unread, lines, paths = [], [], [], [script]
    # it grows by the files that these import
    for path in paths:
        file = path.relative_to(folder).as_posix()
        try:
            text = path.read_text(encoding="utf-8")
            tree = parse_with_origins(text)
        except (OSError, *UNREADABLE):
            unread.append(file)
            continue
        files.append(file)
        named = {
            (line, dotted, name)
            for line, dotted in _list_dotted_names(tree)
            for name in {dotted, *names}
            if _may_be_same_name(name, dotted) and name.partition(".")[0] in packages
        }
        rows = text.splitlines()
        lines += [
            NamedLine(name=name, file=file, line=line, text=rows[line - 1].strip(), dotted=dotted)
            for line, dotted, name in sorted(named)
        ]
        imported = dict.fromkeys(_list_imported_files(tree, path.parent, folder, packages))
        paths += [file_imported for file_imported in imported if file_imported not in paths]
    return ScriptNames(files=tuple(files), unread=tuple(unread), lines=tuple(lines))


def find_unused_names(
    names: Iterable[str],
    own_files: Collection[Path],
    imported: Iterable[str],
    compared: Iterable[str],
) -> frozenset[str]:
    """Return the names that neither the user's files nor packages they import mention.

    The user's files and all packages that they import are read. An installed package that never
    names the compared ones uses nothing of them. If a file cannot be read, or the user's sources
    compute names of attributes, no name is returned.

    Args:
        own_files: the user's files: sources and settings.
        imported: folders and files of everything that they import.
        compared: folders of the compared packages, in the old version.
    """
    try:
        texts = [path.read_bytes() for path in own_files if path.suffix not in _SETTINGS]
        if any(_computes_attribute_names(ast.parse(text)) for text in texts):
            return frozenset()
        settings = [path for path in own_files if path.suffix in _SETTINGS]
        texts += [path.read_bytes() for path in settings if path.stat().st_size < _LARGEST]
        roots = {Path(folder) for folder in compared}
        modules = [root.stem.encode() for root in roots]
        for folder in {Path(place) for place in imported} - {*own_files}:
            if folder.name not in {root.name for root in roots}:
                files = [path.read_bytes() for path in list_sources_below(folder)]
                foreign = _INSTALLED & {*folder.parts}
                if not foreign or any(module in text for text in files for module in modules):
                    texts += files
        subclasses = _find_subclasses(path for root in roots for path in list_sources_below(root))
        written = set(_WORD.findall(b"\n".join(texts)))
        words_of = {name: _list_search_words(name, subclasses) for name in names}
        return frozenset(name for name, words in words_of.items() if words and not words & written)
    except (OSError, *UNREADABLE):
        return frozenset()


def list_user_files(script: Path, searched: ScriptNames) -> list[Path]:
    """Return the files of a script's user: those that were searched for names, and settings."""
    settings = [path for path in script.parent.iterdir() if path.suffix in _SETTINGS]
    own = [script.parent / file for file in (*searched.files, *searched.unread)]
    return [*own, *(path for path in settings if path.is_file())]


def find_names_unused_in_folder(
    folder: Path,
    report: Path,
    names: Iterable[str],
    imported: Iterable[str],
    compared: Collection[str],
) -> frozenset[str]:
    """Return the names that no file below a folder can use; see ``find_unused_names``.

    If nothing there names a compared package, the user's files lie elsewhere: none is unused.

    Args:
        report: the report's folder, which is left out: earlier reports list the names.
    """
    own = [path for path in list_files_below(folder, _NOT_OWN)
           if path.suffix in (".py", *_SETTINGS) and not path.is_relative_to(report)]  # fmt: skip
    modules = [Path(place).stem.encode() for place in compared]
    try:
        if not any(module in path.read_bytes() for path in own for module in modules):
            return frozenset()
    except OSError:
        return frozenset()
    return find_unused_names(names, own, imported, compared)


def _list_search_words(name: str, subclasses: Mapping[str, set[str]]) -> set[bytes]:
    """Return the words by which a source can use a public name; empty: only operators use it."""
    *before, last = name.split(".")
    if last == "__init__":
        classes = new = {before[-1]}
        while new := {heir for owner in new for heir in subclasses.get(owner, ())} - classes:
            classes = classes | new
        return {word.encode() for word in classes}
    return set() if last.startswith("__") else {last.encode()}


def _find_subclasses(files: Iterable[Path]) -> dict[str, set[str]]:
    """Return class -> classes that derive from it, and its other names."""
    subclasses: dict[str, set[str]] = {}
    for path in files:
        with contextlib.suppress(*UNREADABLE):
            for node in ast.walk(ast.parse(path.read_bytes())):
                names: list[str] = []
                bases: list[ast.expr] = []
                if isinstance(node, ast.ClassDef):
                    names, bases = [node.name], node.bases
                elif isinstance(node, ast.Assign):
                    names = [t.id for t in node.targets if isinstance(t, ast.Name)]
                    bases = [node.value]
                for base in bases:
                    owner = base.value if isinstance(base, ast.Subscript) else base
                    name = getattr(owner, "attr", getattr(owner, "id", ""))
                    subclasses.setdefault(name, set()).update(names)
    return subclasses


def _computes_attribute_names(tree: ast.Module) -> bool:
    """Return whether a source computes names of attributes that it reads, or code that it runs."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called = getattr(node.func, "attr", getattr(node.func, "id", None))
            names = node.args[_BY_NAME[called] :] if called in _BY_NAME else []
            if not all(isinstance(argument, ast.Constant) for argument in names[:1]):
                return True
    return False


def _may_be_same_name(name: str, dotted: str) -> bool:
    """Return whether a script's dotted path may mean a public name, which may have other paths.

    Args:
        dotted: begins with a point if the object of the attribute is not known.
    """
    parts = _name_as_callers_write(name).split(".")
    path = dotted.split(".")
    return parts[-1] == path[-1] and path[0] in ("", parts[0])


def _list_dotted_names(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield line and dotted path of all names of a source, each part of a path by itself."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.lineno, str(node.module)
            yield from ((alias.lineno, f"{node.module}.{alias.name}") for alias in node.names)
        elif isinstance(node, ast.Name):
            yield from ((node.lineno, name) for name in find_full_names(node) if name)
        elif isinstance(node, ast.Attribute):
            names = find_full_names(node) or {""}
            line = node.end_lineno or node.lineno
            yield from ((line, name or f".{node.attr}") for name in sorted(names))


def _list_imported_files(
    tree: ast.Module, own_folder: Path, folder: Path, packages: Collection[str]
) -> Iterator[Path]:
    """Yield files below the script's folder that a source imports, without compared packages."""
    for node in ast.walk(tree):
        modules: list[tuple[Path, str]] = []
        if isinstance(node, ast.Import):
            modules = [(folder, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = [own_folder, *own_folder.parents]
            base = above[min(node.level, len(above)) - 1] if node.level else folder
            stem = [node.module] if node.module else []
            modules = [(base, ".".join(stem))] if stem else []
            modules += [(base, ".".join([*stem, alias.name])) for alias in node.names]
        for base, module in modules:
            parts = module.split(".")
            if base.is_relative_to(folder) and parts[0] not in packages:
                yield from _list_module_files(base, parts)


def _list_module_files(base: Path, names: Sequence[str]) -> Iterator[Path]:
    """Yield the files that the import of a module runs, its packages first."""
    for part in names:
        base /= part
        for path in (base.with_name(f"{part}.py"), base / "__init__.py"):
            if path.is_file():
                yield path
