"""Atari preprocessing: the treatment of frames by the network."""

from __future__ import annotations

import numpy as np

from rlregress.catalogue.registry import Detail, Formula, make_constant_formula, make_detail

_SOURCE = "The 32 details of PPO, Atari"

#: what the layers are made to say, see rlregress.environments.atari_vision
_BELOW, _ABOVE = -2.0, 3.0
_NETWORK = """The default network for stacks of four frames of 84 by 84 pixels and four actions,
    freshly made, looking at frames of one colour. """

#: parameters: three convolutions, the layer of 512 units, the heads of policy and value
_CONVOLUTIONS = 8224 + 32832 + 36928
_HIDDEN = 3136 * 512 + 512
_POLICY_HEAD, _VALUE_HEAD = 512 * 4 + 4, 512 + 1


def _standardise_second_and_third_observation(observations: np.ndarray) -> np.ndarray:
    """Return observations 2 and 3, each standardised over the observations up to it, [2]."""
    standardised = []
    for number in (2, 3):
        past = observations[:number]
        deviation = np.std(past)
        standardised.append((past[-1] - np.mean(past)) / deviation if deviation > 0 else 0.0)
    return np.array(standardised)


def _make_image_scaling_detail() -> Detail:
    def repeat_for_both_networks(numbers: np.ndarray) -> np.ndarray:
        return np.repeat(numbers, 2)

    return make_detail(
        "atari.image_scaling",
        "In which range are the pixels that the first layer sees?",
        """A game that is started twice and shows the colour ``pixels[0]``, and then ``pixels[1]``
        after one action. Observed, [4]: the newest frame as it enters the first layer of the
        policy and the first layer of the value, after the second start; the same after the
        action.""",
        (f"{_SOURCE} 8",),
        {"pixels": [51.0, 255.0]},
        {
            "to_one": ("divided by 255", lambda i: repeat_for_both_networks(i["pixels"] / 255.0)),
            "to_one_policy_only": (
                "divided by 255 for the policy, not for the value",
                lambda i: np.stack([i["pixels"] / 255.0, i["pixels"]], axis=1).reshape(-1),
            ),
            "to_one_value_only": (
                "divided by 255 for the value, not for the policy",
                lambda i: np.stack([i["pixels"], i["pixels"] / 255.0], axis=1).reshape(-1),
            ),
            "divided_by_256": (
                "divided by 256",
                lambda i: repeat_for_both_networks(i["pixels"] / 256.0),
            ),
            "centred": (
                "divided by 255, less 0.5",
                lambda i: repeat_for_both_networks(i["pixels"] / 255.0 - 0.5),
            ),
            "minus_one_to_one": (
                "scaled to [-1, 1]",
                lambda i: repeat_for_both_networks(i["pixels"] / 127.5 - 1.0),
            ),
            "twice": (
                "divided by 255 twice",
                lambda i: repeat_for_both_networks(i["pixels"] / 255.0**2),
            ),
            "standardised": (
                "minus a running mean, divided by a running standard deviation, pixel by pixel",
                lambda i: repeat_for_both_networks(
                    _standardise_second_and_third_observation(i["pixels"][[0, 0, 1]])
                ),
            ),
            "absent": ("0 to 255", lambda i: repeat_for_both_networks(i["pixels"])),
        },
        consequence="With pixels up to 255 the first update moves the policy by far more than the "
        "clip range is meant to allow; with running statistics the input drifts during training.",
        tolerance=2e-4,
        margin=15.0,
        scales=(1.0, 1.0, 1.0, 1.0),
    )


def _make_activation_detail() -> Detail:
    below, above = _BELOW, _ABOVE

    def make_layer_ranges_formula(low: float, high: float, *logit_gap_and_value: float) -> Formula:
        return make_constant_formula(*([low, high] * 4), *logit_gap_and_value)

    linear = (above - below, below)
    return make_detail(
        "atari.activation",
        "Which activation follows each layer, the output layers included?",
        _NETWORK
        + f"""Half of the units of every layer say {below:g} and half {above:g}, whatever enters.
        Observed, [10]: for each of the four hidden layers of the policy the least and the most
        that enters the layer behind it; the difference of the logits of two actions whose units
        say {above:g} and {below:g}; the value whose unit says {below:g}.""",
        (f"{_SOURCE} 9",),
        {"pixel": 100.0},
        {
            "relu_hidden": (
                "ReLU behind hidden layers, none behind the outputs",
                make_layer_ranges_formula(0.0, above, *linear),
            ),
            "relu_everywhere": (
                "ReLU behind hidden layers and outputs",
                make_layer_ranges_formula(0.0, above, above, 0.0),
            ),
            "relu_not_behind_512": (
                "ReLU behind the convolutions only",
                make_constant_formula(*([0.0, above] * 3), below, above, *linear),
            ),
            "tanh_hidden": (
                "tanh behind hidden layers",
                make_layer_ranges_formula(np.tanh(below), np.tanh(above), *linear),
            ),
            "elu_hidden": (
                "ELU behind hidden layers",
                make_layer_ranges_formula(np.expm1(below), above, *linear),
            ),
            "leaky_relu_hidden": (
                "leaky ReLU (0.01) behind hidden layers",
                make_layer_ranges_formula(0.01 * below, above, *linear),
            ),
            "tanh_behind_512": (
                "ReLU behind the convolutions, tanh behind the hidden layer",
                make_constant_formula(*([0.0, above] * 3), np.tanh(below), np.tanh(above), *linear),
            ),
            "absent": ("no activation", make_layer_ranges_formula(below, above, *linear)),
        },
        consequence="A ReLU behind the outputs could give neither a negative value nor a logit "
        "below zero, and would stop learning where it is zero.",
    )


def _make_shared_trunk_detail() -> Detail:
    trunk = _CONVOLUTIONS + _HIDDEN
    policy, value = _POLICY_HEAD, _VALUE_HEAD
    return make_detail(
        "atari.shared_trunk",
        "Which layers do policy and value share?",
        _NETWORK
        + """Observed, [3]: the number of parameters that gradients of both the logits and the
        value reach, of the logits only, of the value only.""",
        (f"{_SOURCE} 10", "thesis, section 3.4.1"),
        {"pixel": 100.0},
        {
            "shared": ("all hidden layers", make_constant_formula(trunk, policy, value)),
            "convolutions_shared": (
                "the convolutions only",
                make_constant_formula(_CONVOLUTIONS, _HIDDEN + policy, _HIDDEN + value),
            ),
            "separate": ("none", make_constant_formula(0, trunk + policy, trunk + value)),
            "value_detached": (
                "all, but the value does not train them",
                make_constant_formula(0, trunk + policy, value),
            ),
            "policy_detached": (
                "all, but the policy does not train them",
                make_constant_formula(0, policy, trunk + value),
            ),
        },
        consequence="In a shared trunk the value coefficient decides how strongly value errors "
        "shape the features of the policy; separate networks cost twice the time.",
    )


def _make_networks_detail() -> Detail:
    return make_detail(
        "atari.networks",
        "Which layers look at the frames?",
        _NETWORK
        + """Observed, [10]: channels, kernel and stride of the first three convolutions of the
        policy, and the units of its first hidden layer that is none (-1 where there is none).""",
        (f"{_SOURCE} 9 and 10", "Mnih et al. 2015"),
        {"pixel": 100.0},
        {
            "nature": (
                "32 8x8 stride 4, 64 4x4 stride 2, 64 3x3 stride 1, 512 units",
                make_constant_formula(32, 8, 4, 64, 4, 2, 64, 3, 1, 512),
            ),
            "nature_256": (
                "the same with 256 units",
                make_constant_formula(32, 8, 4, 64, 4, 2, 64, 3, 1, 256),
            ),
            "nature_32": (
                "the same with 32 channels in the last convolution",
                make_constant_formula(32, 8, 4, 64, 4, 2, 32, 3, 1, 512),
            ),
            "nips": (
                "16 8x8 stride 4, 32 4x4 stride 2, 256 units",
                make_constant_formula(16, 8, 4, 32, 4, 2, -1, -1, -1, 256),
            ),
            "small_kernels": (
                "three of 32 3x3 stride 1, 512 units",
                make_constant_formula(32, 3, 1, 32, 3, 1, 32, 3, 1, 512),
            ),
        },
        consequence="Returns on Atari depend strongly on the network; scores of different ones "
        "do not compare algorithms.",
        scales=(1.0,) * 10,
    )


DETAILS: tuple[Detail, ...] = (
    _make_image_scaling_detail(),
    _make_activation_detail(),
    _make_shared_trunk_detail(),
    _make_networks_detail(),
)
