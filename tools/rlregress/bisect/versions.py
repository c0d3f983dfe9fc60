"""The searched versions: published releases of packages, and commits."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from urllib.request import Request, urlopen

from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    parse_sdist_filename,
    parse_wheel_filename,
)
from packaging.version import InvalidVersion, Version

from rlregress.errors import UserError
from rlregress.inside.run_record import write_text_atomically
from rlregress.upgrade.versions import cached_folders, installed, installer, interpreters, revisions
from rlregress.upgrade.versions.requested import INSTALLED, RequestedVersion
from rlregress.upgrade.versions.version_resolution import map_versions_by_name

#: the form in which an index says when a file was uploaded (PEP 691, PEP 700).
_JSON = "application/vnd.pypi.simple.v1+json"
Pins = Mapping[str, str]


def list_pins_of_ends(old: RequestedVersion, new: RequestedVersion) -> tuple[Pins, Pins, list[str]]:
    """Return package -> version for both ends; unpinned packages have the installed version.

    Return also sentences on packages that are not searched: only one end has them, or one has no
    release of them.

    Raises:
        UserError: an end is a working tree.
    """
    for version in (old, new):
        if version.tree is not None:
            raise UserError(
                f"'{version.text}' is a working tree; to search its commits give --repo "
                f"{(revisions.parse_revision(version.text) or [version.text])[0]}, "
                "and revisions as OLD and NEW"
            )
    old_pins, new_pins = (_list_environment_pins(version) for version in (old, new))
    pins_of_ends = []
    for mine, opposite, version in ((old_pins, new_pins, old), (new_pins, old_pins, new)):
        # an environment says all that it has; what is installed is for this Python
        missing = (
            [] if version.environment or version.python else sorted(opposite.keys() - mine.keys())
        )
        installed_versions = {name: installed.find_installed_version(name) for name in missing}
        pins_of_ends.append({**{name: v for name, v in installed_versions.items() if v}, **mine})
    both = pins_of_ends[0].keys() & pins_of_ends[1].keys()
    for name in both:
        # a version without a build, such as +cpu, may be the build that the other end names
        builds = {end_pins[name] for end_pins in pins_of_ends}
        if {installed.strip_local_version(version) for version in builds} < builds:
            pins_of_ends = [{**end_pins, name: max(builds, key=len)} for end_pins in pins_of_ends]
    unpinned = [
        f"{name}=={pins_of_ends[n][name]}, which {'OLD' if n == 0 else 'NEW'} alone has"
        for n in (0, 1)
        for name in sorted(pins_of_ends[n].keys() - both)
    ]
    for version in (old, new):
        rows = [
            row for row in version.requirements if not map_versions_by_name([row]) or "[" in row
        ]
        unpinned += [f"{row}, which is no release alone" for row in rows]
    return {n: pins_of_ends[0][n] for n in both}, {n: pins_of_ends[1][n] for n in both}, unpinned


def _list_environment_pins(version: RequestedVersion) -> dict[str, str]:
    if version.environment is not None:
        versions_there = interpreters.map_interpreter_versions(
            str(version.environment / "bin" / "python")
        )
        tools = {"pip", "setuptools", "wheel", "rlregress"}
        installed_here = {n: installed.find_installed_version(n) or "" for n in versions_there}
        return {
            # a build that is no release's, such as +cpu, may be on no index
            n: v if "+" in installed_here[n] else installed.strip_local_version(v)
            for n, v in versions_there.items()
            if n not in tools
        }
    if version.text == INSTALLED:
        return {}
    return map_versions_by_name(version.requirements)


def request_version_of_pins(requested_pins: Pins, python: str = "") -> RequestedVersion:
    """Return a version request, as a user would write it, that has exactly these pins."""
    rows = tuple(f"{name}=={version}" for name, version in sorted(requested_pins.items()))
    return RequestedVersion(" ".join(rows), rows, python=python)


def list_releases_between(
    package: str, old: str, new: str, dated_releases: Iterable[str], python: str = ""
) -> list[str]:
    """Return published releases of a package from OLD to NEW, in that order.

    Both ends are included, and releases that were yanked or have no build for this Python.
    Pre-releases are included if an end is one. The list is stored for use without a network.

    Args:
        dated_releases: releases whose publication date is known.
        python: another interpreter that builds are requested for; empty: this one.

    Raises:
        Unreachable: there is no network, and no list of this package was kept.
    """
    path = (
        cached_folders.locate_cache()
        / "releases"
        / f"{package}{python and '-' + interpreters.make_installation_tag(python)}.json"
    )
    published = installer.list_published_versions(package, interpreters.find_short_version(python))
    if published:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text_atomically(path, json.dumps(published))
    elif path.is_file():
        published = json.loads(path.read_text(encoding="utf-8"))
    else:
        raise installer.Unreachable(
            f"the releases of {package} cannot be listed: the package index cannot be reached or "
            f"does not have it, and no list is in the cache {cached_folders.locate_cache()}; try "
            "again "
            "with a network"
        )
    low, high = sorted((_parse_version(package, old), _parse_version(package, new)))
    # those without a build for this Python are candidates that cannot be checked
    between: dict[Version, str] = {}
    for text in [*dated_releases, *published]:
        parsed = _parse_version(package, text)
        public = Version(parsed.public)
        # of several builds of a release, such as +cpu, the one that both ends have
        if public not in between or parsed.local == low.local == high.local:
            between[public] = text
    early = low.is_prerelease or high.is_prerelease
    first, last = Version(low.public), Version(high.public)
    inside = [between[v] for v in sorted(between) if first < v < last and early >= v.is_prerelease]
    rows = [str(low), *inside, str(high)]
    rows[0], rows[-1] = (old, new) if low == Version(old) else (new, old)
    return rows if rows[0] == old else rows[::-1]


def map_releases_to_dates(package: str) -> dict[str, str]:
    """Return release -> the day of its publication; empty if the index does not name it."""
    path = cached_folders.locate_cache() / "releases" / f"{package}.dates.json"
    request = Request(f"{installer.get_index_address()}/{package}/", headers={"Accept": _JSON})
    with suppress(OSError, ValueError):
        with urlopen(request, timeout=20) as answer:
            published = json.load(answer)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text_atomically(path, json.dumps(published))
    try:
        files = json.loads(path.read_text(encoding="utf-8"))["files"]
    except (OSError, ValueError, KeyError):
        return {}
    dates_by_release: dict[str, str] = {}
    for file in files:
        name, day = file["filename"], file.get("upload-time", "")[:10]
        wheel = name.endswith(".whl")
        with suppress(InvalidWheelFilename, InvalidSdistFilename):
            version = str((parse_wheel_filename if wheel else parse_sdist_filename)(name)[1])
            dates_by_release[version] = min(day, dates_by_release.get(version, day))
    return dates_by_release


def _parse_version(package: str, text: str) -> Version:
    try:
        return Version(text)
    except InvalidVersion:
        raise UserError(
            f"{package}=={text} is no valid version; expected one such as 2.9.2"
        ) from None


def require_repository_folder(repository: str) -> Path:
    """Return the folder of a repository; raise UserError if it does not exist."""
    folder = Path(repository).expanduser()
    if not folder.is_dir():
        raise UserError(f"--repo is '{repository}', which is no folder; expected a git repository")
    return folder
