"""Schedules over a training, and reactions to a measured divergence, in float64.

A training has K rollouts, each followed by the same number of updates (steps of the optimiser).
A schedule is the factor of the starting value at each update, [K * updates].
"""

from __future__ import annotations

import numpy as np


def make_constant_schedule(rollouts: int, updates: int) -> np.ndarray:
    """Return a factor of 1 for every update: nothing decays, [rollouts * updates]."""
    return np.ones(rollouts * updates)


def make_linear_schedule_by_rollout(
    rollouts: int, updates: int, done_before: float = 0.0
) -> np.ndarray:
    """1 - k / K during the updates of rollout k.

    Args:
        done_before: how many rollouts count as done at the first update: 0, or 1 if the rollout
            that was just collected counts already.
    """
    share = 1.0 - (np.arange(rollouts) + done_before) / rollouts
    return np.repeat(share, updates)


def make_linear_schedule_to_zero(rollouts: int, updates: int) -> np.ndarray:
    """1 - k / (K - 1): the last rollout is used with factor 0."""
    return np.repeat(1.0 - np.arange(rollouts) / (rollouts - 1), updates)


def make_linear_schedule_by_update(rollouts: int, updates: int) -> np.ndarray:
    """1 - u / U at update u of U: it falls within the updates of one rollout too."""
    total = rollouts * updates
    return 1.0 - np.arange(total) / total


def compute_adaptive_learning_rate_factors(
    divergences: np.ndarray, target: float, factor: float, band: float, can_rise: bool = True
) -> np.ndarray:
    """Return the learning rate after each update, divided by the initial one, [n].

    Divided by ``factor`` where the divergence is above band * target, multiplied by it where it
    is below target / band and ``can_rise`` is true.
    """
    rate, rates = 1.0, []
    for divergence in np.asarray(divergences, dtype=np.float64):
        if divergence > band * target:
            rate /= factor
        elif can_rise and divergence < target / band:
            rate *= factor
        rates.append(rate)
    return np.array(rates)


def estimate_kl(ratios: np.ndarray, estimator: str) -> float:
    """Return an estimate of KL(old policy, new policy) from samples of the old one.

    Args:
        ratios: probability of the sampled actions, new policy over old policy, [n].
        estimator: "k1": mean of -log r; "k2": mean of log(r)^2 / 2; "k3": mean of r - 1 - log r
            (Schulman 2020, "Approximating KL divergence").
    """
    ratios = np.asarray(ratios, dtype=np.float64)
    logs = np.log(ratios)
    terms = {"k1": -logs, "k2": 0.5 * logs**2, "k3": ratios - 1.0 - logs}
    return float(np.mean(terms[estimator]))


def count_steps_and_minibatches(
    is_kl_exceeded: bool, epochs: int, minibatches: int, check_place: str
) -> tuple[int, int]:
    """Return (steps of the optimiser, minibatches evaluated) of an update with early stopping.

    Args:
        is_kl_exceeded: the divergence is above the threshold in every minibatch.
        check_place: of the check, and what it stops: "before_step": before the step, everything;
            "before_step_this_epoch": before the step, this epoch only; "after_step": after the
            step, everything; "after_epoch": after the last minibatch of an epoch, everything;
            "never".
    """
    everything = epochs * minibatches
    if not is_kl_exceeded or check_place == "never":
        return everything, everything
    return {
        "before_step": (0, 1),
        "before_step_this_epoch": (0, epochs),
        "after_step": (1, 1),
        "after_epoch": (minibatches, minibatches),
    }[check_place]
