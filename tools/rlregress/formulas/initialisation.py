"""Initial weights, by their singular values (thesis, Box 1), in float64."""

from __future__ import annotations

import numpy as np


def orthogonal_singular_values(gains: np.ndarray, largest_bias: float = 0.0) -> np.ndarray:
    """What networks with orthogonal layers show: [2 k + 1] for k gains.

    All singular values of an orthogonal matrix times a gain equal the gain: smallest and largest
    of each layer, in the order of ``gains``, then the largest absolute bias of all layers.
    """
    return np.append(np.repeat(np.asarray(gains, dtype=np.float64), 2), largest_bias)
