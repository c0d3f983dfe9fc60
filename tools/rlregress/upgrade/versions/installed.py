"""The packages that are installed in the environment of this process."""

from __future__ import annotations

import importlib.metadata
import json
from functools import cache
from pathlib import Path

from packaging.requirements import Requirement

from rlregress.check.source_links import is_as_installed
from rlregress.upgrade.versions import distribution_metadata


def find_installed_version(package: str) -> str | None:
    """Return the installed version, or None."""
    for distribution in importlib.metadata.distributions(name=package):
        return distribution_metadata.get_version(distribution)
    return None


def strip_local_version(version_: str) -> str:
    """Return a version without its local part, such as the kind of a build."""
    return version_.partition("+")[0]


@cache
def explain_altered_package(package: str) -> str:
    """Return why an installed package is not the release of its version; empty: it is.

    Reasons: a Python file was changed after installation, or the package was installed from a
    folder or a commit. Torch is not examined: no overlay replaces it.
    """
    if package == "torch":
        return ""
    distribution = importlib.metadata.distribution(package)
    source = json.loads(distribution.read_text("direct_url.json") or "{}")
    if "dir_info" in source or "vcs_info" in source:
        return f"it was installed from {source['url']}"
    for file in distribution.files or ():
        try:
            path = Path(str(distribution.locate_file(file)))
            if file.suffix == ".py" and not is_as_installed(path, file):
                return f"{file} is not as it was installed"
        except OSError:
            return f"{file} is gone"
    return ""


def is_unaltered_release_installed(pin: str) -> bool:
    """Return whether the pinned release is installed with exactly its files."""
    return is_version_installed(pin) and not explain_altered_package(
        distribution_metadata.get_package_name(pin)
    )


def is_version_installed(pin: str) -> bool:
    """Return whether a pinned version is installed, whatever its files."""
    requirement = Requirement(pin)
    installed_version = find_installed_version(requirement.name)
    return (
        installed_version is not None
        and not requirement.url
        and requirement.specifier.contains(installed_version, prereleases=True)
    )


def map_installed_distributions() -> dict[str, importlib.metadata.Distribution]:
    """Return canonical name -> the distribution that this process finds."""
    return distribution_metadata.map_distributions_by_name(importlib.metadata.distributions())


def map_installed_versions() -> dict[str, str]:
    """Return name -> version of all that is installed now and may be in a version."""
    versions = distribution_metadata.map_versions_by_name(map_installed_distributions())
    return {
        name: strip_local_version(versions[name])
        for name in sorted(versions.keys() - {"pip", "setuptools", "wheel", "rlregress"})
    }
