"""Trust region policy optimisation (Schulman et al. 2015) of a Gaussian, float64."""

from __future__ import annotations

import numpy as np


def compute_gaussian_fisher_information(deviation: float = 1.0) -> np.ndarray:
    """Return the Fisher information of (mean, log deviation) of a Gaussian, [2, 2]."""
    return np.diag([1.0 / deviation**2, 2.0])


def compute_gaussian_log_prob_gradient(action: float) -> np.ndarray:
    """Return d log pi(action) / d (mean, log deviation) at mean 0 and deviation 1, [2]."""
    return np.array([action, action**2 - 1.0])


def compute_divergence_share_of_damped_step(damping: float, information: float = 1.0) -> float:
    """Return the KL divergence of the longest allowed step, as a share of the bound.

    The step s x of appendix C has s^2 x (F + damping) x / 2 = bound, and a divergence of
    s^2 x F x / 2.
    """
    return information / (information + damping)
