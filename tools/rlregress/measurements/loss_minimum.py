"""Helpers of the measurements of several algorithms."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

#: distance from the target, above and below it: every distance function is quadratic within 1
_DISTANCE = 0.25
#: a norm that no clip lets through
_UNCLIPPED = 100.0


def find_minimum_of_loss(loss: Callable[[float], float]) -> float:
    """Return where a loss of any factor is lowest, by a parabola through its values at -1/4, 0,
    1/4.

    Valid only for a place below 0.75: every documented distance is quadratic up to an error of 1.
    NaN if the loss is a straight line there.
    """
    lower, middle, right = (loss(number) for number in (-_DISTANCE, 0.0, _DISTANCE))
    curvature = lower + right - 2.0 * middle
    return _DISTANCE * (lower - right) / (2.0 * curvature) if curvature else math.nan


def invert_norm(norm: float) -> float:
    """Return one over a norm; 0.0 for a norm beyond every clip."""
    return 0.0 if norm > _UNCLIPPED else 1.0 / norm


def compute_mean_distance(steps: Sequence[int]) -> float:
    """Return the mean distance of neighbouring numbers of steps; 0.0 if there are not two."""
    return float(np.mean(np.diff(steps))) if len(steps) > 1 else 0.0
