"""Capabilities of a version, read from signatures and not from version numbers."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from rlregress.probing.interface import Unsupported


def raise_if_argument_unknown(owner: Any, arguments: Mapping[str, Any], title: str = "") -> None:
    """Raise Unsupported for an argument that a class does not take.

    Args:
        title: what the error calls the class; empty: its own name.
    """
    parameters = inspect.signature(owner.__init__).parameters
    for name in arguments:
        if name not in parameters:
            raise Unsupported(f"{title or owner.__name__} takes no {name}")
