"""The variants of SAC and TD3, and an agent that can be each."""

from __future__ import annotations

from functools import partial

import numpy as np

from rlregress.measurements import sac, td3

from .reference_twins import ReferenceTwin


def _layer(weight, bias, orthogonal=False):
    spread = weight if orthogonal else weight / np.sqrt(3.0)
    return {"layer": [spread, bias, float(orthogonal)]}


#: name of a question -> the options with which the reference agent is each variant
SHARED = {
    "critic_loss.reduction": {
        **{name: {"networks": name} for name in ("sum", "mean")},
        "two_only": {"named": 2},
    },
    "target.minimum": {name: {"over": name} for name in ("min", "first", "second")},
    "target.bootstrap": {
        "truncation_is_terminal": {"mask": "done"},
        "never": {"mask": "everything"},
    },
    "target_update.polyak": {
        "flipped": {"share": 0.995},
    },
    "update_ratio": {
        "one_to_one_fixed": {"ratios": (1.0, 1.0, 1.0)},
        "halved_settable": {"ratios": (0.5, 0.25, 1.0)},
    },
    "gradient_clip": {
        "half_critics": {"clip_critic": 0.5},
        "half_policy": {"clip_policy": 0.5},
    },
}
OF_SAC = {
    "target.entropy": {
        "outside_discount": {"entropy": "outside"},
        "none": {"entropy": "none"},
    },
    "target.bootstrap": {
        **SHARED["target.bootstrap"],
        "entropy_not_masked": {"entropy": "not_masked"},
    },
    "actor_loss": {
        **{name: {"climbs": name} for name in ("min", "first")},
        "entropy_flipped": {"entropy_sign": -1.0},
    },
    "temperature.loss": {
        "alpha": {"form": "alpha"},
        "log_alpha_ascent": {"temperature_sign": -1.0},
        "log_alpha_entropy_flipped": {"target_entropy_sign": -1.0},
    },
    "temperature.target_entropy": {
        "minus_one": {"default_entropy": lambda d: -1.0},
    },
    "temperature.initial": {
        "one_always": {"temperature_set": lambda asked: 1.0},
        "one_tenth_or_asked": {"first_temperature": 0.1},
    },
    "update_schedule": {
        "pairs": {"policy_every": 2, "policy_burst": 2},
        "policy_delayed": {"policy_every": 2},
        "target_delayed": {"targets_every": 2},
        "temperature_delayed": {"temperature_every": 2},
        "temperature_fixed": {"temperature_trained": False},
    },
    "target_update.interval": {
        "at_multiples": {"takes_interval": True},
        "never": {"never_moves": True},
    },
    "reward_scaling": {
        "tenth": {"reward_used": lambda reward: 0.1 * reward},
        "tenth_stored": {"reward_stored": lambda reward: 0.1 * reward},
    },
    "networks.initialisation": {
        "torch_default": _layer(1.0, 1.0),
        "orthogonal": _layer(1.0, 0.0, orthogonal=True),
    },
}
OF_TD3 = {
    "critic_loss.scale": {
        "half": {"factor": 0.5},
        "batch_sum": {"samples": "sum"},
    },
    "actor_loss": {
        **{name: {"climbs": name} for name in ("first", "min")},
        "ascent": {"climbs": "first", "policy_sign": -1.0},
    },
    "target_noise.bounds": {
        "first_dimension": {"clips_to": "first"},
        "unclipped": {"clips_to": "nothing"},
    },
    "target_noise.draw": {"per_sample": {}, "shared_over_batch": {"draws_once": True}},
    "target_noise.parameter": {
        "bound_constant": {"takes_bound": False},
        "deviation_constant": {"takes_sigma": False},
    },
    "action.bounding": {
        "none": {"squash": lambda x, low, high: x},
    },
    "exploration.environments": {
        "shared_noise": {"noise_shared": True},
        "no_noise": {"noise_off": True},
    },
}
#: whose details are all measured, but for those in ``PROBED``
FAMILIES = ["sac", "td3"]
make_agent = partial(partial, ReferenceTwin)
PROBED = set()
MEASUREMENTS = {**sac.MEASUREMENTS, **td3.MEASUREMENTS}
#: detail -> variant -> the options with which the agent is it
VARIANTS = {
    f"{family}.{name}": variants
    for family, own in (("sac", OF_SAC), ("td3", OF_TD3))
    for name, variants in (SHARED | own).items()
}
