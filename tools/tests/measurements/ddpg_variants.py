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
        "online_policy_smoothed": {"next_action": "online", "smoothing": 0.2},
    },
    "ddpg.target.terminal": {
        "truncation_bootstrapped": {},
        "truncation_is_terminal": {"mask": "done"},
        "bootstrap_everything": {"mask": "nothing"},
        "never": {"mask": "everything"},
        "flags_exchanged": {"mask": "truncated"},
    },
    "ddpg.loss.values": {
        "squared": {},
        "half_squared": {"factor": 0.5},
        "double_squared": {"factor": 2.0},
        "huber": {"distance": "smooth_l1"},
        "absolute": {"distance": "absolute"},
        "squared_batch_sum": {"sum_batch": True},
    },
    "ddpg.loss.policy": {
        "values": {},
        "target_values": {"climbs": "target"},
        "descends": {"sign": 1.0},
    },
    "ddpg.policy_delay": {
        "every_update": {},
        "every_second": {"policy_every": 2, "targets_every": 2},
        "policy_every_second": {"policy_every": 2},
        "targets_every_second": {"targets_every": 2},
    },
    "ddpg.target_update.share": {
        "0.005": {},
        "0.005_values_only": {"policy_share": None},
        "0.001": {"share": 0.001, "policy_share": 0.001},
        "0.01": {"share": 0.01, "policy_share": 0.01},
        "policy_stands": {"policy_share": 0.0},
        "flipped": {"share": 0.995, "policy_share": 0.995},
        "copy": {"share": 1.0, "policy_share": 1.0},
        "not_updated": {"share": 0.0, "policy_share": 0.0},
    },
    "ddpg.exploration.noise": {
        "scaled": {},
        "environment": {"noise_units": "environment"},
        "unclipped_scaled": {"noise_clipped": False},
        "unclipped_environment": {"noise_units": "environment", "noise_clipped": False},
        "none": {"noise_units": "none"},
    },
    "ddpg.exploration.default": {
        "none": {},
        "tenth": {"noise_default": 0.1},
        "fifth": {"noise_default": 0.2},
    },
    "ddpg.learning_starts": {
        "at_start": {},
        "one_step_later": {"first_update_later": 1},
        "two_steps_later": {"first_update_later": 2},
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
        "one": {"clip": 1.0},
        "half": {"clip": 0.5},
    },
}
