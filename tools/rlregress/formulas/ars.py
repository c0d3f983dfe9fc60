"""Augmented random search (Mania, Guy and Recht 2018), float64."""

from __future__ import annotations

import numpy as np


def best(plus: np.ndarray, minus: np.ndarray, count: int) -> np.ndarray:
    """Which directions are used: those whose better return is among the best, bool [directions].

    Algorithm 2, line 6.

    Args:
        plus, minus: [directions], the returns of a step along each direction and against it.
        count: of the directions that are used.
    """
    return largest(np.maximum(plus, minus), count)


def largest(scores: np.ndarray, count: int) -> np.ndarray:
    """Where the largest scores are, bool [directions]."""
    kept = np.zeros(len(scores), dtype=bool)
    kept[np.argsort(scores)[::-1][:count]] = True
    return kept


def step(learning_rate: float, count: int, deviation: float) -> float:
    """What each used direction is multiplied by for one of return between its two sides.

    Algorithm 2, line 7: the learning rate over the number of directions and the standard deviation
    of the returns.
    """
    return learning_rate / (count * deviation)
