"""Losses and targets of the critics of SAC and TD3, and the updates of target networks.

All functions compute in float64. Shapes: ``n`` networks, ``b`` samples.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np


def compute_squared_error(errors: np.ndarray) -> np.ndarray:
    """e^2, any shape."""
    return np.square(np.asarray(errors, dtype=np.float64))


def compute_smooth_l1(errors: np.ndarray) -> np.ndarray:
    """Huber's distance with threshold 1, any shape: e^2 / 2 within 1, |e| - 1/2 beyond.

    For errors below 1 it equals half of the squared distance; only larger errors separate the two.
    """
    magnitude = np.abs(np.asarray(errors, dtype=np.float64))
    return np.where(magnitude < 1.0, 0.5 * magnitude**2, magnitude - 0.5)


def compute_absolute_error(errors: np.ndarray) -> np.ndarray:
    """|e|, any shape."""
    return np.abs(np.asarray(errors, dtype=np.float64))


DISTANCES: Mapping[str, Callable[[np.ndarray], np.ndarray]] = {
    "squared": compute_squared_error,
    "smooth_l1": compute_smooth_l1,
    "absolute": compute_absolute_error,
}


def compute_critic_loss(
    q_values: np.ndarray,
    targets: np.ndarray,
    *,
    factor: float = 1.0,
    distance: str = "squared",
    networks: str = "sum",
    samples: str = "mean",
) -> float:
    """factor * reduction over networks of the reduction over samples of distance(Q_i, y).

    Thesis, equation 24 and Box 6: ``factor`` is 1/2 or 1 and both reductions are those of the
    defaults here.

    Args:
        q_values: [n, b], Q_i(s_j, a_j).
        targets: [b], y_j.
        factor: in front of everything.
        distance: "squared", "smooth_l1" or "absolute".
        networks: "sum", "mean" or "max" over the n networks.
        samples: "mean" or "sum" over the b samples.
    """
    q_values = np.asarray(q_values, dtype=np.float64)
    per_sample = DISTANCES[distance](q_values - np.asarray(targets, dtype=np.float64)[None, :])
    reductions: dict[str, Callable[..., Any]] = {"sum": np.sum, "mean": np.mean, "max": np.max}
    per_network = reductions[samples](per_sample, axis=1)
    return float(factor * reductions[networks](per_network))


def reduce_over_networks(values: np.ndarray, reduction: str) -> np.ndarray:
    """Return one value per sample of [n, b]: "min", "max", "mean", "first" or "second" network."""
    values = np.asarray(values, dtype=np.float64)
    if reduction == "first":
        return values[0]
    if reduction == "second":
        return values[1]
    reductions: dict[str, Callable[..., Any]] = {"min": np.min, "max": np.max, "mean": np.mean}
    return np.asarray(reductions[reduction](values, axis=0))


def compute_td_target(
    rewards: np.ndarray,
    next_values: np.ndarray,
    discount: float,
    terminated: np.ndarray,
    truncated: np.ndarray,
    mask: str = "terminated",
) -> np.ndarray:
    """y = r + discount * (1 - m) * V(s'), float64 [b].

    Thesis, equations 19 and 23 with d read as termination.

    Args:
        rewards, next_values, terminated, truncated: [b].
        discount: gamma.
        mask: m. "terminated": terminations only, so that a truncated step bootstraps.
            "done": terminations and truncations. "nothing": every step bootstraps.
            "everything": no step does. "truncated": truncations only (the flags exchanged).
    """
    terminated = np.asarray(terminated, dtype=np.float64)
    truncated = np.asarray(truncated, dtype=np.float64)
    masks = {
        "terminated": terminated,
        "done": np.maximum(terminated, truncated),
        "truncated": truncated,
        "nothing": np.zeros_like(terminated),
        "everything": np.ones_like(terminated),
    }
    bootstrap = (1.0 - masks[mask]) * np.asarray(next_values, dtype=np.float64)
    return np.asarray(rewards, dtype=np.float64) + discount * bootstrap


def update_target_softly(source: np.ndarray, target: np.ndarray, tau: float) -> np.ndarray:
    """Return (1 - tau) target + tau source, any shape: the target moves by the fraction tau.

    Thesis, section 3.2, Polyak averaging.
    """
    return (1.0 - tau) * np.asarray(target, np.float64) + tau * np.asarray(source, np.float64)


def update_target_with_flipped_tau(
    source: np.ndarray, target: np.ndarray, tau: float
) -> np.ndarray:
    """Return tau target + (1 - tau) source: a fault, tau counts as the fraction that stays."""
    return update_target_softly(source, target, 1.0 - tau)
