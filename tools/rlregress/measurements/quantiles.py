"""The details of values that are distributions, measured on any agent with a driver.

The text of a measurement is what the catalogue says of the vector that it returns.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rlregress.measurements.driven_agents import MakeDiscreteAgent, MakeQuantileCritic, Settings
from rlregress.measurements.loss_minimum import find_argmin_of_loss
from rlregress.measurements.named_settings import Inputs, select_inputs


def _measure_loss_of_errors(make_agent: MakeQuantileCritic, errors: Any, **settings: Any) -> float:
    """Return the loss where quantile k is below the target by errors[k].

    The transitions are terminations with reward 0, which is the target then.
    """
    agent = make_agent(Settings(terminated=1.0, quantiles=len(errors), **settings))
    return agent.compute_quantile_loss((-np.asarray(errors)).tolist())


def measure_loss_distance(make_agent: MakeQuantileCritic, inputs: Inputs) -> np.ndarray:
    """Measure the loss of one quantile for several errors: its distance function and factor.

    Each Q network has one quantile, the median, and there is one Q network; the transitions
    terminate, with reward 0, which is the target then. Observed, [3]: the loss that is
    differentiated where the quantile is below the target by errors[k].
    """
    return np.array(
        [_measure_loss_of_errors(make_agent, [error], networks=1) for error in inputs["errors"]]
    )


def measure_loss_shares_of_quantiles(make_agent: MakeQuantileCritic, inputs: Inputs) -> np.ndarray:
    """Measure each quantile's share of the loss, which shows the fraction that it stands for.

    Each Q network has ``quantiles`` quantiles, four; the transitions terminate, with reward 0.
    Quantile k is below the target by ``error``, and the others are at it. Observed, [4]: the loss
    for each k, over the sum of these losses.
    """
    rows = inputs["error"] * np.eye(inputs["quantiles"])
    losses = np.array([_measure_loss_of_errors(make_agent, row) for row in rows])
    return losses / losses.sum()


def measure_loss_reduction(make_agent: MakeQuantileCritic, inputs: Inputs) -> np.ndarray:
    """Measure how the loss grows with the number of quantiles, and with that of transitions.

    The transitions terminate, with reward 0, and every quantile is below the target by ``error``.
    Observed, [2]: the loss of ``quantiles`` quantiles over that of one; the loss of a minibatch of
    ``batch_size`` transitions over that of one.
    """
    error = inputs["error"]
    single, summed, batch = (
        _measure_loss_of_errors(make_agent, [error] * quantiles, batch_size=size)
        for quantiles, size in (
            (1, 1),
            (inputs["quantiles"], 1),
            (1, inputs["batch_size"]),
        )
    )
    return np.array([summed, batch]) / single


def measure_loss_of_several_networks(make_agent: MakeQuantileCritic, inputs: Inputs) -> np.ndarray:
    """Return the loss of several Q networks over that of one.

    As for the reduction over quantiles, with one quantile. Observed, [1]: the loss of ``networks``
    Q networks over that of one.
    """
    single, both = (
        _measure_loss_of_errors(make_agent, [inputs["error"]], networks=count)
        for count in (1, inputs["networks"])
    )
    return np.array([both / single])


def measure_mean_target_quantile(make_agent: MakeDiscreteAgent, inputs: Inputs) -> np.ndarray:
    """Measure the mean of the target's quantiles, which shows the next action that is chosen.

    In every state the Q network outputs ``online`` for each action, all quantiles alike, and the
    target network the quantiles target[:, a] of action a. An update on steps inside an episode with
    action 0 and reward ``reward``. The quantiles of action 0 are all one number c; the loss is
    lowest where c is the mean of the target's quantiles, found as in the detail on double
    Q-learning. Observed, [1]: that mean.
    """
    quantiles, actions = inputs["target"].shape
    agent = make_agent(
        Settings(
            actions=actions,
            quantiles=quantiles,
            **select_inputs(inputs, "reward", "discount"),
        )
    )
    other_values = list(inputs["online"][1:])
    return np.array(
        [
            find_argmin_of_loss(
                lambda number: agent.compute_loss([number, *other_values], inputs["target"])
            )
        ]
    )


def measure_greedy_action(make_agent: MakeDiscreteAgent, inputs: Inputs) -> np.ndarray:
    """Measure which action is greedy, which shows the statistic of quantiles that decides.

    The Q network outputs the quantiles values[:, a] of action a. Observed, [1]: the number of the
    action that a user gets who asks for one without chance.
    """
    quantiles, actions = inputs["values"].shape
    agent = make_agent(Settings(actions=actions, quantiles=quantiles, steps=4))
    action = agent.choose_action(inputs["values"], True)
    return np.array([-1.0 if action is None else float(action)])
