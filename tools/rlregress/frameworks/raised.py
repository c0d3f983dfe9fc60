"""Where an error comes from: whether the framework raised it, or the probe that asked."""

from __future__ import annotations

import importlib.util
import traceback
from pathlib import Path


def raised_in(error: BaseException, package: str) -> bool:
    """Whether the innermost frame of an error's traceback is in a file of an installed package.

    Args:
        error: as it was caught.
        package: its importable name, "package" or "package.module".
    """
    spec = importlib.util.find_spec(package)
    frames = traceback.extract_tb(error.__traceback__)
    if spec is None or spec.origin is None or not frames:
        return False
    own, origin = Path(frames[-1].filename).absolute(), Path(spec.origin).absolute()
    is_package = spec.submodule_search_locations is not None
    # a copy may be made of links: what is not changed resolves to what is installed
    return any(
        file == module or (is_package and module.parent in file.parents)
        for file, module in ((own, origin), (own.resolve(), origin.resolve()))
    )
