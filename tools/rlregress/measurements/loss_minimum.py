"""Helpers of the measurements of several algorithms."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

#: distance from the target, above and below it: every distance function is quadratic within 1
_DISTANCE = 0.25
#: a norm that no clip lets through
_UNCLIPPED = 100.0


def find_argmin_of_loss(loss: Callable[[float], float]) -> float:
    """Return the argument of the lowest loss, by a parabola through the losses at -1/4, 0 and 1/4.

    Valid only for an argument below 0.75, as all documented losses are quadratic up to an error of
    1. NaN if the loss is linear there.
    """
    lower, middle, right = (loss(number) for number in (-_DISTANCE, 0.0, _DISTANCE))
    curvature = lower + right - 2.0 * middle
    return _DISTANCE * (lower - right) / (2.0 * curvature) if curvature else math.nan


def invert_norm_if_clipped(norm: float) -> float:
    """Return one over a norm; 0.0 for a norm so large that it was not clipped."""
    return 0.0 if norm > _UNCLIPPED else 1.0 / norm


def compute_mean_distance(steps: Sequence[int]) -> float:
    """Return the mean distance between successive step counts; 0.0 for fewer than two."""
    return float(np.mean(np.diff(steps))) if len(steps) > 1 else 0.0


def count_steps_to_last(flags: np.ndarray) -> int:
    """Return the number of steps up to the last flag that is set; 0: none is."""
    return len(np.trim_zeros(flags, "b"))


def require_one_number(numbers: Sequence[float]) -> float:
    """Return the one number of a list; raise RuntimeError if there are more or none."""
    if len(numbers) != 1:
        raise RuntimeError(f"expected one step of the optimiser, found {len(numbers)}")
    return numbers[0]
