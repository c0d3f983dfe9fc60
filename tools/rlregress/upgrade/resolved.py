"""Both sides of an upgrade, resolved once: all that later stages need to know of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rlregress.frameworks.base import Adapter
from rlregress.upgrade import affected, cached_folders, common_versions, version_resolution
from rlregress.upgrade.requested import Requested
from rlregress.upgrade.version_resolution import Resolved


@dataclass(frozen=True)
class ResolvedSide:
    """One side, before it is made.

    Attributes:
        versions: of all that stands on it; None: it is there already.
        own_environment: it cannot stand on what is installed: it has another torch or Python.
    """

    label: str
    requested: Requested
    versions: Resolved | None = None
    own_environment: bool = False


@dataclass(frozen=True)
class Pair:
    """The old version and the new version.

    Attributes:
        pinned: packages that are pinned otherwise on the two sides.
        adapters: frameworks that the upgrade is about.
        imports: what differs of what a script imports.
    """

    old: ResolvedSide
    new: ResolvedSide
    pinned: frozenset[str]
    adapters: tuple[Adapter, ...]
    imports: Mapping[str, Sequence[str]]

    @property
    def moves_physics(self) -> bool:
        """Return whether a package that can change environments is pinned otherwise."""
        return bool(self.pinned & affected.PHYSICS)


def resolve(
    old: Requested,
    new: Requested,
    pinned: frozenset[str],
    adapters: Sequence[Adapter],
    say: cached_folders.Say = cached_folders.silent,
) -> Pair:
    """Both sides, with as little difference beside what they pin as can be.

    Args:
        pinned: packages that are pinned otherwise on the two sides.
        adapters: frameworks that the upgrade is about.

    Raises:
        UserError: a version that does not exist, or no network.
    """
    sides = with_versions(old, new, adapters, say)
    return Pair(*sides, pinned, tuple(adapters), affected.imports(old, new, pinned))


def with_versions(
    old: Requested, new: Requested, adapters: Sequence[Adapter], say: cached_folders.Say
) -> tuple[ResolvedSide, ResolvedSide]:
    """Both sides with the versions of what they pin and need.

    Raises:
        UserError: a version that does not exist, or no network.
    """
    sides = {"old": old, "new": new}
    complete = {
        label: side.base is None and (bool(side.python) or version_resolution.another_torch(side))
        for label, side in sides.items()
    }
    problems = {
        label: version_resolution.make_problem(side, adapters, complete[label])
        for label, side in sides.items()
        if side.requirements or side.python
    }
    versions = common_versions.resolve(problems, say)
    old_side, new_side = (
        ResolvedSide(label, side, versions.get(label), complete[label])
        for label, side in sides.items()
    )
    return old_side, new_side
