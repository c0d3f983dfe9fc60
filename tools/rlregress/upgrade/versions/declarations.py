"""Declarations of distributions: read, never executed."""

from __future__ import annotations

import ast
import configparser
import importlib.metadata
import tomllib
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from rlregress.upgrade.versions import distribution_metadata

#: fields of a declaration, as ``setup()`` names them.
_FIELDS = REQUIRES, PYTHON, EXTRAS, ENTRY_POINTS = (
    "install_requires", "python_requires", "extras_require", "entry_points",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Declared:
    """The declarations of one version of a distribution.

    Attributes:
        version: the version as written; empty if it is computed.
        requires: requirements with markers and extras, as declared.
        extras: canonical names of the extras.
        entry_points: "<name> of <group>" -> object that it points at.
        unread: field -> why it could not be read; its value is not to be used.
    """

    version: str = ""
    requires: tuple[Requirement, ...] = ()
    requires_python: SpecifierSet = field(default_factory=SpecifierSet)
    extras: frozenset[str] = frozenset()
    entry_points: Mapping[str, str] = field(default_factory=dict)
    unread: Mapping[str, str] = field(default_factory=dict)


#: errors that readers of damaged declarations raise.
_DAMAGED = (ValueError, TypeError, AttributeError, SyntaxError, RecursionError, configparser.Error)


class _Unread(str):
    """The reason why a declaration cannot be read without running code."""

    __slots__ = ()


def read_declarations(distribution: importlib.metadata.Distribution) -> Declared:
    """Return the declarations of an installed or unpacked distribution."""
    points: dict[str, dict[str, str]] = {}
    try:
        facts = distribution.metadata
        for point in distribution.entry_points:
            points.setdefault(point.group, {})[point.name] = point.value
        if "Name" not in facts:
            raise ValueError("there is no row 'Name:'")
    except _DAMAGED as error:
        return _make_checked_declaration(
            dict.fromkeys(_FIELDS, _Unread(f"METADATA cannot be read: {error}"))
        )
    return _make_checked_declaration(
        {
            "version": distribution.version,
            REQUIRES: [
                str(distribution_metadata.parse_requirement(row) or row)
                for row in distribution.requires or ()
            ],
            PYTHON: ",".join(facts.get_all("Requires-Python") or ()),
            EXTRAS: dict.fromkeys(facts.get_all("Provides-Extra") or (), ()),
            ENTRY_POINTS: points,
        }
    )


def read_declarations_of_tree(folder: Path) -> Declared:
    """Read what a source tree declares: requirements, Python, extras, entry points.

    It is read from pyproject.toml, setup.cfg, and the literals of setup.py.
    """
    fields: dict[str, Any] = {}
    # setuptools reads them in the other order: the first that declares a field decides
    for name, read in (
        ("setup.py", _read_setup_py),
        ("setup.cfg", _read_setup_cfg),
        ("pyproject.toml", _read_pyproject),
    ):
        if (folder / name).is_file():
            try:
                fields |= read((folder / name).read_text(encoding="utf-8"))
            except _DAMAGED as error:
                fields |= dict.fromkeys(_FIELDS, _Unread(f"{name} cannot be read: {error}"))
    if not fields:
        nothing = _Unread("there is no [project] in pyproject.toml, no setup.cfg and no setup.py")
        fields = dict.fromkeys(_FIELDS, nothing)
    for name in fields.get("dynamic", ()):
        fields.setdefault(name, _Unread(f"the build decides on {name}, as pyproject.toml states"))
    return _make_checked_declaration(fields)


def _make_checked_declaration(fields: Mapping[str, Any]) -> Declared:
    """Return the declarations from raw fields, with damaged values noted as unread."""
    read: dict[str, Any] = {REQUIRES: [], EXTRAS: {}}
    unread = {}
    readers: dict[str, Callable[[Any], Any]] = {
        REQUIRES: lambda rows: [_parse_requirement(row) for row in _split_into_rows(rows)],
        PYTHON: SpecifierSet,
        EXTRAS: _parse_extras,
        ENTRY_POINTS: _parse_entry_points,
    }
    for name, reader in readers.items():
        value = fields.get(name) or ""
        try:
            if isinstance(value, _Unread):
                unread[name] = str(value)
            elif value:
                read[name] = reader(value)
        except _DAMAGED as error:
            unread[name] = str(error)
    return Declared(
        version=str(fields.get("version") or ""),
        requires=(*read[REQUIRES], *(row for rows in read[EXTRAS].values() for row in rows)),
        requires_python=read.get(PYTHON, SpecifierSet()),
        extras=frozenset(read[EXTRAS]) - {""},
        entry_points=read.get(ENTRY_POINTS, {}),
        unread=unread,
    )


def _parse_requirement(text: str) -> Requirement:
    """Parse a requirement; raise ValueError also if its marker cannot be evaluated."""
    requirement = Requirement(text)
    if requirement.marker is not None:
        requirement.marker.evaluate({"extra": ""})
    return requirement


def _parse_extras(declared_extras: Mapping[str, Any]) -> dict[str, list[Requirement]]:
    extras: dict[str, list[Requirement]] = {}
    for key, rows in declared_extras.items():
        # setup.py may put a marker behind the name of an extra: "test:python_version<'3.9'"
        name, _, condition = key.partition(":")
        name = str(canonicalize_name(name))
        for requirement in map(_parse_requirement, _split_into_rows(rows)):
            conditions = [str(requirement.marker or ""), condition, name and f"extra == '{name}'"]
            text = " and ".join(f"({condition})" for condition in conditions if condition)
            requirement.marker = Marker(text) if text else None
            extras.setdefault(name, []).append(requirement)
        extras.setdefault(name, [])
    return extras


def _parse_entry_points(groups: Mapping[str, Any]) -> dict[str, str]:
    points: dict[str, str] = {}
    for group, entries in groups.items():
        if not isinstance(entries, dict):
            entries = dict(row.split("=", 1) for row in _split_into_rows(entries))
        points |= {
            f"{name.strip()} of {group}": str(target).strip() for name, target in entries.items()
        }
    return points


def _split_into_rows(declared_rows: Any) -> list[str]:
    lines = declared_rows.splitlines() if isinstance(declared_rows, str) else declared_rows
    return [line.strip() for line in lines if line.strip() and not line.strip().startswith("#")]


# -- the files of a working tree -------------------------------------------------------------------


def _read_pyproject(text: str) -> dict[str, Any]:
    parsed = tomllib.loads(text)
    tools, project = parsed.get("tool", {}), parsed.get("project")
    if project is None:
        why = _Unread("pyproject.toml declares for poetry, without [project]")
        return dict.fromkeys(_FIELDS, why) if "poetry" in tools else {}
    keys = {
        "version": "version", "dependencies": REQUIRES, "requires-python": PYTHON,
        "optional-dependencies": EXTRAS, "entry-points": ENTRY_POINTS, "scripts": ENTRY_POINTS,
        "gui-scripts": ENTRY_POINTS,
    }  # fmt: skip
    points = {
        **project.get("entry-points", {}),
        "console_scripts": project.get("scripts", {}),
        "gui_scripts": project.get("gui-scripts", {}),
    }
    fields = {name: project.get(key) for key, name in keys.items()} | {ENTRY_POINTS: points}
    dynamic = {key: keys[key] for key in project.get("dynamic", ()) if key in keys}
    fields = {name: value for name, value in fields.items() if name not in dynamic.values()}
    for key in dynamic.keys() & tools.get("setuptools", {}).get("dynamic", {}).keys():
        fields[dynamic[key]] = _Unread(f"pyproject.toml takes {key} from another file")
    # the fields that pyproject.toml leaves to setup.py
    return {**fields, "dynamic": tuple(dynamic.values())}


def _read_setup_cfg(text: str) -> dict[str, Any]:
    parser = configparser.ConfigParser(interpolation=None)
    parser.read_string(text)
    version = parser.get("metadata", "version", fallback="")
    fields: dict[str, Any] = {"version": version} if version else {}
    for name in _FIELDS:
        if parser.has_option("options", name):
            fields[name] = parser.get("options", name)
        elif parser.has_section(f"options.{name}"):
            fields[name] = dict(parser.items(f"options.{name}"))
        if str(fields.get(name, "")).lstrip().startswith(("file:", "attr:")):
            fields[name] = _Unread(f"setup.cfg takes {name} from another file")
    return fields


def _read_setup_py(text: str) -> dict[str, Any]:
    module = ast.parse(text)
    names = _find_constants(module)
    fields: dict[str, Any] = {}
    for call in ast.walk(module):
        if not isinstance(call, ast.Call) or ast.unparse(call.func).split(".")[-1] != "setup":
            continue
        for argument in call.keywords:
            if argument.arg is None:
                why = _Unread(f"setup.py:{argument.value.lineno} passes arguments by name, as **")
                fields = {**dict.fromkeys(_FIELDS, why), **fields}
            elif argument.arg in ("version", *_FIELDS):
                try:
                    fields[argument.arg] = _evaluate_literal(argument.value, names)
                except ValueError as error:
                    fields[argument.arg] = _Unread(
                        f"setup.py:{error}: {argument.arg} is no literal"
                    )
    return fields


def _find_constants(module: ast.Module) -> dict[str, ast.expr]:
    """Return name -> value, for names that a module binds once and then only reads."""
    inside = {child: node for node in ast.walk(module) for child in ast.iter_child_nodes(node)}
    used = [(node, inside[node]) for node in ast.walk(module) if isinstance(node, ast.Name)]
    bound = Counter(name.id for name, _ in used if not isinstance(name.ctx, ast.Load))
    # an attribute such as .append, an index, a loop or a call may change a list
    reads = (ast.BinOp, ast.List, ast.Dict, ast.keyword, ast.Assign)
    changed = {name.id for name, user in used if not isinstance(user, reads)}
    return {
        target.id: statement.value
        for statement in module.body
        if isinstance(statement, ast.Assign)
        for target in statement.targets
        if isinstance(target, ast.Name) and bound[target.id] == 1 and target.id not in changed
    }


def _evaluate_literal(node: ast.expr | None, names: Mapping[str, ast.expr]) -> Any:
    """Return the value of a literal, of a name that is bound once to one, or of a sum of such.

    Raises:
        ValueError: the node is none of these; the message is its line.
    """
    match node:
        case ast.Constant():
            return node.value
        case ast.List() | ast.Tuple():
            return [_evaluate_literal(element, names) for element in node.elts]
        case ast.Dict() if all(node.keys):
            pairs = zip(node.keys, node.values, strict=True)
            return {
                _evaluate_literal(key, names): _evaluate_literal(value, names)
                for key, value in pairs
            }
        case ast.BinOp(op=ast.Add()):
            return _evaluate_literal(node.left, names) + _evaluate_literal(node.right, names)
        case ast.Name() if node.id in names:
            return _evaluate_literal(names[node.id], names)
    raise ValueError(str(getattr(node, "lineno", "")))
