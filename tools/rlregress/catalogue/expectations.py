"""Expectations: the files of ``baselines/details/<framework>/``, loaded and validated.

A file is a list of ``[[detail]]`` tables, each with ``id``, ``scope``, ``variant``, ``since`` (the
first version it is stated for) and ``source``, and optionally ``until`` (the first version for
which it no longer holds) and ``note``; all are strings. ``deviation`` marks a known deviation, a
behaviour that is pinned although nobody wants it, and its consequence; ``upstream`` links to the
discussion. ``code`` is the line that decides the detail, ``"file: fragment"``. The faults that
prove an entry follow it in ``[[fault]]`` tables: see
``rlregress.faults.fault_tables``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from packaging.version import InvalidVersion, Version

from rlregress import datafiles
from rlregress.catalogue import registry
from rlregress.datafiles import Range, Text, expect_one_of, expect_value
from rlregress.errors import UserError, suggest_names

#: (detail id, scope)
DetailScope = tuple[str, str]


def _is_file_and_fragment(text: str) -> bool:
    file, separator, fragment = text.partition(": ")
    return bool(file.strip() and separator and fragment.strip())


@dataclass(frozen=True)
class _Entry(Range):
    """The documented variant of a detail in one scope and a range of versions."""

    id: Annotated[str, expect_one_of(registry.list_detail_ids)]
    scope: Text
    variant: Text
    source: Text
    note: str = ""
    deviation: Text = ""
    upstream: Text = ""
    code: Annotated[
        str,
        expect_value(
            "the file and a fragment of its line as in 'package/file.py: fragment'",
            _is_file_and_fragment,
        ),
    ] = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        variants = registry.get_detail(self.id).variants
        if self.variant not in variants:
            raise ValueError(
                f"key 'variant': '{self.id}' has no variant '{self.variant}'; "
                f"{suggest_names(self.variant, variants)}"
            )


@dataclass(frozen=True)
class _File:
    detail: tuple[_Entry, ...] = ()
    fault: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True)
class Expectation(_Entry):
    """The documented variant of a detail, and ``where`` it is written: file and line."""

    where: str = ""

    @property
    def key(self) -> DetailScope:
        """The pair of detail id and scope."""
        return self.id, self.scope


def load_expectations(path: Path) -> tuple[Expectation, ...]:
    """Load the expectations of a file, or of all TOML files of a folder in order of their names.

    Raises:
        UserError: the file is missing, is not TOML, or an entry has a missing, unknown or
            ill-typed key, an unknown detail or variant, an empty range of versions, or overlaps
            with another entry of the same detail and scope.
    """
    path = Path(path)
    files = datafiles.list_toml_files(path, "expectations") if path.is_dir() else [path]
    entries = tuple(entry for file in files for entry in _load_expectations_of_file(file))
    _check_versions_do_not_overlap(entries)
    return entries


def _load_expectations_of_file(path: Path) -> list[Expectation]:
    rows = datafiles.read_data_file_cached(path, _File).detail
    places = datafiles.describe_places_of_tables(path, "detail", len(rows))
    return [Expectation(**vars(row), where=place) for row, place in zip(rows, places, strict=True)]


def _check_versions_do_not_overlap(entries: Iterable[Expectation]) -> None:
    by_cell: dict[DetailScope, list[Expectation]] = {}
    for entry in entries:
        for earlier in by_cell.setdefault(entry.key, []):
            first, second = sorted((earlier, entry), key=lambda e: Version(e.since))
            if first.until is None or Version(second.since) < Version(first.until):
                raise UserError(
                    f"{entry.where}: '{entry.id}' in scope '{entry.scope}' is a duplicate: "
                    f"{earlier.where} holds for some of the same versions; give the older one an "
                    "until, or remove one of the two"
                )
        by_cell[entry.key].append(entry)


def filter_by_version(
    entries: Iterable[Expectation], version: str
) -> dict[DetailScope, Expectation]:
    """Return by (detail, scope) the entry whose range of versions includes ``version``.

    Raises:
        UserError: the version cannot be read.
    """
    try:
        Version(version)
    except InvalidVersion:
        raise UserError(f"'{version}' is not a version; expected one as in '2.9.2'") from None
    return {entry.key: entry for entry in entries if entry.includes_version(version)}


def list_stale_expectations(
    entries: Collection[Expectation], probed: Collection[DetailScope], version: str
) -> dict[Expectation, str]:
    """List the entries that no longer apply, each with the reason.

    An entry is stale if no probe exists for its detail and scope, or if its range excludes the
    version and no other entry covers the same detail and scope. Past entries with a successor and
    entries of later versions are not stale.
    """
    current = filter_by_version(entries, version)
    reasons = {}
    for entry in entries:
        name = f"{entry.id} ({entry.scope}, {entry.variant})"
        if entry.key not in probed:
            if Version(entry.since) > Version(version):
                continue
            reasons[entry] = f"{name}: never matched: no probe checks this detail in this scope"
        elif entry.key not in current:
            until = f"until {entry.until}" if entry.until else "on"
            reasons[entry] = (
                f"{name}: stated from {entry.since} {until}, and no entry covers {version}"
            )
    return reasons


def list_undocumented_probes(
    entries: Iterable[Expectation], probed: Iterable[DetailScope], version: str
) -> tuple[DetailScope, ...]:
    """List the probed (detail, scope) pairs without documentation at this version, sorted."""
    return tuple(sorted(set(probed) - set(filter_by_version(entries, version))))
