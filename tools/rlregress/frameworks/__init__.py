"""The frameworks that can be tested: one module here each, or an entry point of a third party."""

from __future__ import annotations

import importlib
import importlib.metadata
import pkgutil
from typing import Any, Dict, List

from rlregress.errors import UserError
from rlregress.frameworks.base import Adapter

ENTRY_POINT_GROUP = "rlregress.frameworks"
_NOT_ADAPTERS = {"base"}


def _third_party() -> Dict[str, importlib.metadata.EntryPoint]:
    points: Any = importlib.metadata.entry_points()
    if hasattr(points, "select"):
        points = points.select(group=ENTRY_POINT_GROUP)
    else:  # Python 3.9
        points = points.get(ENTRY_POINT_GROUP, [])
    return {point.name: point for point in points}


def names() -> List[str]:
    """Names of all known frameworks, installed or not, sorted."""
    here = {module.name for module in pkgutil.iter_modules(__path__)} - _NOT_ADAPTERS
    return sorted(here | set(_third_party()))


def get(name: str) -> Adapter:
    """The adapter called ``name``; UserError that lists the known ones if there is none."""
    if name not in names():
        raise UserError(f"unknown framework '{name}'; known: {', '.join(names())}")
    third_party = _third_party()
    if name in third_party:
        made = third_party[name].load()
        return made() if isinstance(made, type) else made
    return importlib.import_module(f"{__name__}.{name}").ADAPTER


def installed() -> List[Adapter]:
    """The adapters whose packages are all installed."""
    found = []
    for name in names():
        adapter = get(name)
        try:
            adapter.versions()
        except UserError:
            continue
        found.append(adapter)
    return found
