"""The environment library that the installed Stable-Baselines3 stands on: gymnasium, or gym."""

from __future__ import annotations

from typing import Any


def native(environment: Any) -> Any:
    """A gymnasium environment as this version of Stable-Baselines3 takes it."""
    return environment
