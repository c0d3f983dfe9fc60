"""The index of what the sources name: ``baselines/sources/*.toml``, one file for each document.

A file has the title of its ``document`` and a list of ``[[item]]`` tables with ``id``, ``place``
(where it stands), ``title`` (what it is, in our words) and what asks it: ``details`` (ids of the
catalogue) and ``defaults`` ("ppo.learning_rate", names as in ``baselines/hyperparameters``).
``not_code`` says why an item, or the rest of it, is no statement about code.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

from rlregress.claims.reading import check_keys, files, tables, text, texts
from rlregress.errors import UserError

_REQUIRED = ("id", "place", "title")
_OPTIONAL = ("details", "defaults", "not_code")


@dataclass(frozen=True)
class Item:
    """One thing that a source names; see the module."""

    id: str
    place: str
    title: str
    details: tuple[str, ...] = ()
    defaults: tuple[str, ...] = ()
    not_code: str = ""


def load(folder: Path) -> tuple[Item, ...]:
    """The items of all files of a folder.

    Raises:
        UserError: an item has a missing, unknown or ill-typed key, is named twice, or is neither
            asked by anything nor said to be no statement about code.
    """
    found: dict[str, Item] = {}
    for path in files(folder):
        _, rows = tables(path, "item")
        for table, where in rows:
            check_keys(table, where, _REQUIRED, _OPTIONAL)
            item = Item(
                text(table, "id", where),
                text(table, "place", where),
                text(table, "title", where),
                texts(table, "details", where),
                texts(table, "defaults", where),
                text(table, "not_code", where),
            )
            if item.id in found:
                raise UserError(f"{where}: the id '{item.id}' is taken; give every item its own")
            if not (item.details or item.defaults or item.not_code):
                raise UserError(
                    f"{where}: nothing asks '{item.id}'; name details or defaults, or say in "
                    f"not_code why it is no statement about code"
                )
            found[item.id] = item
    return tuple(found.values())


def without_answer(
    items: Iterable[Item], answered: Collection[str], beginnings: tuple[str, ...]
) -> list[str]:
    """``item: detail`` for each detail of the items whose id begins so that has no answer."""
    return [
        f"{item.id}: {detail}"
        for item in items
        if item.id.startswith(beginnings)
        for detail in item.details
        if detail not in answered
    ]
