"""The library that draws figures, whatever the environment says about it."""

from __future__ import annotations

import os
from contextlib import suppress

#: which windows its figures are shown in; read when it is imported, which a wrong name ends.
_WINDOWS = "MPLBACKEND"


def load() -> None:
    """Import it where a kind of window is named: figures here are files, and need none.

    The variable stays as it is for the trainings that this process starts.
    """
    named = os.environ.pop(_WINDOWS, None)
    if named is None:
        return
    try:
        with suppress(ImportError):
            import matplotlib  # noqa: F401
    finally:
        os.environ[_WINDOWS] = named
