"""Metadata of installed packages, read once while nothing is installed or removed.

``importlib.metadata`` parses the files anew at each call, too slow for versions of frameworks,
which are read often.
"""

from __future__ import annotations

import functools
import importlib.metadata
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

T = TypeVar("T")

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


def _cache_while_nothing_is_installed(read: Callable[..., T]) -> Callable[..., T]:
    """Return the function with a cache that is dropped when a folder of packages changes."""

    @functools.lru_cache(maxsize=64)
    def read_once(places: Places, *arguments: Any) -> T:
        del places
        return read(*arguments)

    @functools.wraps(read)
    def read_if_changed(*arguments: Any) -> T:
        return read_once(_list_import_folders_with_mtimes(), *arguments)

    return read_if_changed


@_cache_while_nothing_is_installed
def map_installed_versions(names: tuple[str, ...]) -> Mapping[str, str]:
    """Return the versions of installed distributions by name.

    Raises:
        importlib.metadata.PackageNotFoundError: one of them is not installed; ``args[0]`` is the
            first of these.
    """
    return MappingProxyType({name: importlib.metadata.version(name) for name in names})


@_cache_while_nothing_is_installed
def find_distribution(name: str) -> tuple[str, Path] | None:
    """Return version and folder of an installed distribution; None: it is not installed."""
    for distribution in importlib.metadata.distributions(name=name):
        return distribution.version, Path(str(distribution.locate_file("")))
    return None


@_cache_while_nothing_is_installed
def map_entry_points(group: str) -> Mapping[str, importlib.metadata.EntryPoint]:
    """Return the entry points of a group by name."""
    points = importlib.metadata.entry_points(group=group)
    return MappingProxyType({point.name: point for point in points})
