"""Counts of a training loop and statistics of freshly made layers, in float64."""

from __future__ import annotations

import numpy as np


def round_up_to_whole_batches(steps: float, batch: float) -> float:
    """Return the first multiple of ``batch`` (environment steps) that is not below ``steps``."""
    return float(np.ceil(steps / batch) * batch)


def compute_statistics_of_uniform_layer(weight_bound: float, bias_bound: float) -> np.ndarray:
    """Return statistics of a layer [n, n] with uniform weights, in units of 1 / sqrt(n), [3].

    Root mean square of the weights, U(-b, b): b / sqrt(3); largest absolute bias; the smallest
    over the largest singular value, which is near 0 for independent weights.
    """
    return np.array([weight_bound / np.sqrt(3.0), bias_bound, 0.0])


def compute_statistics_of_orthogonal_layer(gain: float, bias_bound: float = 0.0) -> np.ndarray:
    """Return the same three statistics of an orthogonal layer times ``gain``.

    See ``compute_statistics_of_uniform_layer``.
    """
    return np.array([gain, bias_bound, 1.0])


def compute_statistics_of_orthogonal_networks(
    gains: np.ndarray, largest_bias: float = 0.0
) -> np.ndarray:
    """Return statistics of networks with orthogonal layers: [2 k + 1] for k gains (thesis, Box 1).

    All singular values of an orthogonal matrix times a gain equal the gain: smallest and largest
    of each layer, in the order of ``gains``, then the largest absolute bias of all layers.
    """
    return np.append(np.repeat(np.asarray(gains, dtype=np.float64), 2), largest_bias)


def mark_multiples_of_interval(count: int, interval: int, offset: int = 0) -> np.ndarray:
    """1.0 where (k + offset) of k = 1..count is a multiple of ``interval``, else 0.0; [count]."""
    return ((np.arange(1, count + 1) + offset) % interval == 0).astype(np.float64)
