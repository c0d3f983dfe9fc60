"""What changed in what distributions declare: requirements, Python, extras and entry points.

Declarations are read, never executed. What cannot be read is a change of the kind "unread".
"""

from __future__ import annotations

import ast
import configparser
import importlib.metadata
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Annotated, Any

from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.specifiers import InvalidSpecifier, Specifier, SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version
from pydantic import ConfigDict, Field

from rlregress import datafiles
from rlregress.errors import UserError
from rlregress.upgrade import distribution_metadata

#: fields of a declaration, as ``Declared.unread`` names them.
REQUIRES, PYTHON, EXTRAS, ENTRY_POINTS = "requires", "requires_python", "extras", "entry_points"


@dataclass(frozen=True, kw_only=True)
class Declared:
    """What one version of a distribution declares.

    Attributes:
        requires: with markers and extras, as declared.
        requires_python: a set of specifiers; empty: every Python.
        extras: canonical names.
        entry_points: (group, name) -> what it points at.
        unread: field -> why it could not be read; its value is not to be used.
    """

    name: str
    version: str
    requires: tuple[Requirement, ...] = ()
    requires_python: str = ""
    extras: frozenset[str] = frozenset()
    entry_points: Mapping[tuple[str, str], str] = field(default_factory=dict)
    unread: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class RequirementChange:
    """One difference between what two versions declare.

    Attributes:
        kind: "requirement", "python", "extra", "entry point" or "unread".
        package: what is required, or the name of the extra or entry point.
        old, new: as declared; empty: not declared.
        narrows: an environment that satisfied the old declaration may not satisfy the new one, or
            something is gone. What is unread counts as narrowing.
        summary: one sentence.
    """

    kind: str
    package: str
    old: str
    new: str
    narrows: bool
    summary: str


# -- what a distribution declares ------------------------------------------------------------------


def declared(distribution: importlib.metadata.Distribution) -> Declared:
    """What an installed or unpacked distribution declares."""
    rows = distribution.requires or []
    unreadable = [row for row in rows if distribution_metadata.readable(row) is None]
    facts = distribution.metadata
    return Declared(
        name=distribution_metadata.name_of(distribution),
        version=distribution.version,
        requires=tuple(r for r in map(distribution_metadata.readable, rows) if r is not None),
        requires_python=next(iter(facts.get_all("Requires-Python") or ()), ""),
        extras=frozenset(canonicalize_name(x) for x in facts.get_all("Provides-Extra") or ()),
        entry_points={(e.group, e.name): e.value for e in distribution.entry_points},
        unread={REQUIRES: f"the metadata holds {unreadable}"} if unreadable else {},
    )


def declared_by_tree(folder: Path) -> Declared:
    """What a working tree declares: in pyproject.toml, setup.cfg, or literals in setup.py."""
    values: dict[str, Any] = {}
    # the first that declares a field decides: setuptools reads them in this order
    for name, reader in (
        ("pyproject.toml", _pyproject),
        ("setup.cfg", _setup_cfg),
        ("setup.py", _setup_py),
    ):
        if (folder / name).is_file():
            try:
                found = reader((folder / name).read_text(encoding="utf-8"))
            except (
                ValueError, SyntaxError, RecursionError, UserError, configparser.Error
            ) as error:  # fmt: skip
                found = dict.fromkeys(_FIELDS, _Unread(f"{name} cannot be read: {error}"))
            values = {**found, **values}
    if not values:
        nothing = _Unread("there is no [project] in pyproject.toml, no setup.cfg and no setup.py")
        values = dict.fromkeys(_FIELDS, nothing)
    unread = {name: str(v) for name, v in values.items() if isinstance(v, _Unread)}
    read = {name: v for name, v in values.items() if not isinstance(v, _Unread)}
    try:
        optional = {
            str(canonicalize_name(extra.partition(":")[0])): [
                _in_extra(row, extra) for row in _rows(given)
            ]
            for extra, given in read.get(EXTRAS, {}).items()
        }
        core = [Requirement(row) for row in _rows(read.get(REQUIRES, []))]
    except ValueError as error:
        unread.setdefault(REQUIRES, f"a requirement cannot be read: {error}")
        core, optional = [], {}
    return Declared(
        name=str(canonicalize_name(read.get("name") or folder.name)),
        version=read.get("version") or "",
        requires=(*core, *(row for rows in optional.values() for row in rows)),
        requires_python=read.get(PYTHON, ""),
        extras=frozenset(extra for extra in optional if extra),
        entry_points=_entry_points(read.get(ENTRY_POINTS, {})),
        unread={name: why for name, why in unread.items() if name in _FIELDS},
    )


_FIELDS = (REQUIRES, PYTHON, EXTRAS, ENTRY_POINTS)


class _Unread(str):
    """Why a declaration cannot be read without running something."""

    __slots__ = ()


_Names = Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class _Project:
    name: str
    version: str = ""
    dependencies: tuple[str, ...] = ()
    python: Annotated[str, Field(alias="requires-python")] = ""
    optional: Annotated[Mapping[str, tuple[str, ...]], Field(alias="optional-dependencies")] = (
        field(default_factory=dict)
    )
    scripts: _Names = field(default_factory=dict)
    windows: Annotated[_Names, Field(alias="gui-scripts")] = field(default_factory=dict)
    others: Annotated[Mapping[str, _Names], Field(alias="entry-points")] = field(
        default_factory=dict
    )
    dynamic: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class _Setuptools:
    dynamic: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class _Tools:
    setuptools: _Setuptools | None = None


@dataclass(frozen=True, kw_only=True)
class _Pyproject:
    """What is read of a ``pyproject.toml``."""

    __pydantic_config__ = ConfigDict(strict=True, extra="ignore")

    project: _Project | None = None
    tool: _Tools | None = None


def _pyproject(text: str) -> dict[str, Any]:
    parsed = tomllib.loads(text)
    datafiles.checked(parsed, _Pyproject, Path("pyproject.toml"))
    project = parsed.get("project")
    if project is None:
        poetry = parsed.get("tool", {}).get("poetry")
        why = _Unread("pyproject.toml declares for poetry, without [project]")
        return {} if poetry is None else dict.fromkeys(_FIELDS, why)
    scripts = {
        "console_scripts": project.get("scripts", {}),
        "gui_scripts": project.get("gui-scripts", {}),
    }
    found = {
        "name": project["name"],
        "version": project.get("version"),
        REQUIRES: project.get("dependencies", []),
        PYTHON: project.get("requires-python", ""),
        EXTRAS: project.get("optional-dependencies", {}),
        ENTRY_POINTS: {**project.get("entry-points", {}), **scripts},
    }
    keys = {
        "version": "version",
        "dependencies": REQUIRES,
        "requires-python": PYTHON,
        "optional-dependencies": EXTRAS,
        "entry-points": ENTRY_POINTS,
        "scripts": ENTRY_POINTS,
        "gui-scripts": ENTRY_POINTS,
    }
    elsewhere = parsed.get("tool", {}).get("setuptools", {}).get("dynamic", {})
    for key in project.get("dynamic", []):
        if key in keys and key not in elsewhere:
            # setup.cfg or setup.py may declare it
            found.pop(keys[key], None)
        elif key in keys:
            found[keys[key]] = _Unread(f"pyproject.toml takes {key} from another file")
    return found


def _setup_cfg(text: str) -> dict[str, Any]:
    parser = configparser.ConfigParser(interpolation=None)
    parser.read_string(text)
    found: dict[str, Any] = {}
    for name, section, key in (
        ("name", "metadata", "name"),
        ("version", "metadata", "version"),
        (REQUIRES, "options", "install_requires"),
        (PYTHON, "options", "python_requires"),
        (EXTRAS, "options", "extras_require"),
        (ENTRY_POINTS, "options", "entry_points"),
    ):
        if parser.has_option(section, key):
            found[name] = parser.get(section, key)
        elif parser.has_section(f"{section}.{key}"):
            found[name] = dict(parser.items(f"{section}.{key}"))
        value = str(found.get(name, "")).lstrip()
        if value.startswith(("file:", "attr:")):
            line = _line(text, key)
            found[name] = _Unread(f"setup.cfg:{line} takes {key} from another file: {value}")
    return found


def _line(text: str, start: str) -> int:
    lines = [n for n, line in enumerate(text.splitlines(), 1) if line.startswith(start)]
    return lines[0] if lines else 1


def _setup_py(text: str) -> dict[str, Any]:
    module = ast.parse(text)
    names = _constants(module)
    keys = {
        "name": "name",
        "version": "version",
        "install_requires": REQUIRES,
        "python_requires": PYTHON,
        "extras_require": EXTRAS,
        "entry_points": ENTRY_POINTS,
    }
    found: dict[str, Any] = {}
    for call in ast.walk(module):
        if not isinstance(call, ast.Call) or ast.unparse(call.func).split(".")[-1] != "setup":
            continue
        for argument in call.keywords:
            if argument.arg is None:
                why = _Unread(f"setup.py:{argument.value.lineno} passes arguments by name, as **")
                found = {**dict.fromkeys(_FIELDS, why), **found}
            elif argument.arg in keys:
                try:
                    value: Any = _literal(argument.value, names)
                except ValueError as error:
                    value = _Unread(f"setup.py:{error}: {argument.arg} is no literal")
                found[keys[argument.arg]] = value
    return found


def _constants(module: ast.Module) -> dict[str, ast.expr]:
    """What names of a module stand for that are bound once and then only read."""
    inside = {child: node for node in ast.walk(module) for child in ast.iter_child_nodes(node)}
    used = [(node, inside[node]) for node in ast.walk(module) if isinstance(node, ast.Name)]
    bound = Counter(name.id for name, _ in used if not isinstance(name.ctx, ast.Load))
    # an attribute such as .append, an index, a loop or a call may change a list
    reads = (ast.BinOp, ast.List, ast.Tuple, ast.Dict, ast.Starred, ast.keyword, ast.Assign)
    changed = {name.id for name, user in used if not isinstance(user, reads)}
    return {
        target.id: statement.value
        for statement in module.body
        if isinstance(statement, ast.Assign)
        for target in statement.targets
        if isinstance(target, ast.Name) and bound[target.id] == 1 and target.id not in changed
    }


def _literal(node: ast.expr, names: Mapping[str, ast.expr]) -> Any:
    """The value of a literal, of a name that is bound once to one, or of a sum of such.

    Raises:
        ValueError: it is none; str: its line.
    """
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.List | ast.Tuple):
        parts = [
            _literal(x.value, names) if isinstance(x, ast.Starred) else [_literal(x, names)]
            for x in node.elts
        ]
        return [x for part in parts for x in part]
    if isinstance(node, ast.Dict) and all(node.keys):
        pairs = zip(node.keys, node.values, strict=True)
        return {_literal(k, names): _literal(v, names) for k, v in pairs if k is not None}
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _literal(node.left, names) + _literal(node.right, names)
    if isinstance(node, ast.Name) and node.id in names:
        return _literal(names[node.id], names)
    raise ValueError(str(node.lineno))


def _rows(given: Any) -> list[str]:
    lines = given.splitlines() if isinstance(given, str) else given
    return [line.strip() for line in lines if line.strip() and not line.strip().startswith("#")]


def _in_extra(row: str, extra: str) -> Requirement:
    requirement = Requirement(row)
    # setup.py may put a marker behind the name of an extra: "test:python_version<'3.9'"
    name, _, condition = extra.partition(":")
    markers = [str(requirement.marker)] if requirement.marker else []
    markers += [condition] if condition else []
    markers += [f"extra == '{canonicalize_name(name)}'"] if name else []
    text = " and ".join(f"({marker})" for marker in markers)
    requirement.marker = Marker(text)
    return requirement


def _entry_points(given: Any) -> dict[tuple[str, str], str]:
    if isinstance(given, str):
        # setup() takes the text of entry_points.txt, too
        parser = configparser.ConfigParser(interpolation=None, delimiters=("=",))
        parser.optionxform = str  # type: ignore[assignment, method-assign]
        parser.read_string(given)
        given = {group: dict(parser.items(group)) for group in parser.sections()}
    found = {}
    for group, entries in given.items():
        if not isinstance(entries, dict):
            entries = dict(_pair(row) for row in _rows(entries))
        found.update({(group, name): value for name, value in entries.items()})
    return found


def _pair(row: str) -> tuple[str, str]:
    name, _, value = row.partition("=")
    return name.strip(), value.strip()


# -- what changed ----------------------------------------------------------------------------------


def changes(old: Declared, new: Declared) -> list[RequirementChange]:
    """Everything that differs between two declarations, what is gone first."""
    unread = {**old.unread, **new.unread}
    found = [
        RequirementChange(
            kind="unread",
            package=name,
            old=old.unread.get(name, ""),
            new=new.unread.get(name, ""),
            narrows=True,
            summary=f"what it declares of {name} was not read: {why}",
        )
        for name, why in unread.items()
    ]
    if not {REQUIRES, EXTRAS} & unread.keys():
        found += _requirements(old, new)
    if PYTHON not in unread:
        found += _python(old.requires_python, new.requires_python)
    if EXTRAS not in unread:
        found += _present("extra", dict.fromkeys(old.extras, ""), dict.fromkeys(new.extras, ""))
    if ENTRY_POINTS not in unread:
        points = [
            {f"{name} of {group}": value for (group, name), value in x.entry_points.items()}
            for x in (old, new)
        ]
        found += _present("entry point", *points)
    return sorted(found, key=lambda c: (not c.narrows, c.kind, c.package, c.summary))


def _requirements(old: Declared, new: Declared) -> Iterator[RequirementChange]:
    """Requirements for this interpreter, of the core and of each extra, and those for others."""
    shared = old.extras & new.extras
    for extra in ("", *sorted(shared)):
        one, other = _effective(old, extra), _effective(new, extra)
        for name in sorted(one.keys() | other.keys()):
            yield from _requirement(name, one.get(name), other.get(name), old, new, extra)
    rows = [
        {str(r) for r in x.requires if not any(_holds(r, e) for e in ("", *x.extras))}
        for x in (old, new)
    ]
    for row in sorted(rows[0] ^ rows[1]):
        gone = row in rows[0]
        yield RequirementChange(
            kind="requirement",
            package=str(canonicalize_name(Requirement(row).name)),
            old=row if gone else "",
            new="" if gone else row,
            narrows=False,
            summary=f"not for this interpreter: {'no longer ' if gone else ''}requires {row}",
        )


def _requirement(
    name: str,
    before: Requirement | None,
    after: Requirement | None,
    old: Declared,
    new: Declared,
    extra: str,
) -> Iterator[RequirementChange]:
    where = f"extra {extra}: " if extra else ""

    def change(text: str, narrows: bool) -> RequirementChange:
        return RequirementChange(
            kind="extra" if extra else "requirement",
            package=name,
            old=str(before or ""),
            new=str(after or ""),
            narrows=narrows,
            summary=where + text,
        )

    if before is None or after is None:
        present = new if after is None else old
        homes = sorted(x for x in present.extras if not extra and name in _effective(present, x))
        other_rows = [str(r) for r in present.requires if canonicalize_name(r.name) == name]
        if homes:
            home = "an extra now" if after is None else "an extra before"
            note = f" ({home}: {', '.join(homes)})"
        elif other_rows and not extra:
            note = f" ({'now' if after is None else 'before'}: {other_rows[0]})"
        else:
            note = ""
        sentence = f"newly installed: {_words(after)}" if after else f"no longer installed: {name}"
        yield change(sentence + note, after is None)
        return
    if (before.specifier, before.extras, before.url) != (after.specifier, after.extras, after.url):
        narrow = narrows(before.specifier, after.specifier)
        fewer = bool(before.extras - after.extras) or before.url != after.url
        same = not narrow and not narrows(after.specifier, before.specifier)
        note = (
            ", which admits the same versions"
            if same and before.specifier != after.specifier
            else ""
        )
        yield change(f"needs {_words(after)} (was {_bounds(before)}{note})", narrow or fewer)
    if str(before.marker or "") != str(after.marker or ""):
        now, was = str(after.marker or "always"), str(before.marker or "always")
        yield change(f"{name} is required under another condition: {now} (was {was})", False)


def _effective(declared_: Declared, extra: str) -> dict[str, Requirement]:
    """Name -> what this interpreter needs of it in the core, or in addition in an extra."""
    found: dict[str, Requirement] = {}
    for row in declared_.requires:
        if not _holds(row, extra) or (extra and _holds(row, "")):
            continue
        name = str(canonicalize_name(row.name))
        one = found.get(name)
        merged = Requirement(str(row))
        if one is not None:
            # two rows for one distribution hold at once
            merged.specifier &= one.specifier
            merged.extras |= one.extras
            markers = sorted({f"({r.marker})" for r in (one, row) if r.marker})
            merged.marker = Marker(" and ".join(markers)) if markers else None
        found[name] = merged
    return found


def _holds(row: Requirement, extra: str) -> bool:
    return row.marker is None or row.marker.evaluate({"extra": extra})


def _python(old: str, new: str) -> Iterator[RequirementChange]:
    try:
        one, other = SpecifierSet(old), SpecifierSet(new)
    except InvalidSpecifier as error:
        yield RequirementChange(
            kind="unread",
            package="python",
            old=old,
            new=new,
            narrows=True,
            summary=f"python: {error}",
        )
        return
    if one != other:
        sentence = f"python {_range(other)} (was {_range(one)})"
        yield RequirementChange(
            kind="python",
            package="python",
            old=old,
            new=new,
            narrows=narrows(one, other),
            summary=sentence,
        )


def _present(
    kind: str, old: Mapping[str, str], new: Mapping[str, str]
) -> Iterator[RequirementChange]:
    for name in sorted(old.keys() | new.keys()):
        if old.get(name) == new.get(name):
            continue
        if name not in new:
            sentence = f"{kind} {name} is gone"
        elif name not in old:
            sentence = f"{kind} {name} is new"
        else:
            sentence = f"{kind} {name} points at {new[name]} (was {old[name]})"
        yield RequirementChange(
            kind=kind,
            package=name,
            old=old.get(name, ""),
            new=new.get(name, ""),
            narrows=name not in new,
            summary=sentence,
        )


def _words(requirement: Requirement) -> str:
    extras = f"[{','.join(sorted(requirement.extras))}]" if requirement.extras else ""
    url = f" @ {requirement.url}" if requirement.url else ""
    specifier = f" {_range(requirement.specifier)}" if requirement.specifier else ""
    return f"{canonicalize_name(requirement.name)}{extras}{url}{specifier}"


def _bounds(requirement: Requirement) -> str:
    """The same without the name, if that says something."""
    words = _words(requirement).removeprefix(canonicalize_name(requirement.name)).strip()
    return words or "any version"


def _range(specifier: SpecifierSet) -> str:
    lower_first = sorted(specifier, key=lambda s: (s.operator.startswith("<"), str(s)))
    return ", ".join(map(str, lower_first)) or "any version"


# -- ranges ----------------------------------------------------------------------------------------


def narrows(old: SpecifierSet, new: SpecifierSet) -> bool:
    """Whether some version is in the old range and not in the new one.

    Ranges change only at the versions that they name: these, and those next to them, decide.
    """
    return any(
        old.contains(version, prereleases=True) and not new.contains(version, prereleases=True)
        for version in _that_matter([*old, *new])
    )


def _that_matter(specifiers: Iterable[Specifier]) -> set[Version]:
    """The versions that specifiers name, and for each those just below and just above it."""
    named = set()
    for specifier in specifiers:
        with suppress(InvalidVersion):
            # "===" compares text, which need not be a version: no other range can name it
            named.add(Version(specifier.version.removesuffix(".*")))
    # "~=" and prefixes end where one of the components is one higher
    releases = {v.release[:n] for v in named for n in range(1, len(v.release) + 1)} | {(0,)}
    releases |= {(*r[:-1], r[-1] + 1) for r in releases}
    length = max(map(len, releases)) + 1
    texts = set()
    for release in releases:
        texts.add(_dotted([*release, *[0] * (length - len(release)), 1]))
        if any(release):
            place = max(n for n, x in enumerate(release) if x)
            below = [*release[:place], release[place] - 1, *[_HIGH] * length]
            texts.add(_dotted(below))
    texts = {f"{v.epoch}!{text}" for v in named for text in texts} | texts
    for version in named:
        letter, number = version.pre or ("a", 0)
        stages = {"", *(f"{letter}{n}" for n in _neighbours(number))}
        posts = {"", *(f".post{n}" for n in _neighbours(version.post))}
        devs = {"", *(f".dev{n}" for n in _neighbours(version.dev))}
        texts |= {version.base_version + "".join(end) for end in product(stages, posts, devs)}
    return {*named, *map(Version, texts)}


#: a component that no version names.
_HIGH = 10**9


def _dotted(release: Iterable[int]) -> str:
    return ".".join(map(str, release))


def _neighbours(number: int | None) -> set[int]:
    """The least and the highest number, and those around one."""
    around = set() if number is None else {number - 1, number, number + 1}
    return {n for n in (0, _HIGH, *around) if n >= 0}
