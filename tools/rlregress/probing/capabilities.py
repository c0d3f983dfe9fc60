"""Capabilities of a version, read from signatures and not from version numbers."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from rlregress.probing.interface import Unsupported


def raise_if_argument_unknown(owner: Any, arguments: Mapping[str, Any], message: str = "") -> None:
    """Raise Unsupported for an argument that a class does not take.

    Args:
        message: names, in the error, what takes no such argument; empty: the class.
    """
    parameters = inspect.signature(owner.__init__).parameters
    for name in arguments:
        if name not in parameters:
            raise Unsupported(f"{message or owner.__name__} takes no {name}")
