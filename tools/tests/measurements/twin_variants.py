"""The variants of SAC and TD3, and an agent that can be each."""

from __future__ import annotations

from functools import partial

import numpy as np

from rlregress.formulas import action_transforms
from rlregress.formulas import sac as formulas
from rlregress.measurements import sac, td3

from .reference_twins import ReferenceTwin

_RELU, _TANH, _LEAKY = [0.0, 0.5], [-np.tanh(0.5), np.tanh(0.5)], [-0.005, 0.5]


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
        "quarter": {"factor": 0.25},
        "batch_sum": {"samples": "sum"},
        "double": {"factor": 2.0},
    },
    "critic_loss.reduction": {
        **{name: {"networks": name} for name in ("sum", "mean", "max")},
        "two_only": {"named": 2},
    },
    "critic_loss.distance": {
        name: {"distance": name} for name in ("squared", "smooth_l1", "absolute")
    },
    "target.minimum": {name: {"over": name} for name in ("min", "first", "second", "mean", "max")},
    "target.bootstrap": {
        "truncation_bootstrapped": {},
        "truncation_is_terminal": {"mask": "done"},
        "bootstrap_everything": {"mask": "nothing"},
        "never": {"mask": "everything"},
        "flags_exchanged": {"mask": "truncated"},
    },
    "target_update.polyak": {
        "towards_source": {},
        "flipped": {"share": 0.995},
        "tau_0.001": {"share": 0.001},
        "tau_0.01": {"share": 0.01},
        "copy": {"share": 1.0},
        "not_updated": {"share": 0.0},
    },
    "target_update.parameter": {
        "share_of_source": {},
        "share_kept": {"share_of_coefficient": lambda coefficient: 1.0 - coefficient},
        "ignored": {"share_of_coefficient": lambda coefficient: 0.005},
    },
    "replay.action": {
        "scaled": {},
        "environment": {"stores": "executed"},
        "pre_tanh": {"stores": "pre_tanh"},
        "never_unscaled": {"executes": "squashed"},
    },
    "learning_starts": {
        "at_start": {},
        "one_step_later": {"later": 1},
        "two_steps_later": {"later": 2},
        "whole_batches": {"random_until": "whole_batches", "updates_from": "whole_batches"},
        "whole_batches_one_later": {
            "random_until": "whole_batches",
            "updates_from": "whole_batches",
            "later": 4,
        },
        "from_first_minibatch": {"random_until": "one_less", "updates_from": "minibatch"},
        "random_then_from_first_minibatch": {"updates_from": "minibatch"},
        "updates_from_first_step": {"updates_from": "first_step"},
        "policy_from_first_step": {"random_until": "never", "later": 1},
    },
    "update_ratio": {
        "one_to_one_settable": {},
        "one_to_one_fixed": {"ratios": (1.0, 1.0, 1.0)},
        "one_to_one_fewer": {"ratios": (1.0, 0.5, 1.0)},
        "one_to_one_more": {"ratios": (1.0, 1.0, 2.0)},
        "halved_settable": {"ratios": (0.5, 0.25, 1.0)},
        "doubled_settable": {"ratios": (2.0, 1.0, 4.0)},
    },
    "vectorisation": {
        "counted_update_per_vector_step": {},
        "counted_update_per_transition": {"update_per": "transition"},
        "not_counted_update_per_vector_step": {"counts_environments": False},
        "not_counted_update_per_transition": {
            "counts_environments": False,
            "update_per": "transition",
        },
        "one_environment": {"one_environment": True},
    },
    "networks": {
        "as_set": _shape(24, 8, activation=_TANH),
        "sizes_as_set_relu": _shape(24, 8),
        "relu_256_256": _shape(256, 256),
        "relu_256_128": _shape(256, 128),
        "relu_400_300": _shape(400, 300),
        "relu_64_64": _shape(64, 64),
        "tanh_64_64": _shape(64, 64, activation=_TANH),
        "tanh_256_256": _shape(256, 256, activation=_TANH),
        "tanh_400_300": _shape(400, 300, activation=_TANH),
        "leaky_relu_256_256": _shape(256, 256, activation=_LEAKY),
        "relu_256": _shape(256),
        "one_q_network": _shape(256, 256, critics=1),
        "relu_256_256_shared": _shape(256, 256, shared=1.0),
        "relu_400_300_shared": _shape(400, 300, shared=1.0),
        "relu_256_256_critics_400_300": _shape(256, 256, critic=(400, 300)),
    },
    "gradient_clip": {
        "none": {},
        "half_each": {"clip_critic": 0.5, "clip_policy": 0.5},
        "half_critics": {"clip_critic": 0.5},
        "half_policy": {"clip_policy": 0.5},
        "one_each": {"clip_critic": 1.0, "clip_policy": 1.0},
        "one_critics": {"clip_critic": 1.0},
        "ten_each": {"clip_critic": 10.0, "clip_policy": 10.0},
    },
}
EPSILONS = {
    "torch_default": (-8.0, -8.0, -8.0),
    "1e-5": (-5.0, -5.0, -5.0),
    "1e-7": (-7.0, -7.0, -7.0),
    "setting": (-4.0, -4.0, -4.0),
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
        "flipped": {"entropy": "flipped"},
    },
    "target.bootstrap": {
        **SHARED["target.bootstrap"],
        "entropy_not_masked": {"entropy": "not_masked"},
    },
    "actor_loss": {
        **{name: {"climbs": name} for name in ("min", "first", "second", "mean", "max")},
        "no_entropy": {"entropy_sign": 0.0},
        "entropy_flipped": {"entropy_sign": -1.0},
    },
    "temperature.loss": {
        form + name: {"form": form, **options}
        for form in ("log_alpha", "alpha")
        for name, options in (
            ("", {}),
            ("_ascent", {"temperature_sign": -1.0}),
            ("_entropy_flipped", {"target_entropy_sign": -1.0}),
        )
    },
    "temperature.target_entropy": {
        "minus_dimension": {},
        "dimension": {"default_entropy": lambda d: d},
        "minus_half_dimension": {"default_entropy": lambda d: -0.5 * d},
        "minus_one": {"default_entropy": lambda d: -1.0},
        "zero": {"default_entropy": lambda d: 0.0},
    },
    "temperature.initial": {
        "one_or_asked": {},
        "one_always": {"temperature_set": lambda asked: 1.0},
        "asked_is_logarithm": {"temperature_set": np.exp},
        "one_tenth_or_asked": {"first_temperature": 0.1},
        "asked_value_by_default": {"first_temperature": 0.2},
        "half_or_asked": {"first_temperature": 0.5},
    },
    "temperature.learning_rate": {
        "policy_rate": {},
        "critic_rate": {"temperature_rate": "critic"},
        "own_3e-4": {"temperature_rate": 3e-4},
        "own_1e-3": {"temperature_rate": 1e-3},
        "annealed_from_1": {"temperature_rate": 1.0, "annealed": True},
        "constant_1": {"temperature_rate": 1.0},
        "policy_rate_annealed": {"annealed": True},
        "critic_rate_annealed": {"temperature_rate": "critic", "annealed": True},
        "own_3e-4_annealed": {"temperature_rate": 3e-4, "annealed": True},
    },
    "log_std.bounds": {
        name: {"bound_of_scale": bound}
        for name, bound in {
            "clamp": formulas.clamp_log_std,
            "clamp_-5_2": partial(formulas.clamp_log_std, low=-5.0),
            "tanh_rescale": formulas.rescale_log_std_by_tanh,
            "tanh_rescale_-20_2": partial(formulas.rescale_log_std_by_tanh, low=-20.0),
            "softplus_floor": partial(
                formulas.compute_log_std_by_softplus, bias_for_one=True, floor=0.01
            ),
            "softplus_floor_0.1": partial(
                formulas.compute_log_std_by_softplus, bias_for_one=True, floor=0.1
            ),
            "softplus_clamped": partial(
                formulas.compute_log_std_by_softplus, bias_for_one=False, floor=0.0
            ),
            "unbounded": np.array,
        }.items()
    },
    "log_prob.tanh_correction": {
        name: {"correction": correction}
        for name, correction in {
            "exact": formulas.compute_exact_tanh_correction,
            "epsilon_inside": formulas.compute_tanh_correction_epsilon_inside,
            "epsilon_outside": formulas.compute_tanh_correction_epsilon_outside,
            "epsilon_outside_negative": partial(
                formulas.compute_tanh_correction_epsilon_outside, epsilon=-1e-6
            ),
            "none": np.zeros_like,
            "flipped": lambda x: -formulas.compute_exact_tanh_correction(x),
        }.items()
    },
    "log_prob.action_scale": {
        "included": {"scale_term": formulas.compute_log_prob_of_unscaling},
        "excluded": {},
        "full_range": {
            "scale_term": lambda low, high: formulas.compute_log_prob_of_unscaling(
                # none where the bounds are those of the other policy
                *((low, high) if np.all(low == -1.0) else (2.0 * low, 2.0 * high))
            )
        },
        "flipped": {
            "scale_term": lambda low, high: -formulas.compute_log_prob_of_unscaling(low, high)
        },
    },
    "update_order": {
        "critic_first": {},
        "joint": {"fresh_values": False},
        "critic_temperature_policy": {"fresh_in_policy": True},
        "temperature_critic_policy": {"fresh_in_target": True, "fresh_in_policy": True},
        "temperature_first": {
            "fresh_values": False,
            "fresh_in_target": True,
            "fresh_in_policy": True,
        },
        "fresh_temperature_in_target": {"fresh_in_target": True},
    },
    "update_schedule": {
        "one_of_each": {},
        "pairs": {"policy_every": 2, "policy_burst": 2},
        "policy_delayed": {"policy_every": 2},
        "policy_and_target_delayed": {"policy_every": 2, "targets_every": 2},
        "all_every_second_step": {"ratios": (0.5, 0.25, 1.0)},
        "target_delayed": {"targets_every": 2},
        "temperature_delayed": {"temperature_every": 2},
        "temperature_fixed": {"temperature_trained": False},
        "pairs_temperature_once": {
            "policy_every": 2,
            "policy_burst": 2,
            "temperature_once": True,
        },
    },
    "update_ratio": {
        **SHARED["update_ratio"],
        "policy_every_second_step": {
            "ratios": (1.0, 1.0, 1.0),
            "policy_every": 2,
            "frequencies": (1, 2, 0.5),
        },
    },
    "target_update.interval": {
        "every_update": {},
        "at_multiples": {"takes_interval": True},
        "from_first": {"takes_interval": True, "targets_offset": 1},
        "from_second": {"takes_interval": True, "targets_offset": 2},
        "never": {"never_moves": True},
    },
    "reward_scaling": {
        "none": {},
        "five": {"reward_used": lambda reward: 5.0 * reward},
        "five_stored": {"reward_stored": lambda reward: 5.0 * reward},
        "tenth": {"reward_used": lambda reward: 0.1 * reward},
        "tenth_stored": {"reward_stored": lambda reward: 0.1 * reward},
        "sign_stored": {"reward_stored": np.sign},
        "centred": {"reward_used": lambda reward: 0.0},
    },
    "networks.initialisation": {
        "torch_default": _layer(1.0, 1.0),
        "xavier_zero_bias": _layer(np.sqrt(3.0), 0.0),
        "xavier": _layer(np.sqrt(3.0), 1.0),
        "kaiming_zero_bias": _layer(np.sqrt(6.0), 0.0),
        "orthogonal": _layer(1.0, 0.0, orthogonal=True),
        "orthogonal_relu": _layer(np.sqrt(2.0), 0.0, orthogonal=True),
        "torch_default_zero_bias": _layer(1.0, 0.0),
    },
}
_ENVIRONMENT, _UNCLIPPED = {"smooths_in": "environment"}, {"bound": np.inf}
_UNIT = {"sigma": 1.0}
OF_TD3 = {
    "adam.epsilon": {name: {"epsilons": powers[:2]} for name, powers in EPSILONS.items()},
    "actor_loss": {
        **{name: {"climbs": name} for name in ("first", "second", "min", "mean", "max")},
        "ascent": {"climbs": "first", "policy_sign": -1.0},
    },
    "target_noise.law": {
        "scaled": {},
        "environment": _ENVIRONMENT,
        "unclipped_scaled": _UNCLIPPED,
        "unclipped_environment": _UNCLIPPED | _ENVIRONMENT,
        "unit_sigma_scaled": _UNIT,
        "unit_sigma_environment": _UNIT | _ENVIRONMENT,
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
        "constant": {"takes_sigma": False, "takes_bound": False},
        "bound_constant": {"takes_bound": False},
        "deviation_constant": {"takes_sigma": False},
        "none": {"takes_sigma": False, "sigma": 0.0},
    },
    "action.bounding": {
        "tanh_unscale": {},
        "hard_clip": {"squash": action_transforms.clip_to_bounds},
        "clip_unscale": {
            "squash": lambda x, low, high: action_transforms.unscale_action_to_bounds(
                np.clip(x, -1, 1), low, high
            )
        },
        "tanh_only": {"squash": lambda x, low, high: np.tanh(x)},
        "centre_inside_tanh": {"squash": action_transforms.squash_with_centre_inside},
        "none": {"squash": lambda x, low, high: x},
    },
    "exploration.noise": {
        "scaled": {},
        "environment": {"noise_units": "environment"},
        "unclipped_scaled": {"noise_clipped": False},
        "unclipped_environment": {"noise_units": "environment", "noise_clipped": False},
        "tanh_only_upper_bound": {"noise_units": "tanh_only"},
        "none": {"noise_units": "none"},
    },
    "exploration.default": {
        "none": {},
        "tenth": {"noise_default": 0.1},
        "fifth": {"noise_default": 0.2},
        "unit": {"noise_default": 1.0},
    },
    "exploration.environments": {
        "own_noise": {},
        "shared_noise": {"noise_shared": True},
        "no_noise": {"noise_off": True},
        "one_environment": {"one_environment": True},
    },
    "exploration.warmup": {"uniform": {}, "noisy": {"noisy_warmup": True}},
    "policy_delay": {
        "delayed_together": {"policy_delayed": True, "targets_delayed": True},
        "delayed_together_from_first": {
            "policy_delayed": True,
            "policy_offset": 1,
            "targets_delayed": True,
            "targets_offset": 1,
        },
        "targets_every_update": {"policy_delayed": True},
        "targets_every_update_policy_from_first": {"policy_delayed": True, "policy_offset": 1},
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
