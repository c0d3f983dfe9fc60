"""What distributions say of themselves, read leniently: old ones are not always to the letter."""

from __future__ import annotations

import importlib.metadata
import re
from collections.abc import Iterator
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version


def in_folder(folder: Path) -> dict[str, importlib.metadata.Distribution]:
    """Canonical name -> what lies in a folder."""
    distributions = importlib.metadata.distributions(path=[str(folder)])
    return {name_of(d): d for d in distributions if d.metadata["Name"]}


def name_of(distribution: importlib.metadata.Distribution) -> str:
    """The canonical name."""
    return str(canonicalize_name(distribution.metadata["Name"]))


def readable(row: str) -> Requirement | None:
    """A requirement, a slip of the pen mended (``>=3.``); None: it says nothing to go by."""
    for text in (row, re.sub(r"(?<=\d)\.(?=[\s,;)]|$)", "", row)):
        try:
            return Requirement(text)
        except InvalidRequirement:
            continue
    return None


def required(
    distribution: importlib.metadata.Distribution, extra: str = ""
) -> Iterator[Requirement]:
    """What holds for this interpreter, without extras or with one."""
    for row in distribution.requires or ():
        requirement = readable(row)
        if requirement is None:
            continue
        if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
            requirement.marker = None
            yield requirement


def admits(specifier: SpecifierSet, version: str) -> bool:
    """Whether a version is in a range; a version that breaks the rules is in every one."""
    try:
        return specifier.contains(Version(version), prereleases=True)
    except InvalidVersion:
        return True
