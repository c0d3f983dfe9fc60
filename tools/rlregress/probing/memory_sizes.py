"""The size of the replay memories of built-in trainings: small, or as large as those of users.

A traced training fills its memory twice within seconds. The cost of copying or searching a memory
shows only in a large one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: the default of most frameworks.
LARGE = 1_000_000
_NAMES = ("buffer_size", "replay_size")
_large = False


def request_large_memories() -> None:
    """Make built-in trainings of this process use large replay memories from now on."""
    global _large
    _large = True


def enlarge_memory_if_requested(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings, with a large replay memory if ``request_large_memories`` was called."""
    return {name: LARGE if _large and name in _NAMES else value for name, value in settings.items()}
