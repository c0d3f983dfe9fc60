"""Bounds of a smoothed target action, measured on whatever smooths one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

Inputs = Mapping[str, Any]


def beyond_bounds(smoothed: Callable[[Inputs], np.ndarray], i: Inputs) -> np.ndarray:
    """Shares of target actions beyond their bounds, by more than 1e-4 of the range.

    Args:
        smoothed: inputs -> target actions in the environment's units, [samples, dimensions].

    Returns:
        float64 [2 * dimensions]: above the upper bounds with the policy at ``squashed``; below the
        lower bounds with it at minus ``squashed``.
    """
    margin = 1e-4 * (i["high"] - i["low"])
    above = smoothed(i) > i["high"] + margin
    below = smoothed({**i, "squashed": -i["squashed"]}) < i["low"] - margin
    return np.concatenate([above.mean(axis=0), below.mean(axis=0)])
