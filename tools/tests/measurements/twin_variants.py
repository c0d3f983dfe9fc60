"""The variants of SAC and TD3, and an agent that can be each."""

from __future__ import annotations

from functools import partial

import numpy as np

from rlregress.formulas import sac as formulas
from rlregress.measurements import sac, td3

from .reference_twins import ReferenceTwin

_RELU, _TANH = [0.0, 0.5], [-np.tanh(0.5), np.tanh(0.5)]


def _shape(*widths, critic=None, activation=_RELU, critics=2, shared=0.0):
    ends = [(len(own), own[0], own[-1]) for own in (widths, critic or widths)]
    return {"shape": [*np.ravel(ends), critics, *activation, shared]}


def _layer(weight, bias, orthogonal=False):
    spread = weight if orthogonal else weight / np.sqrt(3.0)
    return {"layer": [spread, bias, float(orthogonal)]}


#: name of a question -> the options with which the reference agent is each variant
SHARED = {
    "critic_loss.scale": {
        "half": {"factor": 0.5},
        "none": {},
        "batch_sum": {"samples": "sum"},
    },
    "critic_loss.reduction": {
        **{name: {"networks": name} for name in ("sum", "mean")},
        "two_only": {"named": 2},
    },
    "critic_loss.distance": {name: {"distance": name} for name in ("squared", "smooth_l1")},
    "target.minimum": {name: {"over": name} for name in ("min", "first", "second")},
    "target.bootstrap": {
        "truncation_bootstrapped": {},
        "truncation_is_terminal": {"mask": "done"},
        "never": {"mask": "everything"},
    },
    "target_update.polyak": {
        "towards_source": {},
        "flipped": {"share": 0.995},
    },
    "target_update.parameter": {
        "share_of_source": {},
        "ignored": {"share_of_coefficient": lambda coefficient: 0.005},
    },
    "replay.action": {
        "scaled": {},
        "environment": {"stores": "executed"},
        "never_unscaled": {"executes": "squashed"},
    },
    "learning_starts": {
        "at_start": {},
        "one_step_later": {"later": 1},
        "whole_batches": {"random_until": "whole_batches", "updates_from": "whole_batches"},
        "policy_from_first_step": {"random_until": "never", "later": 1},
    },
    "update_ratio": {
        "one_to_one_settable": {},
        "one_to_one_fixed": {"ratios": (1.0, 1.0, 1.0)},
        "halved_settable": {"ratios": (0.5, 0.25, 1.0)},
    },
    "vectorisation": {
        "counted_update_per_vector_step": {},
        "counted_update_per_transition": {"update_per": "transition"},
        "one_environment": {"one_environment": True},
    },
    "networks": {
        "as_set": _shape(24, 8, activation=_TANH),
        "relu_256": _shape(256),
        "one_q_network": _shape(256, 256, critics=1),
        "relu_256_256_shared": _shape(256, 256, shared=1.0),
        "relu_256_256_critics_400_300": _shape(256, 256, critic=(400, 300)),
    },
    "gradient_clip": {
        "none": {},
        "half_critics": {"clip_critic": 0.5},
        "half_policy": {"clip_policy": 0.5},
    },
}
EPSILONS = {
    "torch_default": (-8.0, -8.0, -8.0),
    "setting_without_policy": (-4.0, -8.0, -8.0),
    "setting_without_critics": (-8.0, -4.0, -8.0),
}
OF_SAC = {
    "adam.epsilon": {
        name: {"epsilons": powers}
        for name, powers in (EPSILONS | {"setting_without_temperature": (-4.0, -4.0, -8.0)}).items()
    },
    "target.entropy": {
        "inside_discount": {},
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
        "log_alpha": {},
        "alpha": {"form": "alpha"},
        "log_alpha_ascent": {"temperature_sign": -1.0},
        "log_alpha_entropy_flipped": {"target_entropy_sign": -1.0},
    },
    "temperature.target_entropy": {
        "minus_dimension": {},
        "minus_one": {"default_entropy": lambda d: -1.0},
    },
    "temperature.initial": {
        "one_or_asked": {},
        "one_always": {"temperature_set": lambda asked: 1.0},
        "one_tenth_or_asked": {"first_temperature": 0.1},
    },
    "temperature.learning_rate": {
        "policy_rate": {},
        "critic_rate": {"temperature_rate": "critic"},
        "own_3e-4": {"temperature_rate": 3e-4},
        "policy_rate_annealed": {"annealed": True},
    },
    "log_std.bounds": {
        name: {"bound_of_scale": bound}
        for name, bound in {
            "clamp": formulas.clamp_log_std,
            "tanh_rescale": formulas.rescale_log_std_by_tanh,
        }.items()
    },
    "log_prob.tanh_correction": {
        name: {"correction": correction}
        for name, correction in {
            "exact": formulas.compute_exact_tanh_correction,
            "epsilon_inside": formulas.compute_tanh_correction_epsilon_inside,
            "none": np.zeros_like,
        }.items()
    },
    "log_prob.action_scale": {
        "included": {"scale_term": formulas.compute_log_prob_of_unscaling},
        "excluded": {},
    },
    "update_order": {
        "critic_first": {},
        "joint": {"fresh_values": False},
        "critic_temperature_policy": {"fresh_in_policy": True},
        "fresh_temperature_in_target": {"fresh_in_target": True},
    },
    "update_schedule": {
        "one_of_each": {},
        "pairs": {"policy_every": 2, "policy_burst": 2},
        "policy_delayed": {"policy_every": 2},
        "target_delayed": {"targets_every": 2},
        "temperature_delayed": {"temperature_every": 2},
        "temperature_fixed": {"temperature_trained": False},
    },
    "target_update.interval": {
        "every_update": {},
        "at_multiples": {"takes_interval": True},
        "never": {"never_moves": True},
    },
    "reward_scaling": {
        "none": {},
        "tenth": {"reward_used": lambda reward: 0.1 * reward},
        "tenth_stored": {"reward_stored": lambda reward: 0.1 * reward},
    },
    "networks.initialisation": {
        "torch_default": _layer(1.0, 1.0),
        "orthogonal": _layer(1.0, 0.0, orthogonal=True),
    },
}
OF_TD3 = {
    "adam.epsilon": {name: {"epsilons": powers[:2]} for name, powers in EPSILONS.items()},
    "actor_loss": {
        **{name: {"climbs": name} for name in ("first", "min")},
        "ascent": {"climbs": "first", "policy_sign": -1.0},
    },
    "target_noise.law": {
        "scaled": {},
        "environment": {"smooths_in": "environment"},
        "unclipped_scaled": {"bound": np.inf},
        "none": {"sigma": 0.0},
    },
    "target_noise.bounds": {
        "own_bounds": {},
        "first_dimension": {"clips_to": "first"},
        "unclipped": {"clips_to": "nothing"},
    },
    "target_noise.draw": {"per_sample": {}, "shared_over_batch": {"draws_once": True}},
    "target_noise.parameter": {
        "parameter": {},
        "bound_constant": {"takes_bound": False},
        "deviation_constant": {"takes_sigma": False},
    },
    "action.bounding": {
        "tanh_unscale": {},
        "none": {"squash": lambda x, low, high: x},
    },
    "exploration.noise": {
        "scaled": {},
        "environment": {"noise_units": "environment"},
        "unclipped_scaled": {"noise_clipped": False},
        "none": {"noise_units": "none"},
    },
    "exploration.default": {
        "none": {},
        "tenth": {"noise_default": 0.1},
    },
    "exploration.environments": {
        "own_noise": {},
        "shared_noise": {"noise_shared": True},
        "no_noise": {"noise_off": True},
    },
    "exploration.warmup": {"uniform": {}, "noisy": {"noisy_warmup": True}},
    "policy_delay": {
        "delayed_together": {"policy_delayed": True, "targets_delayed": True},
        "targets_every_update": {"policy_delayed": True},
        "policy_every_update": {"targets_delayed": True},
        "not_delayed": {},
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
