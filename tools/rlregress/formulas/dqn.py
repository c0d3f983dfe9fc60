"""Deep Q-networks (Mnih et al. 2015; van Hasselt et al. 2016), float64."""

from __future__ import annotations

import numpy as np


def next_value(online: np.ndarray, target: np.ndarray, chosen: str, valued: str) -> float:
    """Value of the next state, out of what both networks say of its actions, each [actions].

    Args:
        chosen: "online" or "target": the network whose best action is taken. Mnih et al. 2015,
            algorithm 1: the target network; van Hasselt et al. 2016, equation 4: the online one.
        valued: "online" or "target": the network whose value of that action counts.
    """
    values = {"online": np.asarray(online, np.float64), "target": np.asarray(target, np.float64)}
    return float(values[valued][np.argmax(values[chosen])])


def linear_epsilon(
    first: float, last: float, falls: float, steps: int, late: int = 0
) -> np.ndarray:
    """Probability of a random action at each of ``steps`` steps, [steps] (Mnih et al. 2015).

    It falls from ``first`` by the same amount at each step until, after ``falls`` steps, it is
    ``last``; step t has the value of step t - ``late``.
    """
    t = np.arange(steps) - late
    return np.clip(first + (last - first) * t / falls, last, first)


def exponential_epsilon(first: float, last: float, falls: float, steps: int) -> np.ndarray:
    """As ``linear_epsilon``, with a distance from ``last`` that falls to 1/e in ``falls`` steps."""
    return last + (first - last) * np.exp(-np.arange(steps) / falls)


def random_steps(epsilon: np.ndarray, draws: np.ndarray) -> np.ndarray:
    """Steps whose epsilon [steps] is above a draw, for each draw [n], float64 [n]."""
    above = np.asarray(epsilon)[None, :] > np.asarray(draws, np.float64)[:, None]
    return above.sum(axis=1).astype(np.float64)
