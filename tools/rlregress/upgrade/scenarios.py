"""Scenarios: short traced trainings through what users switch on, as data.

The files of ``baselines/scenarios`` hold ``[[scenario]]`` tables with ``name``, ``algorithms`` and
``why``, and optionally ``environment``, ``settings`` and ``features``, whose names stand in
``names.toml`` beside them. An adapter of a third party names a file or folder of its own
(``Adapter.scenarios``); one that uses names of its own has a ``names.toml`` beside it.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rlregress import suite
from rlregress.details.catalogue import nearest
from rlregress.errors import UserError

_NAMES = "names.toml"
_PARTS = ("environment", "settings", "features")
_REQUIRED = ("name", "algorithms", "why")
_HEADER = re.compile(r"^\s*\[\[\s*scenario\s*\]\]")
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_KINDS = {
    "switch": "true or false",
    "number": "a number",
    "integer": "a whole number",
    "integers": "a list of whole numbers",
    "name": "a name",
    "word": "one of",
    "words": "a list of some of",
}


@dataclass(frozen=True)
class Scenario:
    """One scenario: what is switched on in a short training of each of some algorithms.

    Attributes:
        why: what it enters, in a few words.
        environment: options of ``rlregress.tracing.toys.Ends``, and ``copies``.
        settings: hyperparameters.
        features: what is switched on.
    """

    name: str
    algorithms: tuple[str, ...]
    why: str
    environment: Mapping[str, Any]
    settings: Mapping[str, Any]
    features: Mapping[str, Any]
    path: Path
    line: int | None = None

    def title(self, algorithm: str) -> str:
        """What its training of an algorithm is called."""
        return f"{algorithm} {self.name}"

    def job(self, algorithm: str) -> dict[str, Any]:
        """What its training of an algorithm adds to a job of ``rlregress.tracing.record``."""
        parts = {part: dict(getattr(self, part)) for part in _PARTS}
        return {"algorithm": algorithm, "scenario": {"algorithm": algorithm, **parts}}


def jobs(adapter: Any) -> dict[str, dict[str, Any]]:
    """All traced trainings of an adapter by title: the plain ones, and those of scenarios."""
    found: dict[str, dict[str, Any]] = {
        algorithm: {"algorithm": algorithm} for algorithm in adapter.trace_trainings()
    }
    for scenario in of(adapter):
        for algorithm in scenario.algorithms:
            found[scenario.title(algorithm)] = scenario.job(algorithm)
    return found


def of(adapter: Any) -> tuple[Scenario, ...]:
    """The suite's scenarios for all, its own for this framework, and what the adapter brings along.

    Raises:
        UserError: as ``load``; or two scenarios of one algorithm have the same name.
    """
    of_framework = suite.baselines() / "scenarios" / adapter.name
    more = [of_framework] if of_framework.is_dir() else []
    own = adapter.scenarios()
    more += [own] if own is not None else []
    found = load() + tuple(scenario for path in more for scenario in load(path))
    _no_duplicates(found)
    return found


def load(path: Path | None = None) -> tuple[Scenario, ...]:
    """The scenarios of a file, or of a folder in the order of its files' names.

    Args:
        path: without it the suite's own.

    Raises:
        UserError: a file is missing or is not TOML, an entry has a missing, unknown or ill-typed
            key, or two of one algorithm have the same name.
    """
    builtin = suite.baselines() / "scenarios"
    path = Path(path) if path is not None else builtin
    folder = path if path.is_dir() else path.parent
    known = _names(builtin / _NAMES)
    if folder.resolve() != builtin.resolve() and (folder / _NAMES).is_file():
        known = _joined(known, _names(folder / _NAMES))
    files = [p for p in sorted(path.glob("*.toml")) if p.name != _NAMES] if path == folder else []
    files = files or ([path] if path != folder else [])
    if not files:
        raise UserError(f"{path} holds no scenarios; expected TOML files with [[scenario]] tables")
    found = tuple(scenario for file in files for scenario in _load_file(file, known))
    _no_duplicates(found)
    return found


def _read(path: Path) -> tuple[str, dict[str, Any]]:
    try:
        text = path.read_text(encoding="utf-8")
        return text, tomllib.loads(text)
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(
            f"cannot read the scenarios in {path}: {error}; expected a TOML file"
        ) from None
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"{path} is not valid TOML: {error}; mend that place") from None


#: part -> name -> what it takes.
_Names = dict[str, dict[str, dict[str, Any]]]


def _names(path: Path) -> _Names:
    data = _read(path)[1]
    for part, names in data.items():
        if part not in _PARTS:
            raise UserError(f"{path}: unknown table '{part}'; expected {', '.join(_PARTS)}")
        for name, entry in names.items():
            kind = entry.get("kind") if isinstance(entry, dict) else None
            if kind not in _KINDS:
                raise UserError(
                    f"{path}, [{part}]: '{name}' has the kind {kind!r}, expected one of "
                    f"{', '.join(_KINDS)}"
                )
            if kind.startswith("word") and not entry.get("words"):
                raise UserError(f"{path}, [{part}]: '{name}' has no words; list those it takes")
            if not entry.get("means"):
                raise UserError(f"{path}, [{part}]: '{name}' does not say what it means")
    return {part: dict(data.get(part, {})) for part in _PARTS}


def _joined(known: _Names, more: _Names) -> _Names:
    return {part: {**known[part], **more[part]} for part in _PARTS}


def _load_file(path: Path, known: _Names) -> list[Scenario]:
    text, data = _read(path)
    unknown = sorted(set(data) - {"scenario"})
    if unknown:
        raise UserError(
            f"{path}: unknown key '{unknown[0]}' at the top level; expected [[scenario]] tables"
        )
    tables = data.get("scenario", [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise UserError(f"{path}: 'scenario' is not a list of tables; write each as [[scenario]]")
    lines = [n for n, row in enumerate(text.splitlines(), start=1) if _HEADER.match(row)]
    numbered = lines if len(lines) == len(tables) else [None] * len(tables)
    return [_entry(path, table, line, known) for table, line in zip(tables, numbered, strict=True)]


def _entry(path: Path, table: dict[str, Any], line: int | None, known: _Names) -> Scenario:
    where = f"{path}, [[scenario]] at line {line}" if line else f"{path}, a [[scenario]]"
    for key in table:
        if key not in _REQUIRED + _PARTS:
            raise UserError(f"{where}: unknown key '{key}'; {nearest(key, [*_REQUIRED, *_PARTS])}?")
    for key in _REQUIRED:
        if key not in table:
            raise UserError(f"{where}: key '{key}' is missing; expected {', '.join(_REQUIRED)}")
    name = table["name"]
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise UserError(
            f"{where}: key 'name' is {name!r}, expected small letters, digits and hyphens"
        )
    algorithms = table["algorithms"]
    if not (isinstance(algorithms, list) and algorithms) or not all(
        isinstance(each, str) and each for each in algorithms
    ):
        raise UserError(
            f'{where}: key \'algorithms\' is {algorithms!r}, expected a list as in ["ppo", "a2c"]'
        )
    if not isinstance(table["why"], str) or not table["why"].strip():
        raise UserError(
            f"{where}: key 'why' is {table['why']!r}, expected what it enters, in words"
        )
    parts = {part: _part(where, part, table.get(part, {}), known[part]) for part in _PARTS}
    return Scenario(name, tuple(algorithms), table["why"], **parts, path=path, line=line)


def _part(where: str, part: str, given: Any, known: dict[str, dict[str, Any]]) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise UserError(f"{where}: key '{part}' is {given!r}, expected [scenario.{part}]")
    for name, value in given.items():
        if name not in known:
            raise UserError(
                f"{where}: [scenario.{part}] has no '{name}'; {nearest(name, list(known))}?"
            )
        kind, words = known[name]["kind"], known[name].get("words", [])
        if not _fits(value, kind, words):
            listed = f" {', '.join(words)}" if words else ""
            near = f"; {nearest(value, words)}?" if isinstance(value, str) and words else ""
            raise UserError(
                f"{where}: '{name}' of [scenario.{part}] is {value!r}, expected "
                f"{_KINDS[kind]}{listed}{near}"
            )
    return given


def _fits(value: Any, kind: str, words: Sequence[str]) -> bool:
    whole = isinstance(value, int) and not isinstance(value, bool)
    if kind == "switch":
        return isinstance(value, bool)
    if kind == "integer":
        return whole
    if kind == "number":
        return whole or isinstance(value, float)
    if kind == "name":
        return isinstance(value, str) and bool(value)
    if kind == "word":
        return isinstance(value, str) and value in words
    if not isinstance(value, list) or not value:
        return False
    each = "integer" if kind == "integers" else "word"
    return all(_fits(item, each, words) for item in value)


def _no_duplicates(found: Sequence[Scenario]) -> None:
    seen: dict[str, Scenario] = {}
    for scenario in found:
        for algorithm in scenario.algorithms:
            other = seen.setdefault(scenario.title(algorithm), scenario)
            if other is not scenario:
                raise UserError(
                    f"{scenario.path}, [[scenario]] at line {scenario.line}: "
                    f"'{scenario.title(algorithm)}' is at line {other.line} of {other.path} "
                    "already; give one of them another name"
                )
