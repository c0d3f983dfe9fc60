"""Measurements of values as quantiles tell every variant apart, on an agent that can be each."""

from __future__ import annotations

from functools import partial

import pytest

from rlregress.catalogue import registry
from rlregress.catalogue.judge import judge_observation
from rlregress.measurements import quantiles

from .reference import QuantileAgent

DISTANCES = {
    "huber": {},
    "huber_half": {"threshold": 0.5},
    "squared": {"threshold": float("inf")},
    "absolute": {"threshold": 0.0},
    "huber_unweighted": {"weighs": "one"},
}
FRACTIONS = {
    "midpoints": {},
    "upper": {"place": 1.0},
    "lower": {"place": 0.0},
    "flipped": {"weighs": "flipped"},
    "equal": {"weighs": "half"},
}
REDUCTIONS = {
    "sum": {},
    "mean": {"reduction": "mean"},
    "sum_of_pairs": {"reduction": "sum_of_pairs"},
    "sum_batch_sum": {"sum_batch": True},
    "mean_batch_sum": {"reduction": "mean", "sum_batch": True},
}
#: detail -> its measurement, and the options with which the reference agent is each variant
KNOWN = {
    "qrdqn.loss.distance": (quantiles.loss_distance, DISTANCES),
    "qrdqn.loss.fractions": (quantiles.loss_fractions, FRACTIONS),
    "qrdqn.loss.reduction": (quantiles.loss_reduction, REDUCTIONS),
    "qrdqn.target.action": (
        quantiles.target_action,
        {
            name: {"chooses_by": name}
            for name in ("mean", "median", "maximum", "minimum", "double", "each_quantile")
        },
    ),
    "qrdqn.policy.action": (
        quantiles.greedy_action,
        {name: {"chooses_by": name} for name in ("mean", "median", "maximum", "minimum")},
    ),
    "tqc.critic_loss.distance": (quantiles.loss_distance, DISTANCES),
    "tqc.critic_loss.fractions": (quantiles.loss_fractions, FRACTIONS),
    "tqc.critic_loss.reduction": (quantiles.loss_reduction, REDUCTIONS),
    "tqc.critic_loss.networks": (
        quantiles.loss_networks,
        {"mean": {}, "sum": {"sum_networks": True}},
    ),
}
#: by probes of the one framework that has them
PROBED = {
    "qrdqn.quantiles.default",
    "qrdqn.adam.epsilon",
    "tqc.target.dropped",
    "tqc.actor_loss.quantiles",
    "tqc.quantiles.default",
}


def test_every_variant_of_every_measured_detail_is_here():
    """The reference agent can be all that the catalogue knows."""
    entries = (*registry.family_details("qrdqn"), *registry.family_details("tqc"))
    measured = {d.id: set(d.variants) for d in entries if d.id not in PROBED}
    assert {id: set(variants) for id, (_, variants) in KNOWN.items()} == measured


@pytest.mark.parametrize(
    ("id", "variant"), [(id, name) for id, (_, variants) in KNOWN.items() for name in variants]
)
def test_a_variant_is_told_apart(id, variant):
    """What is measured on an agent of one variant is judged to be that variant."""
    detail = registry.get(id)
    measure, variants = KNOWN[id]
    observed = measure(partial(QuantileAgent, **variants[variant]), detail.copy_inputs())
    assert judge_observation(detail, observed).variant_or_reason == variant


@pytest.mark.parametrize("id", KNOWN)
def test_what_an_entry_observes_is_the_text_of_its_measurement(id):
    """The catalogue says what the measurement does in its own words."""
    measure, _ = KNOWN[id]
    assert registry.get(id).observed == " ".join(measure.__doc__.split())
