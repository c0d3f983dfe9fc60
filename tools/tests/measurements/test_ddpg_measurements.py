"""Measurements of deep deterministic policy gradients tell every variant apart."""

from __future__ import annotations

from functools import partial

import pytest

from rlregress.catalogue import registry
from rlregress.catalogue.judge import judge_observation
from rlregress.measurements import ddpg

from .reference import ContinuousAgent

#: detail -> its measurement, and the options with which the reference agent is each variant
KNOWN = {
    "ddpg.networks": (
        ddpg.networks,
        {
            "one": {},
            "two": {"critics": 2, "target_critics": 2},
            "no_target": {"target_critics": 0},
        },
    ),
    "ddpg.target.action": (
        ddpg.target_action,
        {
            "target_policy": {},
            "online_policy": {"next_action": "online"},
            "target_policy_smoothed": {"smoothing": 0.2},
            "online_policy_smoothed": {"next_action": "online", "smoothing": 0.2},
        },
    ),
    "ddpg.target.terminal": (
        ddpg.target_terminal,
        {
            "truncation_bootstrapped": {},
            "truncation_is_terminal": {"mask": "done"},
            "bootstrap_everything": {"mask": "nothing"},
            "never": {"mask": "everything"},
            "flags_exchanged": {"mask": "truncated"},
        },
    ),
    "ddpg.loss.values": (
        ddpg.critic_loss,
        {
            "squared": {},
            "half_squared": {"factor": 0.5},
            "double_squared": {"factor": 2.0},
            "huber": {"distance": "smooth_l1"},
            "absolute": {"distance": "absolute"},
            "squared_batch_sum": {"sum_batch": True},
        },
    ),
    "ddpg.loss.policy": (
        ddpg.actor_loss,
        {"values": {}, "target_values": {"climbs": "target"}, "descends": {"sign": 1.0}},
    ),
    "ddpg.policy_delay": (
        ddpg.policy_delay,
        {
            "every_update": {},
            "every_second": {"policy_every": 2, "targets_every": 2},
            "policy_every_second": {"policy_every": 2},
            "targets_every_second": {"targets_every": 2},
        },
    ),
    "ddpg.target_update.share": (
        ddpg.target_share,
        {
            "0.005": {},
            "0.005_values_only": {"policy_share": None},
            "0.001": {"share": 0.001, "policy_share": 0.001},
            "0.01": {"share": 0.01, "policy_share": 0.01},
            "policy_stands": {"policy_share": 0.0},
            "flipped": {"share": 0.995, "policy_share": 0.995},
            "copy": {"share": 1.0, "policy_share": 1.0},
            "not_updated": {"share": 0.0, "policy_share": 0.0},
        },
    ),
    "ddpg.exploration.noise": (
        ddpg.exploration_noise,
        {
            "scaled": {},
            "environment": {"noise_units": "environment"},
            "unclipped_scaled": {"noise_clipped": False},
            "unclipped_environment": {"noise_units": "environment", "noise_clipped": False},
            "none": {"noise_units": "none"},
        },
    ),
    "ddpg.exploration.default": (
        ddpg.exploration_default,
        {"none": {}, "tenth": {"noise_default": 0.1}, "fifth": {"noise_default": 0.2}},
    ),
    "ddpg.learning_starts": (
        ddpg.learning_starts,
        {
            "at_start": {},
            "one_step_later": {"first_update_later": 1},
            "two_steps_later": {"first_update_later": 2},
            "updates_from_first_step": {"first_update_later": -1},
            "policy_from_first_step": {"random_until": "never"},
        },
    ),
    "ddpg.warmup.draw": (
        ddpg.warmup_draw,
        {
            "each_step": {},
            "one_for_all": {"random_draws": "one"},
            "none": {"random_until": "never"},
        },
    ),
    "ddpg.gradient.clip": (
        ddpg.gradient_clip,
        {"none": {}, "ten": {"clip": 10.0}, "one": {"clip": 1.0}, "half": {"clip": 0.5}},
    ),
}
CASES = [
    pytest.param(detail, measure, name, options, id=f"{detail}-{name}")
    for detail, (measure, variants) in KNOWN.items()
    for name, options in variants.items()
]


def test_every_variant_of_every_measured_detail_is_here():
    """The reference agent can be all that the catalogue knows."""
    known = {id: set(variants) for id, (_, variants) in KNOWN.items()}
    assert known == {d.id: set(d.variants) for d in registry.family_details("ddpg")}


@pytest.mark.parametrize(("id", "measure", "variant", "options"), CASES)
def test_a_variant_is_told_apart(id, measure, variant, options):
    """What is measured on an agent of one variant is judged to be that variant."""
    detail = registry.get(id)
    observed = measure(partial(ContinuousAgent, **options), detail.copy_inputs())
    assert judge_observation(detail, observed).variant_or_reason == variant


@pytest.mark.parametrize("id", KNOWN)
def test_what_an_entry_observes_is_the_text_of_its_measurement(id):
    """The catalogue says what the measurement does in its own words."""
    measure, _ = KNOWN[id]
    assert registry.get(id).observed == " ".join(measure.__doc__.split())
