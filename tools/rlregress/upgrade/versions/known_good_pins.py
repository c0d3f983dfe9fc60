"""Sets of versions on which old releases run: ``baselines/stacks``.

The requirement ranges of old releases are no help: some exclude what works, others admit what was
published years later and breaks them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from pydantic import AfterValidator

from rlregress import datafiles, suite
from rlregress.datafiles import Pin, Range, Text, is_version
from rlregress.upgrade.versions.distribution_metadata import get_package_name


@dataclass(frozen=True)
class Stack(Range):
    """The packages that a range of releases runs on.

    Attributes:
        requires: requirements that are met unless the user pins the same package.
        build: versions of the tools that build a package which is published as source only.
    """

    package: Annotated[Text, AfterValidator(canonicalize_name)]
    requires: tuple[Pin, ...]
    build: tuple[Pin, ...] = ()
    note: str = ""

    def is_for_release(self, package: str, version: str) -> bool:
        """Return whether this set of versions is meant for a release of a package."""
        return package == self.package and is_version(version) and self.includes_version(version)


def choose_known_good_versions(
    pins: Mapping[str, str],
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return pins of further packages that are known to work with some pins, and of build tools.

    Args:
        pins: name -> requirement, as the further pins.

    Raises:
        UserError: an entry of the data is wrong.
    """
    stacks = read_stacks()
    rows: dict[str, str] = {}
    build: dict[str, str] = {}
    for package, pin in sorted(pins.items()):
        version = str(next(iter(Requirement(pin).specifier), "")).lstrip("=")
        for stack in stacks:
            if stack.is_for_release(package, version):
                rows |= {get_package_name(row): row for row in stack.requires}
                build |= {get_package_name(row): row for row in stack.build}
    added = {name: row for name, row in rows.items() if name not in pins}
    return added, tuple(build.values())


def read_stacks() -> list[Stack]:
    """Return all stacks of the suite, in the order of their files.

    Raises:
        UserError: an entry of the data is wrong.
    """
    paths = datafiles.list_files_by_name(suite.locate_baselines() / "stacks", "*.toml")
    files: list[_File] = [datafiles.read_data_file(path, _File) for path in paths]
    return [stack for file in files for stack in file.stack]


@dataclass(frozen=True)
class _File:
    stack: tuple[Stack, ...]
