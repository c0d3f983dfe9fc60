"""Metadata of distributions, read leniently: that of old ones may break the standard."""

from __future__ import annotations

import functools
import importlib.metadata
import re
from collections.abc import Iterable, Mapping, Sequence
from email.message import Message
from email.parser import HeaderParser
from pathlib import Path, PurePosixPath
from weakref import WeakKeyDictionary

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

Distributions = Mapping[str, importlib.metadata.Distribution]
#: endings of the names of files with compiled code.
COMPILED = frozenset({".so", ".pyd", ".dylib"})


def list_module_files(distribution: importlib.metadata.Distribution) -> list[PurePosixPath]:
    """Return the files of a distribution that can be imported."""
    paths = map(PurePosixPath, distribution.files or ())
    return [p for p in paths if p.suffix in (".py", *COMPILED) and ".." not in p.parts]


def map_distributions_in_folder(folder: Path) -> dict[str, importlib.metadata.Distribution]:
    """Return the distributions in a folder by canonical name."""
    return map_distributions_by_name(importlib.metadata.distributions(path=[str(folder)]))


def map_distributions_by_name(
    distributions: Iterable[importlib.metadata.Distribution],
) -> dict[str, importlib.metadata.Distribution]:
    """Return the distributions by canonical name, the first of each; nameless ones are left out."""
    named: dict[str, importlib.metadata.Distribution] = {}
    for distribution in distributions:
        if name := _read_headers(distribution)["Name"]:
            named.setdefault(str(canonicalize_name(name)), distribution)
    return named


def get_version(distribution: importlib.metadata.Distribution) -> str:
    """Return the version as the distribution writes it."""
    return str(_read_headers(distribution)["Version"])


def map_versions_by_name(distributions: Distributions) -> dict[str, str]:
    """Return the version of each distribution."""
    return {name: get_version(distribution) for name, distribution in distributions.items()}


#: distribution -> its headers, kept as long as the distribution is in use.
_read: WeakKeyDictionary[importlib.metadata.Distribution, Message] = WeakKeyDictionary()


def _read_headers(distribution: importlib.metadata.Distribution) -> Message:
    # importlib parses the description, too, and does so in every call
    if distribution not in _read:
        files = ("METADATA", "PKG-INFO", "")
        text = next((text for file in files if (text := distribution.read_text(file))), "")
        _read[distribution] = _parse_headers(text.partition("\n\n")[0])
    return _read[distribution]


@functools.cache
def _parse_headers(text: str) -> Message:
    return HeaderParser().parsestr(text)


def get_package_name(requirement: str | Requirement) -> str:
    """Return the canonical name of a requirement's package."""
    return str(canonicalize_name(Requirement(str(requirement)).name))


def parse_requirement(requirement: str) -> Requirement | None:
    """Parse a requirement, also with a stray dot as in ``>=3.``; None: it cannot be read."""
    for text in (requirement, re.sub(r"(?<=\d)\.(?=[\s,;)]|$)", "", requirement)):
        try:
            return Requirement(text)
        except InvalidRequirement:
            continue
    return None


def list_requirements(
    distribution: importlib.metadata.Distribution, extra: str = ""
) -> tuple[Requirement, ...]:
    """Return the requirements that apply to this interpreter, without extras or with one."""
    rows: Sequence[str] = _read_headers(distribution).get_all("Requires-Dist") or ()
    if not rows and distribution.read_text("requires.txt"):
        rows = distribution.requires or ()
    return _select_applicable_requirements(tuple(rows), extra)


@functools.cache
def _select_applicable_requirements(rows: tuple[str, ...], extra: str) -> tuple[Requirement, ...]:
    # keep readable requirements whose markers hold, without the markers
    requirements = [r for r in map(parse_requirement, rows) if r is not None]
    applicable = [r for r in requirements if applies_here(r, extra)]
    for requirement in applicable:
        requirement.marker = None
    return tuple(applicable)


def applies_here(requirement: Requirement, extra: str) -> bool:
    """Return whether a requirement holds for this interpreter, with an extra; "": without."""
    return requirement.marker is None or requirement.marker.evaluate({"extra": extra})


def does_range_admit(specifier: SpecifierSet, version: str) -> bool:
    """Return whether a version is in a range; an invalid version is in every range."""
    try:
        return specifier.contains(Version(version), prereleases=True)
    except InvalidVersion:
        return True
