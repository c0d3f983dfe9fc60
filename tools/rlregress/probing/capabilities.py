"""What a version offers is asked of the signature that would take it, not of a version number."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from rlregress.probing.interface import Unsupported


def check_arguments(owner: Any, arguments: Mapping[str, Any], message: str = "") -> None:
    """Raise Unsupported for an argument that a class does not take.

    Args:
        message: what is named in place of the class.
    """
    known = inspect.signature(owner.__init__).parameters
    for name in arguments:
        if name not in known:
            raise Unsupported(f"{message or owner.__name__} takes no {name}")
