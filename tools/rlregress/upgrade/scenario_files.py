"""Scenarios: short traced trainings through what users switch on, as data.

The files of ``baselines/scenarios`` hold ``[[scenario]]`` tables with ``name``, ``algorithms`` and
``why``, and optionally ``environment``, ``settings`` and ``features``, whose names stand in
``names.toml`` beside them. An adapter of a third party names a file or folder of its own
(``Adapter.scenarios``); one that uses names of its own has a ``names.toml`` beside it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, make_dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field
from typing_extensions import TypedDict

from rlregress import datafiles, suite
from rlregress.datafiles import Text, expected, one_of
from rlregress.errors import UserError

_NAMES = "names.toml"
_PARTS = ("environment", "settings", "features")
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


#: kind -> the type of what it takes, of the words that are listed.
_KINDS: Mapping[str, Callable[[Sequence[str]], Any]] = {
    "switch": lambda words: bool,
    "number": lambda words: Annotated[Any, expected("a number", _is_number)],
    "integer": lambda words: int,
    "integers": lambda words: Annotated[list[int], Field(min_length=1)],
    "name": lambda words: Text,
    "word": lambda words: Annotated[str, one_of(words)],
    "words": lambda words: Annotated[list[Annotated[str, one_of(words)]], Field(min_length=1)],
}


@dataclass(frozen=True)
class _Name:
    kind: Annotated[str, one_of(_KINDS)]
    means: Text
    words: tuple[Text, ...] = ()

    def __post_init__(self) -> None:
        if self.kind.startswith("word") and not self.words:
            raise ValueError("it has no words; list those it takes")


@dataclass(frozen=True)
class _Names:
    """Part -> name -> what it takes; the file ``names.toml``."""

    environment: Mapping[str, _Name] = field(default_factory=dict)
    settings: Mapping[str, _Name] = field(default_factory=dict)
    features: Mapping[str, _Name] = field(default_factory=dict)

    def file(self) -> Any:
        """The type of a file of scenarios that use these names."""
        parts = {
            part: TypedDict(  # type: ignore[operator]
                part,
                {
                    name: _KINDS[takes.kind](takes.words)
                    for name, takes in getattr(self, part).items()
                },
                total=False,
            )
            for part in _PARTS
        }
        row: Any = make_dataclass(
            "Row",
            [(part, of, field(default_factory=dict)) for part, of in parts.items()],
            bases=(_Row,),
            frozen=True,
        )
        return make_dataclass("File", [("scenario", tuple[row, ...], ())], frozen=True)


@dataclass(frozen=True)
class _Row:
    name: Annotated[str, expected("small letters, digits and hyphens", _NAME.fullmatch)]
    algorithms: Annotated[tuple[Text, ...], Field(min_length=1)]
    why: Text
    each: Mapping[str, tuple[Text, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Scenario:
    """One scenario: what is switched on in a short training of each of some algorithms.

    Attributes:
        why: what it enters, in a few words.
        environment: options of ``rlregress.frameworks.toys.Ends``, and ``copies``.
        settings: hyperparameters.
        features: what is switched on.
        where: file and line, for messages.
    """

    name: str
    algorithms: tuple[str, ...]
    why: str
    environment: Mapping[str, Any]
    settings: Mapping[str, Any]
    features: Mapping[str, Any]
    where: str

    def title(self, algorithm: str) -> str:
        """What its training of an algorithm is called."""
        return f"{algorithm} {self.name}"

    def job(self, algorithm: str) -> dict[str, Any]:
        """What its training of an algorithm adds to a job of ``rlregress.inside.trace_worker``."""
        parts = {part: dict(getattr(self, part)) for part in _PARTS}
        return {"algorithm": algorithm, "scenario": {"algorithm": algorithm, **parts}}


def jobs(adapter: Any) -> dict[str, dict[str, Any]]:
    """All traced trainings of an adapter by title: the plain ones, and those of scenarios."""
    by_title: dict[str, dict[str, Any]] = {
        algorithm: {"algorithm": algorithm} for algorithm in adapter.trace_trainings()
    }
    for scenario in of(adapter):
        for algorithm in scenario.algorithms:
            by_title[scenario.title(algorithm)] = scenario.job(algorithm)
    return by_title


def of(adapter: Any) -> tuple[Scenario, ...]:
    """The suite's scenarios for all, its own for this framework, and what the adapter brings along.

    None of an adapter that traces no scenarios.

    Raises:
        UserError: as ``load``; or two scenarios of one algorithm have the same name.
    """
    if not adapter.traces_scenarios:
        return ()
    of_framework = suite.baselines() / "scenarios" / adapter.name
    more = [of_framework] if of_framework.is_dir() else []
    own = adapter.scenarios()
    more += [own] if own is not None else []
    scenarios = load() + tuple(scenario for path in more for scenario in load(path))
    _no_duplicates(scenarios)
    return scenarios


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
    known: _Names = datafiles.read(builtin / _NAMES, _Names)
    if os.path.realpath(folder) != os.path.realpath(builtin) and (folder / _NAMES).is_file():
        known = _joined(known, datafiles.read(folder / _NAMES, _Names))
    files = [p for p in sorted(path.glob("*.toml")) if p.name != _NAMES] if path == folder else []
    files = files or ([path] if path != folder else [])
    if not files:
        raise UserError(f"{path} holds no scenarios; expected TOML files with [[scenario]] tables")
    model = known.file()
    scenarios = tuple(scenario for file in files for scenario in _load_file(file, model))
    _no_duplicates(scenarios)
    return scenarios


def _joined(known: _Names, more: _Names) -> _Names:
    return _Names(**{part: {**getattr(known, part), **getattr(more, part)} for part in _PARTS})


def _load_file(path: Path, model: Any) -> list[Scenario]:
    rows = datafiles.read(path, model).scenario
    places = datafiles.places(path, "scenario", len(rows))
    return [
        Scenario(**each, where=place)
        for row, place in zip(rows, places, strict=True)
        for each in _each(vars(row))
    ]


def _each(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A row by itself, or one for each value of a feature, which ends its name."""
    shared = {key: item for key, item in row.items() if key != "each"}
    return [
        {
            **shared,
            "name": f"{row['name']}-{re.sub('[^a-z0-9]+', '-', value.lower())}",
            "features": {**row["features"], feature: value},
        }
        for feature, values in row["each"].items()
        for value in values
    ] or [shared]


def _no_duplicates(scenarios: Sequence[Scenario]) -> None:
    known: dict[str, Scenario] = {}
    for scenario in scenarios:
        for algorithm in scenario.algorithms:
            other = known.setdefault(scenario.title(algorithm), scenario)
            if other is not scenario:
                raise UserError(
                    f"{scenario.where}: '{scenario.title(algorithm)}' is there already: "
                    f"{other.where}; give one of them another name"
                )
