"""Both versions of an upgrade, resolved once for all later stages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rlregress.frameworks.base import Adapter
from rlregress.upgrade.versions import affected, cached_folders, common_versions, version_resolution
from rlregress.upgrade.versions.requested import RequestedVersion
from rlregress.upgrade.versions.version_resolution import ResolvedPins


@dataclass(frozen=True)
class ResolvedVersion:
    """A version whose packages are resolved and not yet installed.

    Attributes:
        versions: of all packages to install; None: everything is installed already.
        own_environment: it needs a separate environment: it has another torch or Python.
    """

    label: str
    requested: RequestedVersion
    versions: ResolvedPins | None = None
    own_environment: bool = False


@dataclass(frozen=True)
class ResolvedPair:
    """The old and the new version, with the versions of all their packages resolved.

    Attributes:
        pinned: packages that the two versions pin differently.
        adapters: frameworks that the upgrade is about.
        imports: differing packages that a script may import: "distributions" and "trees".
    """

    old: ResolvedVersion
    new: ResolvedVersion
    pinned: frozenset[str]
    adapters: tuple[Adapter, ...]
    imports: Mapping[str, Sequence[str]]

    @property
    def changes_physics(self) -> bool:
        """Return whether a package that can change environments is pinned differently."""
        return bool(self.pinned & affected.PHYSICS)


def resolve_pair(
    old: RequestedVersion,
    new: RequestedVersion,
    pinned: frozenset[str],
    adapters: Sequence[Adapter],
    log: cached_folders.Log = cached_folders.ignore_message,
) -> ResolvedPair:
    """Resolve both versions with as few differences besides their pins as possible.

    Args:
        pinned: packages that the two versions pin differently.
        adapters: frameworks that the upgrade is about.

    Raises:
        UserError: a version that does not exist, or no network.
    """
    versions = resolve_versions(old, new, adapters, log)
    return ResolvedPair(
        *versions, pinned, tuple(adapters), affected.group_importable_names(old, new, pinned)
    )


def resolve_versions(
    old: RequestedVersion,
    new: RequestedVersion,
    adapters: Sequence[Adapter],
    log: cached_folders.Log,
) -> tuple[ResolvedVersion, ResolvedVersion]:
    """Return both requested versions with the versions of pinned and needed packages.

    Raises:
        UserError: a version that does not exist, or no network.
    """
    requested_versions = {"old": old, "new": new}
    complete = {
        label: version.base is None
        and (bool(version.python) or version_resolution.needs_another_torch(version))
        for label, version in requested_versions.items()
    }
    problems = {
        label: version_resolution.make_resolver_input(version, adapters, complete[label])
        for label, version in requested_versions.items()
        if version.requirements or version.python
    }
    versions = common_versions.resolve_or_reuse_both(problems, log)
    resolved_old, resolved_new = (
        ResolvedVersion(label, version, versions.get(label), complete[label])
        for label, version in requested_versions.items()
    )
    return resolved_old, resolved_new
