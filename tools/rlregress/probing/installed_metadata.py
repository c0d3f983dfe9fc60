"""Metadata of installed packages, read once while nothing is installed or removed.

``importlib.metadata`` parses the files anew at each call, too slow for versions of frameworks,
which are read often.
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


def _list_import_folders_with_mtimes() -> Places:
    places = []
    for entry in sys.path:
        try:
            places.append((entry, os.stat(entry or os.curdir).st_mtime_ns))
        except OSError:
            places.append((entry, -1))
    return tuple(places)


def map_installed_versions(names: tuple[str, ...]) -> Mapping[str, str]:
    """Return the versions of installed distributions by name.

    Raises:
        importlib.metadata.PackageNotFoundError: one of them is not installed; ``args[0]`` is the
            first of these.
    """
    return _map_versions_cached(names, _list_import_folders_with_mtimes())


@functools.lru_cache(maxsize=64)
def _map_versions_cached(names: tuple[str, ...], places: Places) -> Mapping[str, str]:
    del places
    return MappingProxyType({name: importlib.metadata.version(name) for name in names})


def find_distribution(name: str) -> tuple[str, Path] | None:
    """Return version and folder of an installed distribution; None: it is not installed."""
    return _find_distribution_cached(name, _list_import_folders_with_mtimes())


@functools.lru_cache(maxsize=16)
def _find_distribution_cached(name: str, places: Places) -> tuple[str, Path] | None:
    # a part of the key of the cache
    del places
    for distribution in importlib.metadata.distributions(name=name):
        return distribution.version, Path(str(distribution.locate_file("")))
    return None


def map_entry_points(group: str) -> Mapping[str, importlib.metadata.EntryPoint]:
    """Return the entry points of a group by name."""
    return _map_entry_points_cached(group, _list_import_folders_with_mtimes())


@functools.lru_cache(maxsize=16)
def _map_entry_points_cached(
    group: str, places: Places
) -> Mapping[str, importlib.metadata.EntryPoint]:
    del places
    points = importlib.metadata.entry_points(group=group)
    return MappingProxyType({point.name: point for point in points})
