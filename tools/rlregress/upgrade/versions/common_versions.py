"""Resolves old and new to the same package versions wherever their pins allow it.

Each version is resolved by itself. Where the two have different versions of a package, both are
resolved again and prefer the older one, as mostly an upper bound causes the difference. Remaining
differences are noted.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from typing import Any

from packaging.version import Version

from rlregress.datafiles import is_version
from rlregress.inside.run_record import write_text_atomically
from rlregress.upgrade.versions import cached_folders, installed, interpreters, version_resolution
from rlregress.upgrade.versions.version_resolution import ResolvedPins, ResolverInput

#: number of the format of cached resolutions: after a change of it, none is reused.
_FORMAT = 2


def resolve_or_reuse_both(
    problems: Mapping[str, ResolverInput], log: cached_folders.Log
) -> dict[str, ResolvedPins]:
    """Return the packages of old and new: a stored resolution that still holds, or a new one.

    Raises:
        UserError: a version cannot be resolved.
    """
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
        return {label: ResolvedPins(**row) for label, row in stored["sides"].items()}
    if not problems:
        return {}
    log(f"resolving {', '.join(x.requirements_text for x in problems.values())}")
    resolved = resolve_to_common_versions(problems, log)
    names = sorted({name for version in resolved.values() for name in version.rows})
    # another installed version of one of these may change the resolution
    below = {name: installed.find_installed_version(name) for name in names}
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = {label: asdict(version) for label, version in resolved.items()}
    write_text_atomically(path, json.dumps({"sides": rows, "below": below}))
    return resolved


def resolve_to_common_versions(
    by_version: Mapping[str, ResolverInput], log: cached_folders.Log
) -> dict[str, ResolvedPins]:
    """Return the packages of each version; those of two versions are the same where possible.

    Raises:
        UserError: a version cannot be resolved.
    """
    with ThreadPoolExecutor() as pool:
        answers = pool.map(
            lambda problem: version_resolution.resolve_version_relaxing_pins(problem, log),
            by_version.values(),
        )
        solved = dict(zip(by_version, answers, strict=True))
    resolved = {label: version for label, (_, version) in solved.items()}
    if len(resolved) < 2:
        return resolved
    problems = [problem for problem, _ in solved.values()]
    separate = _list_packages_not_unified(*by_version.values())
    preferred: dict[str, str] = {}
    while older := {
        name: min(versions, key=Version)
        for name, versions in _map_differing_versions(*resolved.values()).items()
        if name not in {*separate, *preferred}
    }:
        preferred |= older
        with ThreadPoolExecutor() as pool:
            solutions = [
                *pool.map(ResolverInput.resolve_to_versions, problems, [preferred] * len(problems))
            ]
        resolved = dict(zip(resolved, solutions, strict=True))
    return _add_packages_of_other_version(by_version, resolved)


def _list_packages_not_unified(old: ResolverInput, new: ResolverInput) -> set[str]:
    """Return packages that may differ: the user pins them, or the stacks pin them differently."""
    users = version_resolution.map_versions_by_name([*old.pins, *new.pins]).keys()
    rows = new.pinned_versions
    # two separate environments can share a version of torch: it need not be the installed one
    torch = () if old.complete and new.complete else ("torch",)
    return {*torch, *users, *(n for n, v in old.pinned_versions.items() if rows.get(n, v) != v)}


def _map_differing_versions(old: ResolvedPins, new: ResolvedPins) -> dict[str, tuple[str, str]]:
    """Return the versions of each package that old and new have in different valid versions."""
    versions, new_versions = (
        version_resolution.map_versions_by_name(version.rows.values()) for version in (old, new)
    )
    shared = sorted(versions.keys() & new_versions.keys())
    pairs = {name: (versions[name], new_versions[name]) for name in shared}
    return {n: v for n, v in pairs.items() if v[0] != v[1] and all(map(is_version, v))}


def _add_packages_of_other_version(
    problems: Mapping[str, ResolverInput], resolved: dict[str, ResolvedPins]
) -> dict[str, ResolvedPins]:
    """Give each version the packages that only the other needs, and note remaining differences."""
    old, new = resolved.values()
    pins = [pin for problem in problems.values() for pin in problem.pins]
    users = version_resolution.map_versions_by_name(pins).keys()
    if not any(problem.complete for problem in problems.values()):
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
    return dict(zip(resolved, (old, new), strict=True))
