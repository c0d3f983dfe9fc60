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
        "two": {"critics": 2, "target_critics": 2},
        "no_target": {"target_critics": 0},
    },
    "ddpg.target.terminal": {
        "truncation_is_terminal": {"mask": "done"},
        "never": {"mask": "everything"},
    },
    "ddpg.loss.values": {
        "half_squared": {"factor": 0.5},
        "huber": {"distance": "smooth_l1"},
        "squared_batch_sum": {"sum_batch": True},
    },
    "ddpg.loss.policy": {
        "target_values": {"climbs": "target"},
        "descends": {"sign": 1.0},
    },
    "ddpg.policy_delay": {
        "policy_every_second": {"policy_every": 2},
        "targets_every_second": {"targets_every": 2},
    },
    "ddpg.exploration.default": {
        "tenth": {"noise_default": 0.1},
    },
    "ddpg.warmup.draw": {
        "one_for_all": {"random_draws": "one"},
        "none": {"random_until": "never"},
    },
    "ddpg.gradient.clip": {
        "ten": {"clip": 10.0},
    },
}
