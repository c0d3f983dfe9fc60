"""An environment that allows some of its actions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rlregress.probing.scripted import Scripted


class Masked(Scripted):
    """It allows some of its actions."""

    def __init__(self, allowed: Sequence[float], **script: Any) -> None:
        super().__init__(discrete=len(allowed), **script)
        self._allowed = np.asarray(allowed, dtype=bool)

    def action_masks(self) -> np.ndarray:
        """Which actions are allowed, bool [actions]."""
        return self._allowed
