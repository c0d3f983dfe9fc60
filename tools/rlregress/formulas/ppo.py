"""Proximal policy optimisation (Schulman et al. 2017; thesis 3.4.1 and 5.1), in float64.

Shapes: ``b`` samples of one minibatch.
"""

from __future__ import annotations

import numpy as np

from rlregress.formulas.critics import compute_squared_error


def compute_surrogate_terms(
    ratios: np.ndarray, advantages: np.ndarray, clip_range: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return (r A, clip(r, 1 - eps, 1 + eps) A), each [b]."""
    ratios = np.asarray(ratios, dtype=np.float64)
    advantages = np.asarray(advantages, dtype=np.float64)
    return ratios * advantages, np.clip(ratios, 1 - clip_range, 1 + clip_range) * advantages


def compute_pessimistic_loss(
    ratios: np.ndarray, advantages: np.ndarray, clip_range: float
) -> float:
    """-mean over samples of min(r A, clip(r) A): thesis, equation 7."""
    return float(-np.mean(np.minimum(*compute_surrogate_terms(ratios, advantages, clip_range))))


def compute_optimistic_loss(ratios: np.ndarray, advantages: np.ndarray, clip_range: float) -> float:
    """A fault: the maximum where equation 7 has the minimum."""
    return float(-np.mean(np.maximum(*compute_surrogate_terms(ratios, advantages, clip_range))))


def compute_loss_without_clip(
    ratios: np.ndarray, advantages: np.ndarray, clip_range: float
) -> float:
    """-mean over samples of r A: importance-weighted policy gradient."""
    return float(-np.mean(compute_surrogate_terms(ratios, advantages, clip_range)[0]))


def compute_loss_without_minimum(
    ratios: np.ndarray, advantages: np.ndarray, clip_range: float
) -> float:
    """-mean over samples of clip(r) A: not a lower bound."""
    return float(-np.mean(compute_surrogate_terms(ratios, advantages, clip_range)[1]))


def compute_loss_of_mean_ratio(
    ratios: np.ndarray, advantages: np.ndarray, clip_range: float
) -> float:
    """Thesis, equations 8 and 9: the ratio is averaged over the batch before it is clipped."""
    mean = np.full(np.shape(advantages), np.mean(ratios))
    return compute_pessimistic_loss(mean, advantages, clip_range)


def normalise_advantages(
    advantages: np.ndarray, *, ddof: int = 1, std_epsilon: float = 0.0, minimum: float = 0.0
) -> np.ndarray:
    """Return (A - mean) / (max(std, minimum) + std_epsilon), [b] (thesis, equation 3: 1e-8)."""
    advantages = np.asarray(advantages, dtype=np.float64)
    std = np.std(advantages, ddof=ddof)
    return (advantages - np.mean(advantages)) / (max(std, minimum) + std_epsilon)


def clip_values_around_old(
    values: np.ndarray, old_values: np.ndarray, clip_range: float
) -> np.ndarray:
    """V_old + clip(V - V_old, -eps, eps), [b]: thesis, equation 27."""
    old_values = np.asarray(old_values, dtype=np.float64)
    return old_values + np.clip(np.asarray(values) - old_values, -clip_range, clip_range)


def compute_value_loss(
    values: np.ndarray, old_values: np.ndarray, returns: np.ndarray, clip_range: float, clip: str
) -> float:
    """Return the squared value loss, mean over samples, without any factor.

    Args:
        values, old_values, returns: [b].
        clip_range: eps_V.
        clip: "off"; "forced": the clipped value takes the place of the value (Box 3, first form);
            "elementwise_max": the larger of both squared errors, sample by sample;
            "max_of_sums": the larger of both sums (Box 3, second form);
            "thesis_box3": as printed there, with V_clipped - V in the place of V_clipped - R.
    """
    returns = np.asarray(returns, dtype=np.float64)
    clipped_values = clip_values_around_old(values, old_values, clip_range)
    plain = compute_squared_error(np.asarray(values, dtype=np.float64) - returns)
    clipped = compute_squared_error(clipped_values - returns)
    if clip == "off":
        return float(np.mean(plain))
    if clip == "forced":
        return float(np.mean(clipped))
    if clip == "elementwise_max":
        return float(np.mean(np.maximum(plain, clipped)))
    if clip == "max_of_sums":
        return float(max(np.mean(plain), np.mean(clipped)))
    if clip == "thesis_box3":
        printed = compute_squared_error(clipped_values - np.asarray(values, dtype=np.float64))
        return float(max(np.mean(plain), np.mean(printed)))
    raise ValueError(f"unknown value clip '{clip}'")


def clip_gradients_by_joint_norm(gradients: list[np.ndarray], max_norm: float) -> list[np.ndarray]:
    """Return all gradients times min(1, max_norm / norm of all of them together); any shapes."""
    norm = float(np.sqrt(sum(np.sum(compute_squared_error(g)) for g in gradients)))
    factor = min(1.0, max_norm / norm) if norm > 0 else 1.0
    return [factor * np.asarray(g, dtype=np.float64) for g in gradients]
