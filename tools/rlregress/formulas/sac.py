"""Soft actor-critic (Haarnoja et al. 2019; thesis section 3.4.3 and Boxes 5 to 7), in float64."""

from __future__ import annotations

import numpy as np
from scipy.special import log_expit

from rlregress.formulas.action_transforms import compute_softplus
from rlregress.formulas.critics import reduce_over_networks

#: added inside the logarithm of the tanh correction by many implementations (thesis, Box 5).
TANH_EPSILON = 1e-6


def compute_target_with_entropy_inside(
    reward: float, next_q: float, next_log_prob: float, temperature: float, discount: float
) -> float:
    """y = r + gamma * (Q - alpha log pi): the entropy is discounted with the value it belongs to.

    Haarnoja et al. 2019, equation 3 with the soft value V = Q - alpha log pi.
    """
    return reward + discount * (next_q - temperature * next_log_prob)


def compute_target_with_entropy_outside(
    reward: float, next_q: float, next_log_prob: float, temperature: float, discount: float
) -> float:
    """y = r + gamma * Q - alpha log pi: thesis, equation 23 as printed."""
    return reward + discount * next_q - temperature * next_log_prob


def compute_temperature_loss(
    log_temperature: float, log_probs: np.ndarray, target_entropy: float, form: str
) -> float:
    """mean over samples of -c * (log pi + H), float64.

    Thesis, Box 7: c is log alpha in its first form and alpha in its second.

    Args:
        log_temperature: log alpha.
        log_probs: [b].
        target_entropy: H, usually minus the number of action dimensions.
        form: "log_alpha" or "alpha".
    """
    coefficient = {"log_alpha": log_temperature, "alpha": np.exp(log_temperature)}[form]
    return float(np.mean(-coefficient * (np.asarray(log_probs, np.float64) + target_entropy)))


def compute_temperature_gradient(
    log_temperature: float, log_probs: np.ndarray, target_entropy: float, form: str
) -> float:
    """Return the derivative of ``compute_temperature_loss`` by log alpha; same arguments."""
    coefficient = {"log_alpha": 1.0, "alpha": np.exp(log_temperature)}[form]
    return float(np.mean(-coefficient * (np.asarray(log_probs, np.float64) + target_entropy)))


def compute_actor_loss(
    q_values: np.ndarray, log_probs: np.ndarray, temperature: float, reduction: str = "min"
) -> float:
    """mean over samples of alpha log pi - reduction over networks of Q (thesis, equation 25).

    Args:
        q_values: [n, b].
        log_probs: [b].
        temperature: alpha.
        reduction: as in ``critics.reduce_over_networks``.
    """
    q = reduce_over_networks(q_values, reduction)
    return float(np.mean(temperature * np.asarray(log_probs, dtype=np.float64) - q))


def clamp_log_std(output: np.ndarray, low: float = -20.0, high: float = 2.0) -> np.ndarray:
    """log sigma = clip(head, low, high), any shape (thesis, Box 5, first form)."""
    return np.clip(np.asarray(output, dtype=np.float64), low, high)


def rescale_log_std_by_tanh(output: np.ndarray, low: float = -5.0, high: float = 2.0) -> np.ndarray:
    """log sigma = low + (high - low) / 2 * (tanh(head) + 1) (thesis, Box 5, second form)."""
    return low + 0.5 * (high - low) * (np.tanh(np.asarray(output, dtype=np.float64)) + 1.0)


def compute_log_std_by_softplus(
    output: np.ndarray, *, bias_for_one: bool, floor: float, clamp: float = 1e-4
) -> np.ndarray:
    """log of sigma = max(softplus(head + bias) + floor, clamp), any shape.

    Thesis, Box 5, third form, is ``bias_for_one=False, floor=0``. With ``bias_for_one`` the bias
    is chosen such that sigma(0) = 1, which takes softplus(bias) = 1 - floor.
    """
    bias = np.log(np.expm1(1.0 - floor)) if bias_for_one else 0.0
    sigma = compute_softplus(np.asarray(output, dtype=np.float64) + bias) + floor
    return np.log(np.maximum(sigma, clamp))


def compute_exact_tanh_correction(pre_tanh: np.ndarray) -> np.ndarray:
    """log(1 - tanh(x)^2) without cancellation, any shape.

    1 - tanh(x)^2 = 4 sigmoid(2x) sigmoid(-2x), and log sigmoid is computed without overflow.
    """
    x = np.asarray(pre_tanh, dtype=np.float64)
    return np.log(4.0) + log_expit(2.0 * x) + log_expit(-2.0 * x)


def compute_tanh_correction_epsilon_inside(
    pre_tanh: np.ndarray, epsilon: float = TANH_EPSILON
) -> np.ndarray:
    """log(1 - tanh(x)^2 + epsilon): saturates at log(epsilon), -13.8 per dimension."""
    return np.log(np.exp(compute_exact_tanh_correction(pre_tanh)) + epsilon)


def compute_tanh_correction_epsilon_outside(
    pre_tanh: np.ndarray, epsilon: float = TANH_EPSILON
) -> np.ndarray:
    """log(1 - tanh(x)^2) + epsilon: thesis, Box 5, as printed (up to the sign of epsilon)."""
    return compute_exact_tanh_correction(pre_tanh) + epsilon


def compute_log_prob_change_by_unscaling(low: np.ndarray, high: np.ndarray) -> float:
    """-sum over dimensions of log((high - low) / 2): the density of an unscaled action.

    low, high: [d], bounds of the action space (thesis, Box 5, second and third form).
    """
    low, high = np.asarray(low, np.float64), np.asarray(high, np.float64)
    return float(-np.sum(np.log((high - low) / 2.0)))
