"""Measurements of deep Q-networks tell every variant apart, on an agent that can be each."""

from __future__ import annotations

from functools import partial

import pytest

from rlregress.catalogue import registry
from rlregress.catalogue.judge import judge_observation
from rlregress.measurements import dqn

from .reference import DiscreteAgent

#: detail -> its measurement, and the options with which the reference agent is each variant
KNOWN = {
    "dqn.target.double": (
        dqn.target_double,
        {
            name: {"next_value": name}
            for name in (
                "max_target",
                "double",
                "double_reversed",
                "max_online",
                "mean_target",
                "min_target",
            )
        },
    ),
    "dqn.target.ties": (
        dqn.target_ties,
        {"one_of_them": {}, "sum_of_them": {"ties": "sum"}},
    ),
    "dqn.target.terminal": (
        dqn.target_terminal,
        {
            "truncation_bootstrapped": {},
            "truncation_is_terminal": {"mask": "done"},
            "bootstrap_everything": {"mask": "nothing"},
            "never": {"mask": "everything"},
            "flags_exchanged": {"mask": "truncated"},
        },
    ),
    "dqn.loss.kind": (
        dqn.loss_kind,
        {
            "huber": {"distance": "smooth_l1"},
            "squared": {},
            "half_squared": {"factor": 0.5},
            "absolute": {"distance": "absolute"},
            "huber_batch_sum": {"distance": "smooth_l1", "sum_batch": True},
            "squared_batch_sum": {"sum_batch": True},
        },
    ),
    "dqn.gradient.clip": (
        dqn.gradient_clip,
        {
            "none": {},
            "ten": {"clip": 10.0},
            "one": {"clip": 1.0},
            "half": {"clip": 0.5},
            "forty": {"clip": 40.0},
        },
    ),
    "dqn.target_update.interval": (
        dqn.target_update_interval,
        {
            name: {"interval_counts": name}
            for name in (
                "environment_steps",
                "updates",
                "updates_and_one",
                "every_update",
                "every_step",
                "never",
            )
        },
    ),
    "dqn.target_update.environments": (
        dqn.target_update_environments,
        {
            "transitions": {},
            "vector_steps": {"interval_counts": "vector_steps"},
            "updates": {"interval_counts": "updates"},
            "updates_of_vector_steps": {
                "interval_counts": "updates",
                "every_counts": "vector_steps",
            },
            "updates_and_one": {"interval_counts": "updates_and_one"},
            "every_vector_step": {"interval_counts": "every_step"},
            "one_environment": {"one_environment": True},
            "never": {"interval_counts": "never"},
        },
    ),
    "dqn.target_update.share": (
        dqn.target_update_share,
        {
            "copy": {},
            "0.005": {"share": 0.005},
            "0.01": {"share": 0.01},
            "0.001": {"share": 0.001},
            "flipped": {"share": 0.995},
            "not_updated": {"interval_counts": "never"},
        },
    ),
    "target.hard_update_period": (
        dqn.hard_update_period,
        {
            "interval": {},
            "interval_plus_one": {"interval_counts": "steps_and_one"},
            "interval_minus_one": {"interval_counts": "steps_less_one"},
            "always": {"interval_counts": "every_step"},
        },
    ),
    "dqn.epsilon.schedule": (
        dqn.epsilon_schedule,
        {
            "linear": {},
            "linear_one_ahead": {"late": -1},
            "linear_one_late": {"late": 1},
            "linear_first_greedy": {"epsilon_is": "first_greedy"},
            "exponential": {"epsilon_is": "exponential"},
            "stays_first": {"epsilon_is": "stays_first"},
            "stays_last": {"epsilon_is": "stays_last"},
            "never_random": {"epsilon_is": "never"},
        },
    ),
    "dqn.epsilon.deterministic": (
        dqn.epsilon_deterministic,
        {
            "greedy": {},
            "explores": {"deterministic": "explores"},
            "no_evaluation": {"deterministic": "none"},
            "never_random": {"epsilon_is": "never"},
        },
    ),
    "dqn.learning_starts": (
        dqn.learning_starts,
        {
            "at_start": {},
            "one_step_later": {"first_update_later": 1},
            "only_epsilon": {"random_until": "never"},
            "only_epsilon_one_step_later": {"random_until": "never", "first_update_later": 1},
            "only_epsilon_two_steps_later": {"random_until": "never", "first_update_later": 2},
            "updates_from_first_step": {"first_update_later": -1},
        },
    ),
    "dqn.train_frequency": (
        dqn.train_frequency,
        {
            "vector_steps": {"every_counts": "vector_steps"},
            "transitions": {},
            "one_environment": {"one_environment": True},
            "every_step": {"every_counts": "step"},
        },
    ),
}
CASES = [
    pytest.param(detail, measure, name, options, id=f"{detail}-{name}")
    for detail, (measure, variants) in KNOWN.items()
    for name, options in variants.items()
]


def test_every_variant_of_every_measured_detail_is_here():
    """The reference agent can be all that the catalogue knows."""
    # asked by a probe of each framework, as one of the traps
    details = *registry.family_details("dqn"), registry.get("target.hard_update_period")
    measured = {d.id: set(d.variants) for d in details}
    del measured["dqn.exploration.draw"]
    assert {id: set(variants) for id, (_, variants) in KNOWN.items()} == measured


@pytest.mark.parametrize(("id", "measure", "variant", "options"), CASES)
def test_a_variant_is_told_apart(id, measure, variant, options):
    """What is measured on an agent of one variant is judged to be that variant."""
    detail = registry.get(id)
    observed = measure(partial(DiscreteAgent, **options), detail.copy_inputs())
    assert judge_observation(detail, observed).variant_or_reason == variant


@pytest.mark.parametrize("id", dqn.MEASUREMENTS)
def test_what_an_entry_observes_is_the_text_of_its_measurement(id):
    """The catalogue says what the measurement does in its own words."""
    measure, _ = KNOWN[id]
    assert registry.get(id).observed == " ".join(measure.__doc__.split())
