"""The variants of values as quantiles, and an agent that can be each."""

from __future__ import annotations

from functools import partial

from rlregress.measurements import quantiles

from .reference import QuantileAgent

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
