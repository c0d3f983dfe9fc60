"""What a side needs beside the packages that were asked for, and what does not fit together."""

from __future__ import annotations

import importlib.metadata
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from rlregress import frameworks, suite
from rlregress.errors import UserError
from rlregress.frameworks.base import Adapter

ESSENTIAL = ("numpy", "scipy", "gymnasium[mujoco]", "filelock", "packaging")


def version(package: str) -> str | None:
    """The installed version, or None."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def public(version_: str) -> str:
    """A version without its local part, such as the kind of a build."""
    return version_.partition("+")[0]


def installed(row: str) -> bool:
    """Whether exactly what a pinned requirement asks for is installed."""
    requirement = Requirement(row)
    found = version(requirement.name)
    return (
        found is not None
        and not requirement.url
        and (requirement.specifier.contains(found, prereleases=True))
    )


@dataclass(frozen=True)
class Unmet:
    """What packages of an overlay ask for and do not get from the current environment.

    Attributes:
        missing: requirements of which nothing is installed.
        capped: in words, requirements of which another version is installed.
        names: packages of ``capped``.
    """

    missing: tuple[str, ...] = ()
    capped: tuple[str, ...] = ()
    names: frozenset[str] = frozenset()


def _required(found: importlib.metadata.Distribution) -> Iterator[Requirement]:
    for row in found.requires or ():
        requirement = Requirement(row)
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
            yield requirement


def required(folder: Path, packages: frozenset[str]) -> list[str]:
    """What some packages in a folder ask for, of others."""
    rows = {
        f"{requirement.name}{requirement.specifier}"
        for found in importlib.metadata.distributions(path=[str(folder)])
        if canonicalize_name(found.metadata["Name"]) in packages
        for requirement in _required(found)
        if canonicalize_name(requirement.name) not in packages
    }
    return sorted(rows)


def unmet(folder: Path, ground: Mapping[str, str] | None = None) -> Unmet:
    """What the packages in a folder need that neither it nor the environment below it has.

    Args:
        ground: name -> version of what is in that environment; None: the current one.
    """
    here = list(importlib.metadata.distributions(path=[str(folder)]))
    own = {canonicalize_name(found.metadata["Name"]): found.version for found in here}
    missing, capped, names = [], [], set()
    for found in here:
        for requirement in _required(found):
            name = canonicalize_name(requirement.name)
            below = version(name) if ground is None else ground.get(name)
            there = own.get(name) or below
            if there is None:
                missing.append(f"{requirement.name}{requirement.specifier}")
            elif not requirement.specifier.contains(there, prereleases=True):
                asks = f"{found.metadata['Name']} {found.version} needs {name}"
                capped.append(f"{asks}{requirement.specifier}, {there} is installed")
                names.add(str(name))
    return Unmet(tuple(sorted(set(missing))), tuple(sorted(set(capped))), frozenset(names))


def against(folder: Path, adapters: Sequence[Adapter]) -> list[str]:
    """What the installed frameworks ask of an overlay's packages and do not get, in words."""
    here = {
        canonicalize_name(found.metadata["Name"]): found.version
        for found in importlib.metadata.distributions(path=[str(folder)])
    }
    notes = []
    for package in sorted({p for adapter in adapters for p in adapter.packages}):
        if canonicalize_name(package) in here or version(package) is None:
            continue
        for requirement in _required(importlib.metadata.distribution(package)):
            given = here.get(canonicalize_name(requirement.name))
            if given is not None and not requirement.specifier.contains(given, prereleases=True):
                notes.append(f"{package} {version(package)} asks for {requirement}, not {given}")
    return notes


def own(adapters: Sequence[Adapter], pinned: frozenset[str]) -> list[str]:
    """What this library and the concerned frameworks need, without what is pinned already.

    With it everything that can be asked here can be asked in another environment, and the return
    gate runs there. Other frameworks and torch are left out.
    """
    known = [frameworks.get(name) for name in frameworks.names()]
    others = {canonicalize_name(p) for a in known for p in (*a.packages, *a.modules)}
    asked = {canonicalize_name(p) for a in adapters for p in a.packages}
    rows = [row for row in _declared() if canonicalize_name(Requirement(row).name) not in others]
    # a framework of scripts may come as a checkout: what is not installed here is no need there
    rows += [p for p in asked if p != "torch" and version(p) is not None]
    return sorted({row for row in rows if canonicalize_name(Requirement(row).name) not in pinned})


def _declared() -> list[str]:
    try:
        project = tomllib.loads((suite.root() / "pyproject.toml").read_text(encoding="utf-8"))
        rows = project["project"]["dependencies"]
    except (UserError, OSError, ValueError, KeyError):
        try:
            rows = importlib.metadata.requires("rlregress") or list(ESSENTIAL)
        except importlib.metadata.PackageNotFoundError:
            rows = list(ESSENTIAL)
    return [row for row in rows if "extra ==" not in row]


def current(packages: Sequence[str] | None = None) -> list[str]:
    """Pins of what is installed now: all of it, or some packages."""
    if packages is None:
        found = importlib.metadata.distributions()
        names = {canonicalize_name(d.metadata["Name"]) for d in found if d.metadata["Name"]}
        packages = sorted(names - {"pip", "setuptools", "wheel", "rlregress"})
    pairs = [(name, version(name)) for name in packages]
    return [f"{name}=={public(found)}" for name, found in pairs if found is not None]
