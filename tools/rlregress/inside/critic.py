"""The accuracy of a critic: how well it predicts the discounted returns of its own policy.

An agent can return as much as before and have a ruined critic, which these two numbers show.
Nothing here draws from a random generator.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from rlregress.inside.evaluation import Episode

#: a critic's error counts as no less and no more than this, in standard deviations of the returns
LEAST_ERROR, LARGEST_ERROR = 0.01, 100.0


@dataclass(frozen=True)
class CriticAccuracy:
    """How well a trained critic predicts returns, over all states of the evaluation episodes.

    Returns are discounted, in the environment's unit of reward. Rewards after a time limit are not
    observed: the critic's own value of the final observation replaces them, so that an error of
    that value is no error here.

    Attributes:
        states: how many, without the final ones.
        bootstrapped: mean weight, from 0 to 1, of the critic's own value in a return: the discount
            to the power of the steps that are left until a time limit; 0 where episodes terminate.
        explained_variance: 1 - Var[return - value] / Var[return]: 1 is perfect, 0 is no better than
            a constant; None where returns do not vary, or values are not finite.
        bias: (mean value - mean return) / standard deviation of the returns; None as above.
        finite: whether all values are finite numbers.
        mean, spread: mean and standard deviation of the returns, in the environment's unit of
            reward; None of older runs.
    """

    states: int
    bootstrapped: float
    explained_variance: float | None = None
    bias: float | None = None
    finite: bool = True
    mean: float | None = None
    spread: float | None = None

    @property
    def error(self) -> float | None:
        """Return the root mean squared error of the values, in standard deviations of the returns.

        sqrt((1 - explained variance) + bias^2), from 0.01 to 100, and 100 where values are not
        finite: 0 is perfect, 1 no better than the mean of the returns. None where returns do not
        vary.
        """
        if not self.finite:
            return LARGEST_ERROR
        if self.explained_variance is None or self.bias is None:
            return None
        # at least 0, as rounding may make the explained variance larger than 1
        unexplained = max(1.0 - self.explained_variance, 0.0)
        error = math.hypot(math.sqrt(unexplained), self.bias)
        return min(max(error, LEAST_ERROR), LARGEST_ERROR)


def compute_negative_log_error(critic: CriticAccuracy | None) -> float:
    """Return the number by which the critic of a run is judged: minus the logarithm of its error.

    Errors of critics differ by factors, and one large error must not outweigh all others. A verdict
    shows the factor.

    Args:
        critic: None: the run has none, or failed.

    Returns:
        A number that is larger for a better critic; nan if there is nothing to compare.
    """
    error = None if critic is None else critic.error
    return math.nan if error is None else -math.log(error)


def compute_discounted_returns(episode: Episode, discount: float, final_value: float) -> np.ndarray:
    """Return the discounted returns of the states of an episode, [steps], from the first one on.

    Args:
        discount: per step, 0 to 1.
        final_value: of the final observation; it counts if the episode was truncated.
    """
    follows = 0.0 if episode.terminated else final_value
    returns = np.empty(len(episode.rewards))
    for step in range(len(returns) - 1, -1, -1):
        follows = returns[step] = episode.rewards[step] + discount * follows
    return returns


def compare_critic_with_returns(
    episodes: Sequence[Episode], value: Callable[[np.ndarray], np.ndarray], discount: float
) -> CriticAccuracy:
    """Compare a critic's values with the discounted returns of its policy.

    Args:
        episodes: finished ones.
        value: observations [n, *observation_shape] -> values [n]; see ``Trained``.
        discount: with which the critic was trained.
    """
    values, returns, weights = [], [], []
    for episode in episodes:
        predicted = np.asarray(value(np.stack(episode.observations)), dtype=np.float64)
        steps = len(episode.rewards)
        values.append(predicted[:steps])
        returns.append(compute_discounted_returns(episode, discount, float(predicted[steps])))
        cut_off = 0.0 if episode.terminated else 1.0
        weights.append(cut_off * discount ** np.arange(steps, 0, -1))
    value_of, return_of = np.concatenate(values), np.concatenate(returns)
    share = float(np.concatenate(weights).mean())
    spread = float(return_of.std())
    # the same return in every state, up to rounding
    varies = spread > 1e-9 * max(1.0, float(np.abs(return_of).max()))
    finite = bool(np.isfinite(spread) and np.all(np.isfinite(value_of)))
    if not finite:
        return CriticAccuracy(len(value_of), share, finite=False)
    mean = float(return_of.mean())
    if not varies:
        return CriticAccuracy(len(value_of), share, mean=mean, spread=spread)
    error = return_of - value_of
    return CriticAccuracy(
        len(value_of),
        share,
        float(1.0 - error.var() / return_of.var()),
        float(-error.mean() / spread),
        mean=mean,
        spread=spread,
    )
