"""The packages that a version needs besides its pins: fixed ones and those of this library."""

from __future__ import annotations

import importlib.metadata
import tomllib
from collections.abc import Sequence

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from rlregress import suite
from rlregress.frameworks.base import Adapter
from rlregress.model.extra_packages import IN_BOTH_VERSIONS
from rlregress.upgrade.versions import affected, distribution_metadata, installed

#: what probes and recordings need on every version.
ESSENTIAL = ("numpy", "scipy", "gymnasium[mujoco]", "filelock", "packaging")
_EXTRAS = (*IN_BOTH_VERSIONS, "plots")
#: packages of this suite that resolve, compare or report: neither version needs them.
_ON_NO_SIDE = {"uv", "matplotlib", "jinja2", "markupsafe", "tomli-w", "griffelib"}


def list_fixed_packages(adapters: Sequence[Adapter], pinned: frozenset[str]) -> frozenset[str]:
    """List the packages that stay installed as they are, whatever else is requested.

    These are torch; the frameworks under test that are not pinned; and packages that were installed
    from a folder or a repository, which no index has.
    """
    names = {"torch"}
    for adapter in adapters:
        first, *further = (str(canonicalize_name(name)) for name in adapter.framework.packages)
        # packages that belong to a pinned framework may change their versions with it
        names |= {first} if first in pinned else {first, *further}
    names |= {
        name
        for name, distribution in installed.map_installed_distributions().items()
        if distribution.read_text("direct_url.json")
    }
    return frozenset(
        name
        for name in (names - pinned) | {"torch"}
        if installed.find_installed_version(name) is not None
    )


def list_requirements_of_fixed(names: frozenset[str], pinned: frozenset[str]) -> list[str]:
    """Return the met requirements of fixed packages, without packages that are pinned or fixed."""
    rows = {
        str(requirement)
        for name in names - {"torch", "rlregress"}
        for requirement in distribution_metadata.list_requirements(
            importlib.metadata.distribution(name)
        )
        if canonicalize_name(requirement.name) not in pinned | names
        # a requirement that the installed version does not meet is evidently not needed
        and distribution_metadata.does_range_admit(
            requirement.specifier, installed.find_installed_version(requirement.name) or "0"
        )
        and installed.find_installed_version(requirement.name) is not None
    }
    return sorted(rows)


def list_suite_requirements(pinned: frozenset[str]) -> list[str]:
    """Return the requirements of this library, without pinned packages and frameworks."""
    # uv only installs the versions: it need not be in them
    excluded = affected.list_framework_distributions() | {"torch", "uv"} | pinned
    return sorted(
        row
        for row in _read_declared_requirements()
        if distribution_metadata.get_package_name(row) not in excluded
    )


def list_measuring_packages() -> list[str]:
    """Return the packages that this library traces, probes and tests with; no framework."""
    return [
        row
        for row in list_suite_requirements(frozenset())
        if Requirement(row).name not in _ON_NO_SIDE
    ]


def list_framework_packages(adapters: Sequence[Adapter], pinned: frozenset[str]) -> list[str]:
    """List the installed, unpinned packages of the frameworks concerned."""
    names = {str(canonicalize_name(p)) for a in adapters for p in a.framework.packages} - pinned
    # a framework may be a checkout that is not installed: then no version needs it installed
    return sorted(
        name for name in names - {"torch"} if installed.find_installed_version(name) is not None
    )


def _read_declared_requirements() -> list[str]:
    text = (suite.find_suite_root() / "pyproject.toml").read_text(encoding="utf-8")
    project = tomllib.loads(text)["project"]
    # of the extras only what is installed here, so that both versions lack the same packages
    extra = [row for name in _EXTRAS for row in project["optional-dependencies"][name]]
    return [*project["dependencies"], *filter(_is_requirement_installed, extra)]


def _is_requirement_installed(text: str) -> bool:
    """Return whether a package and its extras are installed: gymnasium[mujoco] needs mujoco."""
    requirement = Requirement(text)
    names = (requirement.name, *requirement.extras)
    return all(installed.find_installed_version(name) is not None for name in names)
