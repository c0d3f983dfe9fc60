"""Shell completion of frameworks, details and cells. Imports no framework."""

from __future__ import annotations

from collections.abc import Iterable

from rlregress import frameworks, suite


def complete_frameworks(incomplete: str) -> list[str]:
    """Return the names of frameworks that complete the last one of a list."""
    return _complete_after_comma(incomplete, frameworks.list_framework_names())


def complete_cells(incomplete: str) -> list[str]:
    """Return the ids of stored cells that complete the last one of a list."""
    stored = (path.stem for path in (suite.locate_baselines() / "returns").glob("*.toml"))
    return _complete_after_comma(incomplete, ["default", "all", *sorted(stored)])


def complete_details(incomplete: str) -> list[str]:
    """Return the ids of details that begin with a text."""
    # the catalogue takes long to import, and other completions do without it
    from rlregress.catalogue import registry

    return [d.id for d in registry.list_details() if d.id.startswith(incomplete)]


def _complete_after_comma(incomplete: str, names: Iterable[str]) -> list[str]:
    before, comma, prefix = incomplete.rpartition(",")
    typed_names = before.split(",")
    fitting = (name for name in names if name.startswith(prefix) and name not in typed_names)
    return [f"{before}{comma}{name}" for name in fitting]
