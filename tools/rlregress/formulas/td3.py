"""Twin delayed deep deterministic policy gradient (Fujimoto et al. 2018; thesis 3.4.2), float64."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr, ndtri

from rlregress.formulas.critics import reduce_over_networks


def compute_clipped_gaussian_std(sigma: float, bound: float) -> float:
    """Return the standard deviation of clip(N(0, sigma^2), -bound, bound) (thesis, equation 18).

    E[min(z^2, c^2)] = 1 - 2 Q(c) - 2 c phi(c) + 2 c^2 Q(c) with c = bound / sigma and Q the upper
    tail of the standard normal law.
    """
    c = bound / sigma
    density, tail = np.exp(-(c**2) / 2.0) / np.sqrt(2.0 * np.pi), ndtr(-c)
    return float(sigma * np.sqrt(1.0 - 2.0 * tail - 2.0 * c * density + 2.0 * c**2 * tail))


def compute_clipped_noise_std_and_quantile(
    sigma: float, bound: float, level: float = 0.999
) -> np.ndarray:
    """[standard deviation, level-quantile of |noise| / standard deviation] of clipped noise, [2].

    ``bound = inf`` is noise without a clip; ``sigma = 0`` is no noise, [0, 0] by convention.
    """
    if sigma == 0.0:
        return np.zeros(2)
    quantile = min(float(-sigma * ndtri((1.0 - level) / 2.0)), bound)
    std = sigma if np.isinf(bound) else compute_clipped_gaussian_std(sigma, bound)
    return np.array([std, quantile / std])


def compute_actor_loss(q_values: np.ndarray, reduction: str = "first") -> float:
    """-mean over samples of Q(s, mu(s)); [n, b] (thesis, equation 16: the first network's Q)."""
    return float(-np.mean(reduce_over_networks(q_values, reduction)))


def mark_delayed_updates(updates: int, delay: int, offset: int = 0) -> np.ndarray:
    """1.0 for each of the updates 1..updates that moves a delayed part, else 0.0, [updates].

    With ``offset=0`` it moves at multiples of the delay, with 1 one update later (so that, with a
    delay of 2, the first update moves it).
    """
    return ((np.arange(1, updates + 1) - offset) % delay == 0).astype(np.float64)
