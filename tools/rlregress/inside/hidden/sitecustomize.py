"""Hide distributions from an interpreter and from every interpreter that it starts.

Python imports a module of this name when it starts. The folder is put on ``PYTHONPATH`` only if
``RLREGRESS_HIDDEN`` names something. Its value is JSON: ``modules`` (dotted names, each with all
below it) and ``distributions`` (canonical names).
"""

from __future__ import annotations

import importlib.machinery
import importlib.metadata
import importlib.util
import json
import os
import re
import sys
from typing import Any

_FINDER: Any = importlib.machinery.PathFinder
_GIVEN = json.loads(os.environ.get("RLREGRESS_HIDDEN") or "{}")
_MODULES = frozenset(_GIVEN.get("modules", ()))
_DISTRIBUTIONS = frozenset(_GIVEN.get("distributions", ()))


def _hide_distributions(finder: Any) -> None:
    found = finder.find_distributions

    def find_distributions(*given: Any, **named: Any) -> Any:
        for distribution in found(*given, **named):
            name = distribution.metadata["Name"]
            if not name or re.sub(r"[-_.]+", "-", name).lower() not in _DISTRIBUTIONS:
                yield distribution

    finder.find_distributions = staticmethod(find_distributions)


def _hide_modules() -> None:
    found = _FINDER.find_spec

    def find_spec(_: Any, fullname: str, path: Any = None, target: Any = None) -> Any:
        if fullname in _MODULES:
            return None
        spec = found(fullname, path, target)
        if fullname == "importlib_metadata" and spec is not None:
            # its finder takes the place of the standard library's as soon as it is imported
            execute = spec.loader.exec_module

            def exec_module(module: Any) -> None:
                execute(module)
                _hide_distributions(module.MetadataPathFinder)

            spec.loader.exec_module = exec_module
        return spec

    # a bound method, like the original: pytest stores it as an attribute of a class of its own
    _FINDER.find_spec = classmethod(find_spec)


def _run_hidden_sitecustomize() -> None:
    """Run the next ``sitecustomize`` on the path, which this one hides."""
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [path for path in sys.path if os.path.abspath(path) != here]
    spec = _FINDER.find_spec("sitecustomize")
    if spec is not None:
        module = importlib.util.module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


_hide_distributions(importlib.metadata.MetadataPathFinder)
_hide_modules()
_run_hidden_sitecustomize()
