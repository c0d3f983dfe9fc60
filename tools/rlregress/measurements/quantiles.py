"""The details of values that are distributions, measured on any agent that lets itself be driven.

The text of a measurement is what the catalogue says of the vector that it returns.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rlregress.measurements.driven_agents import MakeDiscreteAgent, MakeQuantileCritic, Settings
from rlregress.measurements.loss_minimum import lowest

Inputs = Mapping[str, Any]


def _off_target(make: MakeQuantileCritic, errors: Any, **settings: Any) -> float:
    """Return the loss where quantile k is below the target by errors[k].

    The transitions are terminations with reward 0, which is the target then.
    """
    agent = make(Settings(terminated=1.0, quantiles=len(errors), **settings))
    return agent.quantile_loss((-np.asarray(errors)).tolist())


def loss_distance(make: MakeQuantileCritic, i: Inputs) -> np.ndarray:
    """Measure the distance between a quantile and its target, and its factor.

    Each Q network has one quantile, the median, and there is one Q network; the transitions
    terminate, with reward 0, which is the target then. Observed, [3]: the loss that is
    differentiated where the quantile is below the target by errors[k].
    """
    return np.array([_off_target(make, [error], networks=1) for error in i["errors"]])


def loss_fractions(make: MakeQuantileCritic, i: Inputs) -> np.ndarray:
    """Measure the weight of a target above a quantile, which is the fraction that the quantile
    stands for.

    Each Q network has ``quantiles`` quantiles, four; the transitions terminate, with reward 0.
    Quantile k is below the target by ``error``, and the others are at it. Observed, [4]: the loss
    for each k, over the sum of these losses.
    """
    rows = float(i["error"]) * np.eye(int(i["quantiles"]))
    losses = np.array([_off_target(make, row) for row in rows])
    return losses / losses.sum()


def loss_reduction(make: MakeQuantileCritic, i: Inputs) -> np.ndarray:
    """Return which dimensions the loss is summed and averaged over.

    The transitions terminate, with reward 0, and every quantile is below the target by ``error``.
    Observed, [2]: the loss of ``quantiles`` quantiles over that of one; the loss of a minibatch of
    ``batch_size`` transitions over that of one.
    """
    error = float(i["error"])
    single, summed, batch = (
        _off_target(make, [error] * quantiles, batch_size=size)
        for quantiles, size in ((1, 1), (int(i["quantiles"]), 1), (1, int(i["batch_size"])))
    )
    return np.array([summed, batch]) / single


def loss_networks(make: MakeQuantileCritic, i: Inputs) -> np.ndarray:
    """Return the loss of several Q networks over that of one.

    As for the reduction over quantiles, with one quantile. Observed, [1]: the loss of ``networks``
    Q networks over that of one.
    """
    single, both = (
        _off_target(make, [float(i["error"])], networks=count) for count in (1, int(i["networks"]))
    )
    return np.array([both / single])


def target_action(make: MakeDiscreteAgent, i: Inputs) -> np.ndarray:
    """Measure which next action the target is the distribution of.

    In every state the Q network outputs ``online`` for each action, all quantiles alike, and the
    target network the quantiles target[:, a] of action a. An update on steps inside an episode with
    action 0 and reward ``reward``. The quantiles of action 0 are all one number c; the loss is
    lowest where c is the mean of the target's quantiles, found as in the detail on double
    Q-learning. Observed, [1]: that mean.
    """
    quantiles, actions = i["target"].shape
    agent = make(
        Settings(
            actions=actions,
            quantiles=quantiles,
            reward=float(i["reward"]),
            discount=float(i["discount"]),
        )
    )
    other_values = list(i["online"][1:])
    return np.array([lowest(lambda number: agent.loss([number, *other_values], i["target"]))])


def greedy_action(make: MakeDiscreteAgent, i: Inputs) -> np.ndarray:
    """Return the statistic by which an action is chosen, without exploration.

    The Q network outputs the quantiles values[:, a] of action a. Observed, [1]: the number of the
    action that a user gets who asks for one without chance.
    """
    quantiles, actions = i["values"].shape
    agent = make(Settings(actions=actions, quantiles=quantiles, steps=4))
    action = agent.act(i["values"], True)
    return np.array([-1.0 if action is None else float(action)])
