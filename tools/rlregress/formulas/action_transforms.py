"""Between the numbers a network gives and the actions an environment takes, in float64.

Shapes: any, with ``low`` and ``high`` broadcast against them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike


def compute_softplus(x: ArrayLike) -> np.ndarray:
    """log(1 + exp(x)) without overflow."""
    return np.logaddexp(0.0, np.asarray(x, dtype=np.float64))


def scale_action_to_unit(action: ArrayLike, low: ArrayLike, high: ArrayLike) -> np.ndarray:
    """[low, high] -> [-1, 1], linearly."""
    low, high = np.asarray(low, np.float64), np.asarray(high, np.float64)
    return 2.0 * (np.asarray(action, np.float64) - low) / (high - low) - 1.0


def unscale_action_to_bounds(action: ArrayLike, low: ArrayLike, high: ArrayLike) -> np.ndarray:
    """[-1, 1] -> [low, high], linearly; the inverse of ``scale_action_to_unit``."""
    low, high = np.asarray(low, np.float64), np.asarray(high, np.float64)
    return low + 0.5 * (np.asarray(action, np.float64) + 1.0) * (high - low)


def squash_and_unscale(x: ArrayLike, low: ArrayLike, high: ArrayLike) -> np.ndarray:
    """unscale(tanh(x)) (thesis, Boxes 2, 4 and 5)."""
    return unscale_action_to_bounds(np.tanh(np.asarray(x, dtype=np.float64)), low, high)


def squash_with_centre_added_twice(x: ArrayLike, low: float, high: float) -> np.ndarray:
    """A fault: the centre of the interval is added before the tanh and again after it."""
    centre = 0.5 * (low + high)
    return squash_and_unscale(np.asarray(x, dtype=np.float64) + centre, low, high)


def clip_to_bounds(x: ArrayLike, low: ArrayLike, high: ArrayLike) -> np.ndarray:
    """clip(x, low, high) (thesis, Box 2, first form)."""
    return np.clip(np.asarray(x, dtype=np.float64), low, high)


def add_noise_before_unscaling(
    squashed: float, noise: ArrayLike, low: float, high: float, clip: bool = True
) -> np.ndarray:
    """unscale(clip(squashed + noise, -1, 1)): noise in half-ranges (thesis, Box 4, first form)."""
    noisy = squashed + np.asarray(noise, dtype=np.float64)
    return unscale_action_to_bounds(np.clip(noisy, -1.0, 1.0) if clip else noisy, low, high)


def add_noise_after_unscaling(
    squashed: float, noise: ArrayLike, low: float, high: float, clip: bool = True
) -> np.ndarray:
    """clip(unscale(squashed) + noise, low, high): noise in the environment's units.

    Thesis, Box 4, second form.
    """
    noisy = unscale_action_to_bounds(squashed, low, high) + np.asarray(noise, dtype=np.float64)
    return np.clip(noisy, low, high) if clip else noisy
