"""Counts of a training loop and statistics of freshly made layers, in float64."""

from __future__ import annotations

import numpy as np


def round_up_to_whole_batches(steps: float, batch: float) -> float:
    """Return the first multiple of ``batch`` (environment steps) that is not below ``steps``."""
    return float(np.ceil(steps / batch) * batch)


def compute_statistics_of_uniform_layer(weight_bound: float, bias_bound: float) -> np.ndarray:
    """Return RMS weight, largest bias, inverse condition number of a uniform layer [n, n], [3].

    The first two in units of 1 / sqrt(n). Root mean square of U(-b, b): b / sqrt(3). The smallest
    singular value over the largest is near 0 for independent weights.
    """
    return np.array([weight_bound / np.sqrt(3.0), bias_bound, 0.0])


def compute_statistics_of_orthogonal_layer(gain: float, bias_bound: float = 0.0) -> np.ndarray:
    """Return RMS weight, largest bias, inverse condition number of a scaled orthogonal layer, [3].

    See ``compute_statistics_of_uniform_layer``.
    """
    return np.array([gain, bias_bound, 1.0])


def compute_orthogonal_singular_values(gains: np.ndarray, largest_bias: float = 0.0) -> np.ndarray:
    """Return the least and largest singular value of each layer, then the largest bias, [2 k + 1].

    All singular values of an orthogonal matrix times one of the k gains equal the gain (thesis,
    Box 1).
    """
    return np.append(np.repeat(np.asarray(gains, dtype=np.float64), 2), largest_bias)


def mark_multiples_of_interval(count: int, interval: int, offset: int = 0) -> np.ndarray:
    """1.0 where (k + offset) of k = 1..count is a multiple of ``interval``, else 0.0; [count]."""
    return ((np.arange(1, count + 1) + offset) % interval == 0).astype(np.float64)
