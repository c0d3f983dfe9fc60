"""What is known before anything trains, in words: each difference once, as soon as it is found."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rlregress.model.upgrade_result import ChangedDefault, ChangedDetail
from rlregress.upgrade.inventory import Inventory

#: differences of one kind that are printed; the report has all of them.
_LISTED = 8


def of_inventory(found: Inventory) -> list[str]:
    """Names that are gone or incompatible, and packages that are no longer installed."""
    broken = [change for change in found.public if change.breaks]
    gone = (name for name, (old, new) in found.versions.items() if old and not new)
    # those that the packages required come before what only these required
    lost = [f"{name} {found.versions[name][0]}" for name in dict.fromkeys((*found.lost, *gone))]
    return [
        *_listed("gone or incompatible", (change.summary for change in broken)),
        *_listed("no longer installed", [", ".join(lost)] if lost else []),
    ]


def of_probes(details: Iterable[ChangedDetail], defaults: Iterable[ChangedDefault]) -> list[str]:
    """Details and defaults that differ, with what both versions do."""
    return [
        *_listed("differs", (f"{d.id} [{d.scope}]: {d.words}" for d in details)),
        *_listed("another default", map(str, defaults)),
    ]


def _listed(head: str, sentences: Iterable[str]) -> Sequence[str]:
    every = list(dict.fromkeys(sentences))
    rest = [f"  {head}: and {len(every) - _LISTED} more"] if len(every) > _LISTED else []
    return [f"  {head}: {sentence}" for sentence in every[:_LISTED]] + rest
