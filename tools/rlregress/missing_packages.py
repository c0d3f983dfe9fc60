"""Recognises errors that only mean that a package of an extra is not installed.

Such an error shows nothing about the framework. A test is skipped with the command that installs
the package; a probe gives no result; a training does not begin.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Container

from rlregress.errors import UserError
from rlregress.model.extra_packages import EXTRAS, NAMES, explain_installation


class MissingPackage(UserError):
    """A package of an extra is not installed; the message has the line that installs it."""


def is_module_installed(module: str) -> bool:
    """Return whether a module can be found; it is not imported."""
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):  # replaced by something without a spec
        return False


def require_module(module: str) -> None:
    """Raise ``MissingPackage`` unless the module of an extra is installed."""
    if not is_module_installed(module):
        raise MissingPackage(explain_installation(module))


def describe_missing_package(
    error: BaseException | None, extras: Container[str] | None = None
) -> str:
    """Describe the missing package that caused an error, and its installation; empty: none.

    The package is found in the error and its causes: by the name of a failed import, or by a
    library's own words on its optional packages. An installed package is never the reason.

    Args:
        extras: only packages of these count; None: of all.
    """
    visited = set()
    while error is not None and id(error) not in visited:
        if isinstance(error, MissingPackage):
            return str(error)
        visited.add(id(error))
        text = str(error).lower()
        for module, extra in EXTRAS.items():
            imports = isinstance(error, ImportError) and f"{error.name}.".startswith(f"{module}.")
            words = (module, NAMES.get(module, module).lower())
            requires = "install" in text and any(word in text for word in words)
            counts = extras is None or extra in extras
            if (imports or requires) and counts and not is_module_installed(module):
                return explain_installation(module)
        context = None if error.__suppress_context__ else error.__context__
        error = error.__cause__ or context
    return ""
