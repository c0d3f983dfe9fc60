"""Imports the library that draws figures where variables of the environment would break it."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

#: the kind of window for figures; with an unknown name the import fails
_WINDOWS = "MPLBACKEND"
#: folders of settings; with a loop of links the import fails
_FOLDERS = ("MPLCONFIGDIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME")


def import_matplotlib_for_files() -> None:
    """Import matplotlib without its variables if they are set. Figures here are files.

    Trainings that this process starts still get the kind of window. They do not get a folder with a
    loop of links, because they would fail by it as well.
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
