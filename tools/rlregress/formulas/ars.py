"""Augmented random search (Mania, Guy and Recht 2018), float64."""

from __future__ import annotations

import numpy as np


def select_best_directions(plus: np.ndarray, minus: np.ndarray, count: int) -> np.ndarray:
    """Select the directions whose better return is among the best, bool [directions].

    Algorithm 2, line 6.

    Args:
        plus, minus: [directions], the returns of a step along each direction and against it.
        count: how many directions are used.
    """
    return select_largest_scores(np.maximum(plus, minus), count)


def select_largest_scores(scores: np.ndarray, count: int) -> np.ndarray:
    """Select the largest scores, bool [directions]."""
    selected = np.zeros(len(scores), dtype=bool)
    selected[np.argsort(scores)[::-1][:count]] = True
    return selected


def compute_step_factor(learning_rate: float, count: int, deviation: float) -> float:
    """Return the step along one used direction if the returns of its two sides differ by 1.

    Algorithm 2, line 7: the learning rate over the number of directions and the standard deviation
    of the returns.
    """
    return learning_rate / (count * deviation)
