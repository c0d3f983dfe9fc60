"""Both versions of an upgrade, resolved to the same package versions wherever their pins allow it.

Each version is resolved by itself. Where the two have different versions of a package, both are
resolved again and prefer the older one, as mostly an upper bound causes the difference. Remaining
differences are noted.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from typing import Any

from packaging.version import Version

from rlregress.datafiles import is_version
from rlregress.frameworks.base import Adapter
from rlregress.inside.run_record import write_text_atomically
from rlregress.upgrade.versions import (
    affected,
    cached_folders,
    installed,
    interpreters,
    version_resolution,
)
from rlregress.upgrade.versions.requested import RequestedVersion
from rlregress.upgrade.versions.version_resolution import (
    ResolvedPins,
    ResolverInput,
    map_versions_by_name,
)

#: number of the format of cached resolutions: after a change of it, none is reused.
_FORMAT = 3


@dataclass(frozen=True)
class ResolvedVersion:
    """A version whose packages are resolved and not yet installed.

    Attributes:
        versions: of all packages to install; None: everything is installed already.
    """

    label: str
    requested: RequestedVersion
    versions: ResolvedPins | None = None


@dataclass(frozen=True)
class ResolvedPair:
    """The old and the new version, with the versions of all their packages resolved.

    Attributes:
        pinned: packages that the two versions pin differently.
        adapters: frameworks that the upgrade is about.
    """

    old: ResolvedVersion
    new: ResolvedVersion
    pinned: frozenset[str]
    adapters: Sequence[Adapter]

    @property
    def changes_physics(self) -> bool:
        """Return whether a package that can change environments is pinned differently."""
        return bool(self.pinned & affected.PHYSICS)

    @property
    def imports(self) -> dict[str, list[str]]:
        """Return differing packages that a script may import: "distributions" and "trees"."""
        return affected.group_importable_names(self.old.requested, self.new.requested)


def resolve_versions(
    old: RequestedVersion,
    new: RequestedVersion,
    adapters: Sequence[Adapter],
    log: cached_folders.Log = cached_folders.ignore_message,
) -> tuple[ResolvedVersion, ResolvedVersion]:
    """Resolve both versions with as few differences besides their pins as possible.

    A stored resolution is used if it still holds.

    Raises:
        UserError: a version that does not exist, or no network.
    """
    requested_versions = {"old": old, "new": new}
    problems = {
        label: version_resolution.make_resolver_input(version, adapters)
        for label, version in requested_versions.items()
        if version.requirements or version.python
    }
    versions = _resolve_or_reuse_both(problems, log) if problems else {}
    resolved_old, resolved_new = (
        ResolvedVersion(label, version, versions.get(label))
        for label, version in requested_versions.items()
    )
    return resolved_old, resolved_new


def _resolve_or_reuse_both(
    problems: Mapping[str, ResolverInput], log: cached_folders.Log
) -> dict[str, ResolvedPins]:
    inputs = {label: asdict(x) for label, x in problems.items()}
    text = json.dumps([_FORMAT, inputs], default=sorted)
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    tags = "-".join(
        sorted({interpreters.make_installation_tag(x.python) for x in problems.values()})
    )
    path = cached_folders.locate_cache() / "resolutions" / f"{tags}-{digest}.json"
    try:
        stored: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        stored = {}
    if stored and all(
        installed.find_installed_version(name) == v for name, v in stored["below"].items()
    ):
        return {
            label: ResolvedPins(rows, problems[label], tuple(notes))
            for label, (rows, notes) in stored["sides"].items()
        }
    log(f"resolving {', '.join(x.requirements_text for x in problems.values())}")
    resolved = _resolve_to_common_versions(problems, log)
    names = sorted({name for version in resolved.values() for name in version.rows})
    # another installed version of one of these may change the resolution
    below = {name: installed.find_installed_version(name) for name in names}
    path.parent.mkdir(parents=True, exist_ok=True)
    sides = {label: [version.rows, version.notes] for label, version in resolved.items()}
    write_text_atomically(path, json.dumps({"sides": sides, "below": below}))
    return resolved


def _resolve_to_common_versions(
    problems: Mapping[str, ResolverInput], log: cached_folders.Log
) -> dict[str, ResolvedPins]:
    """Return the packages of each version; those of two versions are the same where possible."""
    with ThreadPoolExecutor() as pool:
        answers = pool.map(
            lambda problem: version_resolution.resolve_version_relaxing_pins(problem, log),
            problems.values(),
        )
        resolved = dict(zip(problems, answers, strict=True))
    if len(resolved) < 2:
        return resolved
    old, new = resolved.values()
    separate = _list_packages_not_unified(*problems.values())
    preferred: dict[str, str] = {}
    while older := {
        name: min(versions, key=Version)
        for name, versions in _map_differing_versions(old, new).items()
        if name not in {*separate, *preferred}
    }:
        preferred |= older
        with ThreadPoolExecutor() as pool:
            old, new = pool.map(
                ResolverInput.resolve_to_versions, (old.problem, new.problem), [preferred] * 2
            )
    return dict(zip(problems, _add_packages_of_other_version(old, new), strict=True))


def _list_packages_not_unified(old: ResolverInput, new: ResolverInput) -> set[str]:
    """Return packages that may differ: the user pins them, or the stacks pin them differently."""
    users = map_versions_by_name([*old.pins.values(), *new.pins.values()]).keys()
    rows = new.pinned_versions
    # two separate environments can share a version of torch: it need not be the installed one
    torch = () if old.complete and new.complete else ("torch",)
    return {*torch, *users, *(n for n, v in old.pinned_versions.items() if rows.get(n, v) != v)}


def _map_differing_versions(old: ResolvedPins, new: ResolvedPins) -> dict[str, tuple[str, str]]:
    """Return the versions of each package that old and new have in different valid versions."""
    versions, new_versions = (map_versions_by_name(version.rows.values()) for version in (old, new))
    shared = sorted(versions.keys() & new_versions.keys())
    pairs = {name: (versions[name], new_versions[name]) for name in shared}
    return {n: v for n, v in pairs.items() if v[0] != v[1] and all(map(is_version, v))}


def _add_packages_of_other_version(
    old: ResolvedPins, new: ResolvedPins
) -> tuple[ResolvedPins, ResolvedPins]:
    """Give each version the packages that only the other needs, and note remaining differences."""
    pins = [*old.problem.pins.values(), *new.problem.pins.values()]
    users = map_versions_by_name(pins).keys()
    if not (old.problem.complete or new.problem.complete):
        shared = {**new.rows, **old.rows}
        shared = {name: row for name, row in shared.items() if name not in users}
        old = replace(old, rows={**shared, **old.rows})
        new = replace(new, rows={**shared, **new.rows})
    differing = [
        f"{name} ({old_version} and {new_version})"
        for name, (old_version, new_version) in _map_differing_versions(old, new).items()
        if name not in users
    ]
    if differing:
        note = f"old and new differ in {', '.join(differing)}: no one version fits both"
        old, new = (replace(version, notes=(*version.notes, note)) for version in (old, new))
    return old, new
