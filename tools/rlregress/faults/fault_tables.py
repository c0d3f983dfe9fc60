"""Reads the tables of known faults.

A ``[[fault]]`` table is a change of one line of a framework. Those of a detail are in the file of
its expectation. All others are in ``baselines/faults``, in one file for each instrument.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import make_dataclass, replace
from functools import cache
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from rlregress import datafiles, frameworks, suite
from rlregress.catalogue import registry
from rlregress.catalogue.implementation import locate_expectations
from rlregress.datafiles import Text, expect_one_of
from rlregress.errors import UserError, suggest_names
from rlregress.model.fault_results import (
    BEHAVIOR,
    DETAILS,
    OPTIONS,
    RETURNS,
    THROUGHPUT,
    TRACES,
    Fault,
)

_Detail = Annotated[str, expect_one_of(registry.list_detail_ids)]
_NonEmpty = Annotated[tuple[Text, ...], Field(min_length=1)]
_NAME: list[Any] = [("name", Text)]
_OWNER = [
    ("framework", Annotated[str, expect_one_of(frameworks.list_framework_names)]),
    ("algorithm", Text),
    *_NAME,
]
_OCCURRENCE = ("occurrence", Annotated[int, Field(ge=0)], 0)
_CHANGE = [("file", Text), ("old", Text), ("new", str), _OCCURRENCE]
#: instrument -> the keys of its table; a key with a default may be left out. See ``Fault``.
_KEYS: Mapping[str, list[Any]] = {
    DETAILS: [
        *_NAME, *_CHANGE, ("turns", tuple[_Detail, ...]), ("finds", str),
        ("also", tuple[_Detail, ...], ()), ("scopes", tuple[Text, ...], ("library",)),
        ("essential", bool, False),
    ],
    TRACES: [*_OWNER, *_CHANGE, ("turns", _NonEmpty), ("finds", Text)],
    OPTIONS: [*_OWNER, *_CHANGE, ("option", Text), ("function", Text)],
    BEHAVIOR: [
        *_OWNER, *_CHANGE, ("turns", _NonEmpty), ("finds", Text), ("essential", bool, False),
    ],
    # an entry with only a name refers to the fault of a detail with this name
    RETURNS: [*_OWNER, ("file", str, ""), ("old", str, ""), ("new", str, "")],
    THROUGHPUT: [*_OWNER, *_CHANGE, ("turns", _NonEmpty)],
}  # fmt: skip


@cache
def _make_model_of_fault_file(instrument: str) -> Any:
    """Return the data class of a file of faults for an instrument."""
    table: Any = make_dataclass("Table", _KEYS[instrument], frozen=True, kw_only=True)
    fields: list[Any] = [("fault", tuple[table, ...], ())]
    if instrument == DETAILS:
        # ``expectations`` reads these tables of the same file
        fields.append(("detail", tuple[Mapping[str, Any], ...], ()))
    return make_dataclass("File", fields, frozen=True)


def _read_faults_of_file(path: Path, instrument: str) -> list[Fault]:
    return [
        Fault(**vars(table))
        for table in datafiles.read_data_file(path, _make_model_of_fault_file(instrument)).fault
    ]


def load_faults(instrument: str, framework_names: Sequence[str]) -> list[Fault]:
    """Return the faults of frameworks that an instrument has to detect.

    Raises:
        UserError: a table is invalid; names file, entry and key.
    """
    if instrument == DETAILS:
        return [
            replace(fault, framework=name)
            for name in framework_names
            for fault in _load_detail_faults(name)
        ]
    path = suite.locate_baselines() / "faults" / f"{instrument}.toml"
    faults = [
        fault
        for fault in _read_faults_of_file(path, instrument)
        if fault.framework in framework_names
    ]
    return [fault if fault.file else _resolve_reference_to_detail_fault(fault) for fault in faults]


def _load_detail_faults(framework: str) -> list[Fault]:
    path = locate_expectations(frameworks.get_adapter(framework))
    files = datafiles.list_files_by_name(path, "*.toml") if path.is_dir() else [path]
    return [fault for file in files for fault in _read_faults_of_file(file, DETAILS)]


def _resolve_reference_to_detail_fault(fault: Fault) -> Fault:
    """Return the detail's fault of the same name, for the algorithm of this fault."""
    same = select_faults(DETAILS, [fault.framework], [fault.name])[0]
    return replace(same, algorithm=fault.algorithm)


def load_details_without_fault(framework: str) -> Mapping[str, str]:
    """Return id -> reason of the details that no change of a single line can alter."""
    path = suite.locate_baselines() / "faults" / "without.toml"
    reasons: Mapping[str, Mapping[str, str]] = datafiles.read_data_file(
        path, Mapping[str, Mapping[_Detail, Text]]
    )
    return reasons.get(framework, {})


def select_faults(
    instrument: str,
    framework_names: Sequence[str],
    only: Sequence[str],
    algorithms: Sequence[str] = (),
) -> list[Fault]:
    """Return the faults that an instrument must detect, of some frameworks and algorithms.

    Args:
        only: names of faults; empty: all.
        algorithms: empty: all.

    Raises:
        UserError: no fault has one of the names or algorithms, a framework has no faults of
            details, or no fault of returns remains.
    """
    faults = load_faults(instrument, framework_names)
    for name in framework_names if instrument == DETAILS else ():
        if all(fault.framework != name for fault in faults):
            raise UserError(
                f"there are no faults of {name} to inject; expected [[fault]] tables in "
                f"{locate_expectations(frameworks.get_adapter(name))}"
            )
    known_algorithms = {fault.algorithm for fault in faults}
    for name in algorithms:
        if name not in known_algorithms:
            raise UserError(
                f"there is no fault of algorithm '{name}'; {suggest_names(name, known_algorithms)}"
            )
    names = sorted({fault.name for fault in faults})
    for name in only:
        if name not in names:
            raise UserError(f"unknown fault '{name}'; {suggest_names(name, names)}")
    remaining = [
        fault
        for fault in faults
        if (not only or fault.name in only) and (not algorithms or fault.algorithm in algorithms)
    ]
    if instrument == RETURNS and not remaining:
        requested = ", ".join([*framework_names, *algorithms, *only])
        raise UserError(f"no fault fits all of {requested}; {suggest_names('', names)}")
    return remaining
