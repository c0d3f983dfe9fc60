"""What the installed packages say of themselves, read once while nothing is installed or removed.

Reading it parses every file of metadata anew: slow beside all that asks which version is tested.
"""

from __future__ import annotations

import functools
import importlib.metadata
import os
import sys
from pathlib import Path
from types import MappingProxyType
from typing import Any, Mapping, Optional, Tuple

#: entries of ``sys.path``, each with the time of its last change in ns (-1: there is no such).
Places = Tuple[Tuple[str, int], ...]


def _places() -> Places:
    places = []
    for entry in sys.path:
        try:
            places.append((entry, os.stat(entry or os.curdir).st_mtime_ns))
        except OSError:
            places.append((entry, -1))
    return tuple(places)


def versions(names: Tuple[str, ...]) -> Mapping[str, str]:
    """The versions of installed distributions, by their names.

    Raises:
        importlib.metadata.PackageNotFoundError: one of them is not installed; ``args[0]`` is the
            first of these.
    """
    return _versions(names, _places())


@functools.lru_cache(maxsize=64)
def _versions(names: Tuple[str, ...], places: Places) -> Mapping[str, str]:
    del places
    return MappingProxyType({name: importlib.metadata.version(name) for name in names})


def found(name: str) -> Optional[Tuple[str, Path]]:
    """The version of an installed distribution and the folder of its packages; None: it is none."""
    return _found(name, _places())


@functools.lru_cache(maxsize=16)
def _found(name: str, places: Places) -> Optional[Tuple[str, Path]]:
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
    points: Any = importlib.metadata.entry_points()
    # Python 3.9 has a dictionary
    of_group = points.select(group=group) if hasattr(points, "select") else points.get(group, [])
    return MappingProxyType({point.name: point for point in of_group})
