"""Running statistics of observations and rewards, and normalisation with them, in float64.

One stream of T numbers, all arrays [T], unless stated otherwise; statistics at t hold x_0 .. x_t.
Sources: Welford 1962, Chan et al. 1982 (both named by the thesis, appendix C.1); the 32 details of
PPO, MuJoCo 1 to 4.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

#: samples that the initial statistics (mean 0, variance 1) count as in OpenAI's Baselines.
PRIOR_COUNT = 1e-4


class Statistics(NamedTuple):
    """Mean and variance after each number, [T] each."""

    mean: np.ndarray
    variance: np.ndarray

    def select_statistics_at(self, t: int | slice) -> Statistics:
        return Statistics(self.mean[t], self.variance[t])


def compute_cumulative_statistics(
    x: ArrayLike, prior_count: float = PRIOR_COUNT, ddof: int = 0
) -> Statistics:
    """Return mean and variance after each number, all numbers so far weighted equally.

    ``prior_count`` numbers of mean 0 and variance 1 count as earlier ones.

    Merging batches (Chan et al. 1982) and adding one number after the other (Welford 1962) give
    these same numbers.

    Args:
        x: [T].
        prior_count: 0: no prior.
        ddof: subtracted from the number of samples in the variance; 1: the sample variance.
    """
    x = np.asarray(x, dtype=np.float64)
    count = prior_count + np.arange(1, len(x) + 1)
    mean = np.cumsum(x) / count
    squares = prior_count + np.cumsum(x**2) - count * mean**2
    return Statistics(mean, squares / np.maximum(count - ddof, 1e-12))


def compute_decayed_statistics(x: ArrayLike, decay: float, ddof: int = 0) -> Statistics:
    """Return mean and variance after each number; a number k steps ago has the weight decay^k.

    Args:
        x: [T].
        decay: of one step.
        ddof: subtracted from the sum of the weights in the variance.
    """
    x = np.asarray(x, dtype=np.float64)
    ages = np.arange(len(x))[:, None] - np.arange(len(x))[None, :]
    weights = np.where(ages >= 0, float(decay) ** np.maximum(ages, 0), 0.0)
    count = weights.sum(axis=1)
    mean = weights @ x / count
    squares = weights @ x**2 - count * mean**2
    return Statistics(mean, squares / np.maximum(count - ddof, 1e-12))


def compute_statistics_without_bias_correction(x: ArrayLike, decay: float) -> Statistics:
    """A fault: the variance is E[x^2] - E[x]^2 of averages that still start at 0.

    Both averages lack their weight 1 - decay^t; the difference is divided by it once, so that
    E[x]^2 counts (1 - decay^t) times too little: an early "variance" is nearly E[x^2].
    """
    mean, variance = compute_decayed_statistics(x, decay)
    weight = 1.0 - float(decay) ** np.arange(1, len(mean) + 1)
    return Statistics(mean, variance + mean**2 - weight * mean**2)


def delay_statistics_by_one(statistics: Statistics) -> Statistics:
    """Return the statistics before each number: mean 0 and variance 1 before the first one."""
    return Statistics(
        np.concatenate([[0.0], statistics.mean[:-1]]),
        np.concatenate([[1.0], statistics.variance[:-1]]),
    )


def standardise_by_statistics(
    x: ArrayLike,
    statistics: Statistics,
    epsilon: float = 1e-8,
    min_variance: float = 0.0,
    min_deviation: float = 0.0,
    std_epsilon: float = 0.0,
) -> np.ndarray:
    """Return (x - mean) / sqrt(variance + epsilon), element by element.

    Args:
        x: as long as the statistics.
        statistics: mean and variance to use for each element.
        epsilon: added to the variance.
        min_variance: a smaller variance counts as this.
        min_deviation: a smaller standard deviation counts as this.
        std_epsilon: added to the standard deviation.
    """
    variance = np.maximum(statistics.variance, min_variance) + epsilon
    deviation = np.maximum(np.sqrt(variance), min_deviation) + std_epsilon
    return (np.asarray(x, dtype=np.float64) - statistics.mean) / deviation


def divide_by_deviation(x: ArrayLike, statistics: Statistics, epsilon: float = 1e-8) -> np.ndarray:
    """x / sqrt(variance + epsilon): not centred."""
    return np.asarray(x, dtype=np.float64) / np.sqrt(statistics.variance + epsilon)


def scale_to_running_range(x: ArrayLike) -> np.ndarray:
    """Return (x - least so far) / (largest so far - least so far); 0 where all so far are equal."""
    x = np.asarray(x, dtype=np.float64)
    low, high = np.minimum.accumulate(x), np.maximum.accumulate(x)
    return (x - low) / np.where(high > low, high - low, 1.0)


def compute_rolling_return(
    rewards: ArrayLike,
    discount: float,
    keep_before: ArrayLike | None = None,
    keep_after: ArrayLike | None = None,
) -> np.ndarray:
    """G_t = gamma b_t a_(t-1) G_(t-1) + r_t, [T]: the return so far, backwards in time.

    Args:
        rewards: [T].
        discount: gamma.
        keep_before: b, [T]: 0 where the past is dropped before the reward of step t is added.
        keep_after: a, [T]: 0 where the past is dropped once step t is over.
    """
    rewards = np.asarray(rewards, dtype=np.float64)
    before = np.ones(len(rewards)) if keep_before is None else np.asarray(keep_before)
    after = np.ones(len(rewards)) if keep_after is None else np.asarray(keep_after)
    returns, total = np.zeros(len(rewards)), 0.0
    for t, reward in enumerate(rewards):
        total = discount * before[t] * total + reward
        returns[t] = total
        total *= after[t]
    return returns
