"""Divergences of Gaussians, float64."""

from __future__ import annotations

import numpy as np


def compute_kl_divergence(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return KL(first, second) of Gaussians, each a pair of means and deviations, [samples].

    Args:
        first, second: means and standard deviations, [2, samples].
    """
    (mean, deviation), (other_mean, other_deviation) = np.asarray(first), np.asarray(second)
    squares = deviation**2 + (mean - other_mean) ** 2
    return np.asarray(
        np.log(other_deviation / deviation) + squares / (2.0 * other_deviation**2) - 0.5
    )
