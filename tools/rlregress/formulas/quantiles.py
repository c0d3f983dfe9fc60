"""Values as distributions (Dabney et al. 2018; Kuznetsov et al. 2020), float64."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np


def compute_huber(errors: np.ndarray, threshold: float) -> np.ndarray:
    """e^2 / 2 within the threshold k, k (|e| - k / 2) beyond, any shape.

    Dabney et al. 2018, equation 9.
    """
    magnitude = np.abs(np.asarray(errors, np.float64))
    beyond = threshold * (magnitude - 0.5 * threshold)
    return np.where(magnitude <= threshold, 0.5 * magnitude**2, beyond)


def compute_quantile_fractions(quantiles: int, position: float = 0.5) -> np.ndarray:
    """Return the fraction tau that each quantile stands for, [quantiles], ascending.

    Args:
        position: place in the interval of 1 / quantiles; 0.5 is the midpoint (Dabney et al. 2018,
            lemma 2), 1 the upper end.
    """
    return (np.arange(quantiles) + position) / quantiles


def compute_quantile_weight(fraction: np.ndarray, error: np.ndarray) -> np.ndarray:
    """|tau - 1{u < 0}| for u = target - quantile (Dabney et al. 2018, equation 10), any shape."""
    return np.abs(np.asarray(fraction) - (np.asarray(error) < 0.0))


def choose_greedy_action(values: np.ndarray, statistic: Callable[..., np.ndarray]) -> int:
    """Return the action with the largest statistic of its quantiles, [quantiles, actions]."""
    return int(np.argmax(statistic(np.asarray(values, np.float64), axis=0)))


def drop_extreme_quantiles(
    quantiles: np.ndarray, dropped: int, pooled: bool = True, top: bool = True
) -> np.ndarray:
    """Return the quantiles of all networks without the largest (or smallest), ascending.

    Kuznetsov et al. 2020, algorithm 1: those of all networks are pooled and sorted, and the largest
    are left out, ``dropped`` for each network.

    Args:
        quantiles: [networks, n].
        dropped: how many to leave out, for each network.
        pooled: leave out the extremes of all networks together; otherwise those of each network.
        top: leave out the largest; otherwise the smallest.
    """
    rows = np.asarray(quantiles, np.float64)
    count = dropped * len(rows) if pooled else dropped
    rows = np.sort(rows.reshape(1, -1) if pooled else rows, axis=1)
    size = rows.shape[1]
    remaining = rows[:, : size - count] if top else rows[:, count:]
    return np.sort(remaining.ravel())
