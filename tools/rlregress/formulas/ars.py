"""Augmented random search (Mania, Guy and Recht 2018), float64."""

from __future__ import annotations

import numpy as np


def mark_best_directions(plus: np.ndarray, minus: np.ndarray, count: int) -> np.ndarray:
    """Select the ``count`` directions with the best larger return of their two, bool [directions].

    Algorithm 2, line 6.

    Args:
        plus, minus: [directions], the returns of a step along each direction and against it.
        count: how many directions are used.
    """
    return mark_largest_scores(np.maximum(plus, minus), count)


def mark_largest_scores(scores: np.ndarray, count: int) -> np.ndarray:
    """Select the ``count`` largest scores, bool [directions]."""
    selected = np.zeros(len(scores), dtype=bool)
    selected[np.argsort(scores)[::-1][:count]] = True
    return selected


def compute_step_factor(learning_rate: float, count: int, deviation: float) -> float:
    """Return the step along a direction per unit of difference between its two returns.

    Algorithm 2, line 7: the learning rate over the number of directions and the standard deviation
    of the returns.
    """
    return learning_rate / (count * deviation)
