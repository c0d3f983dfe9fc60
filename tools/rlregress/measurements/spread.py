"""How large noise is, so that a few dozen draws tell."""

from __future__ import annotations

import math

import numpy as np

#: what no noise at all is called, far below every logarithm of a spread that matters
SILENT = -10.0


def log2_spread(actions: np.ndarray) -> float:
    """Base-2 logarithm of the root mean square; ``SILENT`` where that is less.

    A chance error is the same share of a small spread as of a large one: with 60 normal numbers
    the logarithm has a standard error of 0.13.
    """
    spread = float(np.sqrt(np.mean(np.asarray(actions, dtype=np.float64) ** 2)))
    return max(math.log2(spread), SILENT) if spread > 0 else SILENT
