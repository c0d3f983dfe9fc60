"""Deep Q-networks (Mnih et al. 2015; van Hasselt et al. 2016), float64."""

from __future__ import annotations

import numpy as np


def compute_next_value(
    online: np.ndarray, target: np.ndarray, chooser: str, evaluator: str
) -> float:
    """Return the value of the next state from the action values of both networks, each [actions].

    Args:
        chooser: "online" or "target": the network whose best action is taken. Mnih et al. 2015,
            algorithm 1: the target network; van Hasselt et al. 2016, equation 4: the online one.
        evaluator: "online" or "target": the network whose value of that action counts.
    """
    values = {"online": np.asarray(online, np.float64), "target": np.asarray(target, np.float64)}
    return float(values[evaluator][np.argmax(values[chooser])])


def compute_linear_epsilon(
    first: float, last: float, decay_steps: float, steps: int, delay: int = 0
) -> np.ndarray:
    """Return the probability of a random action at each step, [steps] (Mnih et al. 2015).

    It falls from ``first`` by the same amount at each step until, after ``decay_steps``, it is
    ``last``; step t has the value of step t - ``delay``.
    """
    t = np.arange(steps) - delay
    return np.clip(first + (last - first) * t / decay_steps, last, first)


def compute_exponential_epsilon(
    first: float, last: float, decay_steps: float, steps: int
) -> np.ndarray:
    """Return last + (first - last) exp(-t / decay_steps) for each step t, [steps]."""
    return last + (first - last) * np.exp(-np.arange(steps) / decay_steps)


def count_random_steps_per_draw(epsilon: np.ndarray, draws: np.ndarray) -> np.ndarray:
    """Count for each draw [n] the steps whose epsilon [steps] is above it, float64 [n]."""
    above = np.asarray(epsilon)[None, :] > np.asarray(draws, np.float64)[:, None]
    return above.sum(axis=1).astype(np.float64)
