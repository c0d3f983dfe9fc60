"""Measurements of trust region policy optimisation tell every variant apart."""

from __future__ import annotations

import pytest

from rlregress.catalogue import registry
from rlregress.catalogue.judge import judge_observation
from rlregress.measurements import trpo

from .reference import GaussianAgent

HALF = {"factor": 0.5, "divergence": "old_new", "improvement": "half_compounded"}
NONE = {"divergence": "ignored", "improvement": "none"}
#: detail -> its measurement, and the options with which the reference agent is each variant
KNOWN = {
    "trpo.kl.bound": (
        trpo.kl_bound,
        {name: {"bound": float(name)} for name in ("0.01", "0.001", "0.02", "0.05")},
    ),
    "trpo.damping": (
        trpo.damping,
        {"0.1": {}, "0.01": {"damping": 0.01}, "none": {"damping": 0.0}},
    ),
    "trpo.line_search": (
        trpo.line_search,
        {
            "shrinks_0.8": {},
            "shrinks_0.5": {"factor": 0.5},
            "shrinks_0.5_half_expected": HALF,
            "shrinks_0.5_wrong_divergence": {**HALF, "divergence": "exchanged"},
            "bound_alone": {"improvement": "none"},
            "improvement_alone": {"divergence": "ignored"},
            "none": NONE,
        },
    ),
    "trpo.line_search.expected": (
        trpo.expected_improvement,
        {
            "any": {},
            "half_compounded": HALF,
            "half_proportional": {**HALF, "improvement": "half_proportional"},
            "wrong_divergence": {**HALF, "divergence": "exchanged"},
            "none": NONE,
        },
    ),
    "trpo.direction": (trpo.direction, {"natural": {}, "gradient": {"natural": False}}),
}
#: by a probe of each framework
PROBED = {"trpo.critic_updates"}


def test_every_variant_of_every_measured_detail_is_here():
    """The reference agent can be all that the catalogue knows."""
    measured = {
        d.id: set(d.variants) for d in registry.family_details("trpo") if d.id not in PROBED
    }
    assert {id: set(variants) for id, (_, variants) in KNOWN.items()} == measured


@pytest.mark.parametrize(
    ("id", "variant"), [(id, name) for id, (_, variants) in KNOWN.items() for name in variants]
)
def test_a_variant_is_told_apart(id, variant):
    """What is measured on an agent of one variant is judged to be that variant."""
    detail = registry.get(id)
    measure, variants = KNOWN[id]
    observed = measure(GaussianAgent(**variants[variant]), detail.copy_inputs())
    assert judge_observation(detail, observed).variant_or_reason == variant
