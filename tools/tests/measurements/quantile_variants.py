"""The variants of values as quantiles, and an agent that can be each."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from rlregress.formulas import quantiles as formulas
from rlregress.measurements import quantiles


@dataclass
class QuantileAgent:
    """Values as quantiles, of networks that all say the same; the defaults are Dabney et al. 2018.

    The options are the ways to do it.
    """

    settings: object
    threshold: float = 1.0
    place: float = 0.5
    weighs: str = "fraction"
    reduction: str = "sum"
    sum_batch: bool = False
    sum_networks: bool = False
    chooses_by: str = "mean"

    def _loss(self, values, targets):
        n = len(values)
        errors = targets[None, :] - values[:, None]
        tau = formulas.compute_quantile_fractions(n, self.place)[:, None]
        weight = {
            "fraction": formulas.compute_quantile_weight(tau, errors),
            "half": 0.5,
            "one": 1.0,
        }[self.weighs]
        distances = (
            formulas.compute_huber(errors, self.threshold) if self.threshold else np.abs(errors)
        )
        factor = {"sum": n, "mean": 1}[self.reduction]
        factor *= self.settings.batch_size if self.sum_batch else 1
        factor *= self.settings.networks if self.sum_networks else 1
        return float(factor * (weight * distances).mean())

    def compute_quantile_loss(self, values):
        return self._loss(np.array(values), np.full(len(values), self.settings.reward))

    def _chosen(self, values):
        statistic = np.median if self.chooses_by == "median" else np.mean
        return formulas.choose_greedy_action(values, statistic)

    def compute_loss(self, online, target):
        s = self.settings
        online, target = (np.broadcast_to(v, (s.quantiles, s.actions)) for v in (online, target))
        following = target[:, self._chosen(online if self.chooses_by == "double" else target)]
        if self.chooses_by == "each_quantile":
            following = target.max(axis=1)
        return self._loss(online[:, 0], s.reward + s.discount * following)

    def choose_action(self, q_values, deterministic):
        return self._chosen(q_values)


DISTANCES = {
    "huber": {},
    "absolute": {"threshold": 0.0},
    "huber_unweighted": {"weighs": "one"},
}
FRACTIONS = {
    "midpoints": {},
    "upper": {"place": 1.0},
    "equal": {"weighs": "half"},
}
REDUCTIONS = {
    "sum": {},
    "mean": {"reduction": "mean"},
    "sum_batch_sum": {"sum_batch": True},
}
#: whose details are all measured, but for those in ``PROBED``
FAMILIES = ["qrdqn", "tqc"]
make_agent = partial(partial, QuantileAgent)
MEASUREMENTS = {
    "qrdqn.loss.distance": quantiles.measure_loss_distance,
    "qrdqn.loss.fractions": quantiles.measure_loss_fractions,
    "qrdqn.loss.reduction": quantiles.measure_loss_reduction,
    "qrdqn.target.action": quantiles.measure_target_action,
    "qrdqn.policy.action": quantiles.measure_greedy_action,
    "tqc.critic_loss.distance": quantiles.measure_loss_distance,
    "tqc.critic_loss.fractions": quantiles.measure_loss_fractions,
    "tqc.critic_loss.reduction": quantiles.measure_loss_reduction,
    "tqc.critic_loss.networks": quantiles.measure_loss_of_several_networks,
}
#: detail -> variant -> the options with which the agent is it
VARIANTS = {
    "qrdqn.loss.distance": DISTANCES,
    "qrdqn.loss.fractions": FRACTIONS,
    "qrdqn.loss.reduction": REDUCTIONS,
    "qrdqn.target.action": {
        name: {"chooses_by": name} for name in ("mean", "median", "double", "each_quantile")
    },
    "qrdqn.policy.action": {name: {"chooses_by": name} for name in ("mean", "median")},
    "tqc.critic_loss.distance": DISTANCES,
    "tqc.critic_loss.fractions": FRACTIONS,
    "tqc.critic_loss.reduction": REDUCTIONS,
    "tqc.critic_loss.networks": {"mean": {}, "sum": {"sum_networks": True}},
}
#: by probes of the one framework that has them
PROBED = {
    "qrdqn.quantiles.default",
    "qrdqn.adam.epsilon",
    "tqc.target.dropped",
    "tqc.actor_loss.quantiles",
    "tqc.quantiles.default",
}
