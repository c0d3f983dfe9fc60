"""How well a critic predicts the discounted returns of its own policy.

An agent can return as much as before and have a critic that is ruined; the two numbers here see it.
Nothing here draws from a random generator.

Runs inside foreign and old environments: NumPy only, Python 3.9 syntax.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable, Optional, Sequence

import numpy as np

from rlregress.training.evaluation import Episode


@dataclass(frozen=True)
class Critic:
    """The critic after a training, over all states that the evaluation episodes visited.

    Returns are discounted, in the environment's unit of reward. What a time limit cuts off is not
    observed: there a return goes on with the critic's own value of the final observation, so that
    an error of that value is no error here.

    Attributes:
        states: how many, without the final ones.
        bootstrapped: mean weight, from 0 to 1, of the critic's own value in a return: the discount
            to the power of the steps that are left until a time limit; 0 where episodes terminate.
        explained_variance: 1 - Var[return - value] / Var[return]: 1 is perfect, 0 is no better than
            a constant; None where returns do not vary, or values are not finite.
        bias: (mean value - mean return) / standard deviation of the returns; None as above.
    """

    states: int
    bootstrapped: float
    explained_variance: Optional[float] = None
    bias: Optional[float] = None


def discounted(episode: Episode, discount: float, final_value: float) -> np.ndarray:
    """Discounted returns of the states of an episode, [steps], from the first one on.

    Args:
        discount: per step, 0 to 1.
        final_value: of the final observation; it counts if the episode was truncated.
    """
    follows = 0.0 if episode.terminated else final_value
    returns = np.empty(len(episode.rewards))
    for step in range(len(returns) - 1, -1, -1):
        follows = returns[step] = episode.rewards[step] + discount * follows
    return returns


def assess(
    episodes: Sequence[Episode], value: Callable[[np.ndarray], np.ndarray], discount: float
) -> Critic:
    """Compare a critic with what its policy got.

    Args:
        episodes: finished ones.
        value: observations [n, *observation_shape] -> values [n], see ``frameworks.base.Trained``.
        discount: with which the critic was trained.
    """
    values, returns, weights = [], [], []
    for episode in episodes:
        said = np.asarray(value(np.stack(episode.observations)), dtype=np.float64)
        steps = len(episode.rewards)
        values.append(said[:steps])
        returns.append(discounted(episode, discount, float(said[steps])))
        cut_off = 0.0 if episode.terminated else 1.0
        weights.append(cut_off * discount ** np.arange(steps, 0, -1))
    value_of, return_of = np.concatenate(values), np.concatenate(returns)
    share = float(np.concatenate(weights).mean())
    spread = float(return_of.std())
    # the same return in every state, up to rounding
    varies = spread > 1e-9 * max(1.0, float(np.abs(return_of).max()))
    if not (np.isfinite(spread) and np.all(np.isfinite(value_of)) and varies):
        return Critic(len(value_of), share)
    error = return_of - value_of
    return Critic(
        len(value_of),
        share,
        float(1.0 - error.var() / return_of.var()),
        float(-error.mean() / spread),
    )
