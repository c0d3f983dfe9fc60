"""An environment that allows some of its actions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rlregress.probing.scripted import Scripted


class MaskedEnvironment(Scripted):
    """An environment with a constant mask of allowed actions."""

    def __init__(self, allowed: Sequence[float], **script: Any) -> None:
        super().__init__(discrete=len(allowed), **script)
        self._allowed = np.asarray(allowed, dtype=bool)

    def action_masks(self) -> np.ndarray:
        """Return whether each action is allowed, bool [actions]."""
        return self._allowed
