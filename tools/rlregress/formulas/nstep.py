"""Bootstrapped n-step targets: thesis, section 3.4.1; Sutton and Barto 2018, section 7.1."""

from __future__ import annotations

import numpy as np


def compute_nstep_target(
    rewards: np.ndarray,
    next_values: np.ndarray,
    terminated: np.ndarray,
    truncated: np.ndarray,
    step: int,
    n: int,
    discount: float,
    masked_by: str = "last",
    crosses_ends: bool = False,
) -> float:
    """Return the target of one step: n discounted rewards, and the discounted value after them.

    Args:
        rewards, next_values, terminated, truncated: [T]; next_values[t] is the value of the true
            observation after step t.
        step: index of the step, from 0.
        n: rewards of a full window; a window that meets an end or the last step is shorter.
        discount: gamma; the value is discounted once for each reward in the window.
        masked_by: the termination that removes the value: "last" (of the window), "own" (of
            ``step``), "any" (in the window) or "none".
        crosses_ends: windows run on into the next episode.
    """
    ends = np.maximum(terminated, truncated) > 0
    last = min(step + int(n), len(rewards)) - 1
    if not crosses_ends and ends[step : last + 1].any():
        last = step + int(np.argmax(ends[step : last + 1]))
    window = slice(step, last + 1)
    length = last + 1 - step
    masks = {
        "last": terminated[last],
        "own": terminated[step],
        "any": np.max(terminated[window]),
        "none": 0.0,
    }
    total = float(np.sum(discount ** np.arange(length) * np.asarray(rewards)[window]))
    return total + (1.0 - masks[masked_by]) * discount**length * next_values[last]
