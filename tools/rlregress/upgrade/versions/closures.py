"""Packages that only one version installs: found offline, from the metadata of distributions.

A version is an overlay on the installed environment, so it also finds packages that only the other
version needs. A fresh environment has only its own packages, and what they require in turn.
"""

from __future__ import annotations

import importlib.metadata
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from rlregress.errors import UserError
from rlregress.trace.recording_processes import Runtime
from rlregress.upgrade.versions import distribution_metadata, interpreters
from rlregress.upgrade.versions.distribution_metadata import Distributions


@dataclass(frozen=True, kw_only=True)
class HiddenPackages:
    """Distributions to hide from one version, because only the other version installs them.

    Attributes:
        direct: those that a package of both versions, or the other version's user, requires.
        below: distributions that only ``direct`` ones require in turn.
        modules: dotted names of modules that only these distributions contain.
        users: packages, with their versions, that require ``direct`` on the other version and are
            on this one, too.
        needed: distributions that stay, because the suite itself needs them.
    """

    direct: tuple[str, ...] = ()
    below: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    users: tuple[str, ...] = ()
    needed: tuple[str, ...] = ()


def map_distributions_of_version(runtime: Runtime) -> Distributions:
    """Return canonical name -> the distribution that a version finds."""
    found = dict(interpreters.map_interpreter_distributions(runtime.python))
    for path in reversed(runtime.paths):
        found.update(distribution_metadata.map_distributions_in_folder(Path(path)))
    return found


def map_visible_versions(runtime: Runtime) -> dict[str, str]:
    """Return name -> version of everything on a version that is not hidden, "python" included."""
    versions = distribution_metadata.map_versions_by_name(map_distributions_of_version(runtime))
    shown = {name: version for name, version in versions.items() if name not in runtime.hidden}
    return {"python": interpreters.find_python_version_of_runtime(runtime), **shown}


def map_differing_versions(old: Runtime, new: Runtime) -> dict[str, tuple[str, str]]:
    """Return name -> old and new version, where these differ; "": not installed there."""
    installed = map_visible_versions(old), map_visible_versions(new)
    pairs = {
        name: (installed[0].get(name, ""), installed[1].get(name, ""))
        for name in sorted({*installed[0], *installed[1]})
    }
    return {name: versions for name, versions in pairs.items() if versions[0] != versions[1]}


def map_distributions_to_requirers(
    roots: Iterable[str], distributions: Distributions
) -> dict[str, set[str]]:
    """Return distribution -> those that require it, for all that ``roots`` bring in.

    Being a root adds no requirer.
    """
    waiting = [(Requirement(row), "") for row in roots]
    users: dict[str, set[str]] = {}
    read: set[tuple[str, str]] = set()
    while waiting:
        requirement, user = waiting.pop()
        name = str(canonicalize_name(requirement.name))
        if name not in distributions:
            continue
        users.setdefault(name, set()).update({user} - {""})
        for extra in {"", *requirement.extras}:
            if (name, extra) not in read:
                read.add((name, extra))
                waiting += [
                    (r, name)
                    for r in distribution_metadata.list_requirements(distributions[name], extra)
                ]
    return users


def find_distributions_to_hide(
    own_requirements: Sequence[str],
    other_requirements: Sequence[str],
    distributions: tuple[Distributions, Distributions],
    suite: Sequence[str],
    lent: Sequence[str],
) -> HiddenPackages:
    """Return the distributions to hide from a version: only the other version installs them.

    Args:
        own_requirements, other_requirements: requirements of this version and of the other one.
        distributions: what this version finds, and what the other one finds.
        suite: requirements of what the suite runs on a version.
        lent: distributions that stay, with all that they require.
    """
    own_distributions, other_distributions = distributions
    users = map_distributions_to_requirers(other_requirements, other_distributions)
    lone = (
        users.keys() - map_distributions_to_requirers(own_requirements, own_distributions).keys()
    ) & own_distributions.keys()
    # a distribution installed from a folder or a URL is on both versions
    lone = {name for name in lone if not own_distributions[name].read_text("direct_url.json")}
    needed = lone & map_distributions_to_requirers(suite, own_distributions).keys()
    gone = lone - needed - map_distributions_to_requirers(lent, own_distributions).keys()
    direct = {name for name in gone if not users[name] or users[name] - gone}
    requiring = {user for name in direct for user in users[name] - gone} & own_distributions.keys()
    return HiddenPackages(
        direct=tuple(sorted(direct)),
        below=tuple(sorted(gone - direct)),
        modules=tuple(sorted(_list_modules_only_in_hidden(gone, own_distributions)))
        if gone
        else (),
        users=tuple(f"{name} {own_distributions[name].version}" for name in sorted(requiring)),
        needed=tuple(sorted(needed)),
    )


def require_lent_distributions_exist(
    lent: Sequence[str], distributions: Iterable[Distributions]
) -> None:
    """Raise UserError for a distribution that neither version has."""
    names = {name for version_distributions in distributions for name in version_distributions}
    for name in lent:
        if canonicalize_name(name) not in names:
            raise UserError(
                f"--lend names '{name}', and neither version has a distribution of this name; "
                "expected one that only one version installs, as the lines above list it"
            )


def _list_modules_only_in_hidden(hidden: Iterable[str], distributions: Distributions) -> set[str]:
    """Return the topmost dotted names that only the hidden distributions contain."""
    names = set(hidden)
    own = {module for name in names for module in _list_module_names(distributions[name])}
    # a quick search first: parsing all lists of files takes a second, and few name these folders
    top = "|".join(re.escape(module) for module in own if "." not in module)
    below = re.compile(rf"^\"?(?:{top})[/.]", re.MULTILINE)
    for distribution in (distributions[name] for name in distributions.keys() - names):
        record = distribution.read_text("RECORD")
        if not record or below.search(record):
            own -= _list_module_names(distribution)
    return {module for module in own if module.rpartition(".")[0] not in own}


def _list_module_names(distribution: importlib.metadata.Distribution) -> set[str]:
    """Return the modules of a distribution and the packages above them."""
    dotted: set[str] = set()
    for path in distribution_metadata.list_module_files(distribution):
        stem = path.name.partition(".")[0]
        parts = [*path.parts[:-1], *([] if stem == "__init__" else [stem])]
        if all(part.isidentifier() for part in parts):
            dotted |= {".".join(parts[:n]) for n in range(1, len(parts) + 1)}
    return dotted
