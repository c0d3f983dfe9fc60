"""The variants of deep deterministic policy gradients, and an agent that can be each."""

from __future__ import annotations

from functools import partial

from rlregress.measurements import ddpg

from .reference import ContinuousAgent

#: whose details are all measured, but for those in ``PROBED``
FAMILIES = ["ddpg"]
make_agent = partial(partial, ContinuousAgent)
PROBED = set()
MEASUREMENTS = ddpg.MEASUREMENTS
#: detail -> variant -> the options with which the agent is it
VARIANTS = {
    "ddpg.networks": {
        "one": {},
        "two": {"critics": 2, "target_critics": 2},
        "no_target": {"target_critics": 0},
    },
    "ddpg.target.action": {
        "target_policy": {},
        "online_policy": {"next_action": "online"},
        "target_policy_smoothed": {"smoothing": 0.2},
    },
    "ddpg.target.terminal": {
        "truncation_bootstrapped": {},
        "truncation_is_terminal": {"mask": "done"},
        "never": {"mask": "everything"},
    },
    "ddpg.loss.values": {
        "squared": {},
        "half_squared": {"factor": 0.5},
        "huber": {"distance": "smooth_l1"},
        "squared_batch_sum": {"sum_batch": True},
    },
    "ddpg.loss.policy": {
        "values": {},
        "target_values": {"climbs": "target"},
        "descends": {"sign": 1.0},
    },
    "ddpg.policy_delay": {
        "every_update": {},
        "policy_every_second": {"policy_every": 2},
        "targets_every_second": {"targets_every": 2},
    },
    "ddpg.target_update.share": {
        "0.005": {},
        "0.005_values_only": {"policy_share": None},
        "policy_stands": {"policy_share": 0.0},
    },
    "ddpg.exploration.noise": {
        "scaled": {},
        "environment": {"noise_units": "environment"},
        "unclipped_scaled": {"noise_clipped": False},
        "none": {"noise_units": "none"},
    },
    "ddpg.exploration.default": {
        "none": {},
        "tenth": {"noise_default": 0.1},
    },
    "ddpg.learning_starts": {
        "at_start": {},
        "one_step_later": {"first_update_later": 1},
        "updates_from_first_step": {"first_update_later": -1},
        "policy_from_first_step": {"random_until": "never"},
    },
    "ddpg.warmup.draw": {
        "each_step": {},
        "one_for_all": {"random_draws": "one"},
        "none": {"random_until": "never"},
    },
    "ddpg.gradient.clip": {
        "none": {},
        "ten": {"clip": 10.0},
    },
}
