"""Capabilities of a version, read from signatures and not from version numbers."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from rlregress.probing.interface import Unsupported


def raise_if_argument_unknown(
    library_class: Any, arguments: Mapping[str, Any], shown_name: str = ""
) -> None:
    """Raise Unsupported for an argument that a class does not take.

    Args:
        shown_name: what the error calls the class; empty: its own name.
    """
    parameters = inspect.signature(library_class.__init__).parameters
    for name in arguments:
        if name not in parameters:
            raise Unsupported(f"{shown_name or library_class.__name__} takes no {name}")
