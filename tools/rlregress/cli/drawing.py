"""Imports matplotlib safely if environment variables would make the import fail."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

#: the kind of window for figures; with an unknown name the import fails
_WINDOWS = "MPLBACKEND"
#: folders of settings; with a loop of links the import fails
_FOLDERS = ("MPLCONFIGDIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME")


def import_matplotlib_for_files() -> None:
    """Import matplotlib without environment variables that could break it.

    The variable that names a backend is restored for trainings that this process starts. Variables
    that name a folder with a loop of links are removed, as trainings would fail by them as well.
    """
    for name in _FOLDERS:
        try:
            Path(os.environ.get(name, os.curdir)).resolve()
        except (OSError, RuntimeError):
            del os.environ[name]
    named = os.environ.pop(_WINDOWS, None)
    if named is None:
        return
    try:
        with suppress(ImportError):
            import matplotlib  # noqa: F401
    finally:
        os.environ[_WINDOWS] = named
