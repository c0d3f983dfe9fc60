"""The library that draws figures, whatever the environment says about it."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

#: which windows its figures are shown in; read when it is imported, which a wrong name ends.
_WINDOWS = "MPLBACKEND"
#: where its settings lie; a loop of links there ends it when it is imported.
_FOLDERS = ("MPLCONFIGDIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME")


def load() -> None:
    """Import it where a kind of window is named: figures here are files, and need none.

    The variable stays as it is for the trainings that this process starts. One that names a loop of
    links is left out there too, as they would fail by it.
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
