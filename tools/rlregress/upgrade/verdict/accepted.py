"""Entries that a reviewer accepts: a file of their keys, each with a note."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from rlregress import datafiles
from rlregress.datafiles import Text, expect_value
from rlregress.errors import UserError
from rlregress.model.differences import mark_accepted_entries
from rlregress.model.upgrade_result import Upgrade


def _is_entry_key(text: str) -> bool:
    return len(text) == 16 and all(letter in "0123456789abcdef" for letter in text)


@dataclass(frozen=True)
class AcceptedEntry:
    """One accepted entry.

    Attributes:
        key: the entry's key in the report's JSON, a digest of its content: an entry that changes
            again has to be reviewed again.
        name: name of the entry, for people.
        note: why the entry is accepted.
    """

    key: Annotated[str, expect_value("a key of 16 hexadecimal digits", _is_entry_key)]
    name: Text
    note: Text


@dataclass(frozen=True)
class _File:
    accepted: tuple[AcceptedEntry, ...] = ()


def load_accepted_entries(path: Path | None) -> tuple[AcceptedEntry, ...]:
    """Return the accepted entries of a file; none without a file.

    Raises:
        UserError: the file is missing, or an entry is wrong or there twice.
    """
    if path is None:
        return ()
    if not path.is_file():
        raise UserError(
            f"there is no file of accepted entries {path}; expected a TOML file with [[accepted]] "
            "entries of key, name and note, see docs/upgrading.md"
        )
    content: _File = datafiles.read_data_file(path, _File)
    twice = [
        key for key, times in Counter(row.key for row in content.accepted).items() if times > 1
    ]
    if twice:
        raise UserError(
            f"{path} accepts {', '.join(twice)} more than once; expected one [[accepted]] entry "
            "for each key: remove the others"
        )
    return content.accepted


def mark_accepted_and_stale(result: Upgrade, reviewed: Iterable[AcceptedEntry]) -> Upgrade:
    """Return the result with the accepted entries marked, and those without a match as stale."""
    notes = {row.key: row.note for row in reviewed}
    if not notes:
        return result
    keys = {entry.key for entry in result.entries}
    stale = tuple(f"{row.name} ({row.key})" for row in reviewed if row.key not in keys)
    script = result.script
    return replace(
        result,
        frameworks=tuple(
            replace(framework, entries=mark_accepted_entries(framework.entries, notes))
            for framework in result.frameworks
        ),
        script=script and replace(script, entries=mark_accepted_entries(script.entries, notes)),
        other_packages=mark_accepted_entries(result.other_packages, notes),
        stale=stale,
    )
