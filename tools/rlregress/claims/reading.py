"""Files of one source document: its title and a list of tables in TOML, checked key by key."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from rlregress.details.catalogue import nearest
from rlregress.errors import UserError

Table = Mapping[str, Any]


def files(folder: Path) -> list[Path]:
    """The TOML files of a folder in the order of their names; UserError if there are none."""
    found = sorted(Path(folder).glob("*.toml"))
    if not found:
        raise UserError(f"{folder} holds no TOML file; expected one for each source document")
    return found


def tables(path: Path, name: str) -> tuple[str, list[tuple[Table, str]]]:
    """The title of the document and the ``[[name]]`` tables of its file.

    Returns:
        The text of the key ``document``, and each table with the words that say where it stands.

    Raises:
        UserError: the file is missing, is not TOML, has no title, or holds anything else.
    """
    try:
        content = path.read_text(encoding="utf-8")
        data = tomllib.loads(content)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UserError(f"cannot read {path}: {error}; expected [[{name}]] tables") from None
    document = data.pop("document", None)
    if not isinstance(document, str) or not document:
        raise UserError(f"{path}: key 'document' is {document!r}, expected the title in quotes")
    rows = data.pop(name, [])
    if data or not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        found = next(iter(data), name)
        raise UserError(f"{path}: found '{found}', expected a list of [[{name}]] tables only")
    header = re.compile(rf"^\s*\[\[\s*{name}\s*\]\]")
    lines = [n for n, row in enumerate(content.splitlines(), start=1) if header.match(row)]
    places = [f" at line {line}" for line in lines] if len(lines) == len(rows) else [""] * len(rows)
    return document, [
        (row, f"{path}, [[{name}]]{place}") for row, place in zip(rows, places, strict=True)
    ]


def check_keys(
    table: Table, where: str, required: Collection[str], optional: Collection[str]
) -> None:
    """UserError for a missing, an unknown, or an empty key."""
    for key in table:
        if key not in required and key not in optional:
            clause = nearest(key, [*required, *optional])
            raise UserError(f"{where}: unknown key '{key}'; {clause}?")
        if table[key] in ("", [], {}):
            raise UserError(f"{where}: key '{key}' is empty; give it a value or leave it out")
    for key in required:
        if key not in table:
            raise UserError(f"{where}: key '{key}' is missing; expected {', '.join(required)}")


def text(table: Table, key: str, where: str) -> str:
    """A text, empty if the key is left out."""
    found = table.get(key, "")
    if not isinstance(found, str):
        raise UserError(f"{where}: key '{key}' is {found!r}, expected text in quotes")
    return found


def texts(table: Table, key: str, where: str) -> tuple[str, ...]:
    """A list of texts, empty if the key is left out."""
    found = table.get(key, [])
    if not isinstance(found, list) or not all(isinstance(one, str) and one for one in found):
        raise UserError(f"{where}: key '{key}' is {found!r}, expected a list of texts in quotes")
    return tuple(found)
