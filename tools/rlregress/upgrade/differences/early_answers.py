"""Sentences that report the differences which are known before any training."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rlregress.model.upgrade_result import ChangedDefault, ChangedDetail
from rlregress.upgrade.differences.inventory import Inventory

#: how many differences of one kind are printed; the report has all of them.
_LISTED = 8


def describe_broken_names_and_lost_packages(inventory: Inventory) -> list[str]:
    """Return names that are gone or incompatible, and packages that are no longer installed."""
    broken = [change for change in inventory.public if change.breaks_callers]
    gone = (name for name, (old, new) in inventory.versions.items() if old and not new)
    # packages that the requested ones required come before those required by these only
    not_installed = [
        f"{name} {inventory.versions[name][0]}" for name in dict.fromkeys((*inventory.lost, *gone))
    ]
    return [
        *_format_list_under_heading("gone or incompatible", (change.summary for change in broken)),
        *_format_list_under_heading(
            "no longer installed", [", ".join(not_installed)] if not_installed else []
        ),
    ]


def describe_changed_details_and_defaults(
    details: Iterable[ChangedDetail], defaults: Iterable[ChangedDefault]
) -> list[str]:
    """Describe details and defaults that differ."""
    return [
        *_format_list_under_heading(
            "differs", (f"{d.id} [{d.scope}]: {d.variant_change_in_words}" for d in details)
        ),
        *_format_list_under_heading("another default", map(str, defaults)),
    ]


def _format_list_under_heading(head: str, sentences: Iterable[str]) -> Sequence[str]:
    distinct = list(dict.fromkeys(sentences))
    remainder = [f"  {head}: and {len(distinct) - _LISTED} more"] if len(distinct) > _LISTED else []
    return [f"  {head}: {sentence}" for sentence in distinct[:_LISTED]] + remainder
