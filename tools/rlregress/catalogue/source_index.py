"""The index of statements in the sources: ``baselines/sources/*.toml``, one file per document.

A file has the title of its ``document`` and a list of ``[[item]]`` tables with ``id``, ``place``
(in the document), ``title`` (in our words) and its checks: ``details`` (ids of the catalogue) and
``defaults`` ("ppo.learning_rate", names as in ``baselines/hyperparameters``). ``not_code`` says why
an item, or the rest of it, is no statement about code.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

from rlregress import datafiles
from rlregress.datafiles import Text
from rlregress.errors import UserError
from rlregress.model.detail_answers import Item


@dataclass(frozen=True, kw_only=True)
class _Item(Item):
    id: Text
    place: Text
    title: Text
    details: tuple[Text, ...] = ()
    defaults: tuple[Text, ...] = ()

    def __post_init__(self) -> None:
        if not (self.details or self.defaults or self.not_code):
            raise ValueError(
                f"nothing checks '{self.id}'; name details or defaults, or say in not_code why "
                "it is no statement about code"
            )


@dataclass(frozen=True)
class _Index:
    document: Text
    item: tuple[_Item, ...] = ()


def load_source_index(folder: Path) -> tuple[Item, ...]:
    """Load the items of a source, such as a list of PPO details, from all files of a folder.

    Raises:
        UserError: an item has a missing, unknown or ill-typed key, is named twice, or has neither a
            check nor a reason to have none.
    """
    items: dict[str, Item] = {}
    for path in datafiles.list_toml_files(folder, "index of what a source names"):
        index: _Index = datafiles.read_data_file(path, _Index)
        places = datafiles.describe_places_of_tables(path, "item", len(index.item))
        for item, place in zip(index.item, places, strict=True):
            if item.id in items:
                raise UserError(f"{place}: the id '{item.id}' is taken; give every item its own")
            items[item.id] = item
    return tuple(items.values())


def list_unanswered_details(
    items: Iterable[Item], answered: Collection[str], id_prefixes: tuple[str, ...]
) -> list[str]:
    """List ``item: detail`` for each detail without a result; ``id_prefixes`` select items."""
    return [
        f"{item.id}: {detail}"
        for item in items
        if item.id.startswith(id_prefixes)
        for detail in item.details
        if detail not in answered
    ]
