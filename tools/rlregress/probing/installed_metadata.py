"""What the installed packages say of themselves, read once while nothing is installed or removed.

Reading it parses every file of metadata anew: slow beside all that asks which version is tested.
"""

from __future__ import annotations

import functools
import importlib.metadata
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

#: entries of ``sys.path``, each with the time of its last change in ns (-1: there is no such).
Places = tuple[tuple[str, int], ...]


def _places() -> Places:
    places = []
    for entry in sys.path:
        try:
            places.append((entry, os.stat(entry or os.curdir).st_mtime_ns))
        except OSError:
            places.append((entry, -1))
    return tuple(places)


def versions(names: tuple[str, ...]) -> Mapping[str, str]:
    """The versions of installed distributions, by their names.

    Raises:
        importlib.metadata.PackageNotFoundError: one of them is not installed; ``args[0]`` is the
            first of these.
    """
    return _versions(names, _places())


@functools.lru_cache(maxsize=64)
def _versions(names: tuple[str, ...], places: Places) -> Mapping[str, str]:
    del places
    return MappingProxyType({name: importlib.metadata.version(name) for name in names})


def found(name: str) -> tuple[str, Path] | None:
    """The version of an installed distribution and the folder of its packages; None: it is none."""
    return _found(name, _places())


@functools.lru_cache(maxsize=16)
def _found(name: str, places: Places) -> tuple[str, Path] | None:
    del places
    for distribution in importlib.metadata.distributions(name=name):
        return distribution.version, Path(str(distribution.locate_file("")))
    return None


def entry_points(group: str) -> Mapping[str, importlib.metadata.EntryPoint]:
    """The entry points of a group by name."""
    return _entry_points(group, _places())


@functools.lru_cache(maxsize=16)
def _entry_points(group: str, places: Places) -> Mapping[str, importlib.metadata.EntryPoint]:
    del places
    points = importlib.metadata.entry_points(group=group)
    return MappingProxyType({point.name: point for point in points})
