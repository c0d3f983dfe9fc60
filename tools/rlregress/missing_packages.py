"""Whether an error only says that a package of an extra is not installed.

Then nothing was checked, and nothing is known of the framework: a test is skipped with the line
that installs the package, a probe has no answer, a training is not begun.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Container

from rlregress.errors import UserError
from rlregress.model.extra_packages import EXTRAS, NAMES, not_installed


class MissingPackage(UserError):
    """A package of an extra is not installed; the message has the line that installs it."""


def installed(module: str) -> bool:
    """Return whether a module can be imported, as far as is known without importing it."""
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):  # replaced by something without a spec
        return False


def require(module: str) -> None:
    """Raise ``MissingPackage`` unless the module of an extra is installed."""
    if not installed(module):
        raise MissingPackage(not_installed(module))


def lacking(error: BaseException | None, extras: Container[str] | None = None) -> str:
    """Which package of an extra an error lacks, as ``not_installed`` puts it; empty: none.

    Read from the error and from those that led to it: the name of a failed import, or the words in
    which a library names its own optional packages. One that is installed is never the reason.

    Args:
        extras: those that count; None: all.
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
            if (imports or requires) and counts and not installed(module):
                return not_installed(module)
        before = None if error.__suppress_context__ else error.__context__
        error = error.__cause__ or before
    return ""
