"""What is installed in the environment of this process."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Sequence

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name


def version(package: str) -> str | None:
    """The installed version, or None."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def public(version_: str) -> str:
    """A version without its local part, such as the kind of a build."""
    return version_.partition("+")[0]


def holds(row: str) -> bool:
    """Whether exactly what a pinned requirement asks for is installed."""
    requirement = Requirement(row)
    here = version(requirement.name)
    return (
        here is not None
        and not requirement.url
        and requirement.specifier.contains(here, prereleases=True)
    )


def pins(packages: Sequence[str] | None = None) -> list[str]:
    """Pins of what is installed now: all of it, or some packages."""
    if packages is None:
        distributions = importlib.metadata.distributions()
        names = {canonicalize_name(d.metadata["Name"]) for d in distributions if d.metadata["Name"]}
        packages = sorted(names - {"pip", "setuptools", "wheel", "rlregress"})
    pairs = [(name, version(name)) for name in packages]
    return [
        f"{name}=={public(distributions)}"
        for name, distributions in pairs
        if distributions is not None
    ]
