"""``rlregress details``: how many there are, by source and framework; one of them in full."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from rlregress import suite
from rlregress.claims import sources
from rlregress.details import catalogue
from rlregress.details.implementation import documented
from rlregress.faults import probed
from rlregress.frameworks.base import Adapter

_WIDTH_OF_FILES = 130


def _console() -> Console:
    console = Console()
    return console if console.is_terminal else Console(width=_WIDTH_OF_FILES)


def _families() -> Table:
    table = Table("family", "details", "variants", title="Catalogue")
    details = catalogue.all_details()
    for family in dict.fromkeys(detail.family for detail in details):
        of_family = [detail for detail in details if detail.family == family]
        variants = sum(len(detail.variants) for detail in of_family)
        table.add_row(family, str(len(of_family)), str(variants))
    total = sum(len(detail.variants) for detail in details)
    table.add_row("all", str(len(details)), str(total), style="bold")
    return table


def _sources() -> Table:
    title = "What the sources name"
    table = Table("source", "items", "asked", "no statement about code", "details", title=title)
    of_group: dict[str, list[sources.Item]] = {}
    for item in sources.load(suite.baselines() / "sources"):
        group = item.id.rpartition(".")[0] if item.id.count(".") > 1 else item.id.partition(".")[0]
        of_group.setdefault(group, []).append(item)
    for group, items in of_group.items():
        asked = [item for item in items if item.details or item.defaults]
        details = {id for item in items for id in item.details}
        counts = (len(items), len(asked), len(items) - len(asked), len(details))
        table.add_row(group, *map(str, counts))
    return table


def _frameworks(adapters: Sequence[Adapter]) -> Table:
    columns = ("details", "in scopes", "variants", "known deviations", "has no such", "faults")
    table = Table("framework", *columns, title="What the frameworks are asked")
    for adapter in adapters:
        known = documented(adapter)
        asked = set(adapter.probes())
        entries = [entry for cell, entry in known.items() if cell in asked]
        folder = suite.baselines() / "faults" / adapter.name
        counts: tuple[Any, ...] = (
            len({id for id, _ in asked}),
            len(asked),
            len({(entry.id, entry.variant) for entry in entries}),
            sum(bool(entry.deviation) for entry in entries),
            len(adapter.absent()),
            len(probed.load(adapter.name)) if folder.is_dir() else 0,
        )
        table.add_row(f"{adapter.full_name} {adapter.version()}", *map(str, counts))
    return table


def counts(adapters: Sequence[Adapter]) -> None:
    """Print how many details there are, by family, source and framework."""
    console = _console()
    for table in (_families(), _sources(), _frameworks(adapters)):
        console.print(table)


def one(id: str, adapters: Sequence[Adapter]) -> None:
    """Print one entry of the catalogue and what is documented of it.

    Raises:
        UserError: there is no such detail, or what is documented cannot be read; nothing is
            printed.
    """
    detail = catalogue.get(id)
    table = Table("variant", "meaning", "documented of")
    for variant in detail.variants.values():
        frameworks = [
            f"{adapter.full_name} [{scope}]"
            for adapter in adapters
            for (of, scope), entry in documented(adapter).items()
            if of == id and entry.variant == variant.name
        ]
        table.add_row(variant.name, escape(variant.meaning), escape(", ".join(frameworks)))
    console = _console()
    console.print(f"[bold]{detail.id}[/]\n{escape(detail.question)}\n{escape(detail.consequence)}")
    console.print(f"\nSources: {escape('; '.join(detail.sources))}")
    console.print(f"\nProbe: {escape(detail.observed)}\nInputs: {escape(str(dict(detail.inputs)))}")
    console.print(table)
