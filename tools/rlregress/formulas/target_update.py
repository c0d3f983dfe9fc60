"""How target networks follow (thesis, section 3.2, Polyak averaging), in float64."""

from __future__ import annotations

import numpy as np


def polyak(source: np.ndarray, target: np.ndarray, tau: float) -> np.ndarray:
    """(1 - tau) target + tau source, any shape: the target moves by the fraction tau."""
    return (1.0 - tau) * np.asarray(target, np.float64) + tau * np.asarray(source, np.float64)


def polyak_flipped(source: np.ndarray, target: np.ndarray, tau: float) -> np.ndarray:
    """tau target + (1 - tau) source: the coefficient is read as the fraction that is kept."""
    return polyak(source, target, 1.0 - tau)
