"""PPO's networks, its action distribution, and parts of its loss."""

from __future__ import annotations

import numpy as np

from rlregress.catalogue.registry import Detail, Formula, Inputs, make_constant_formula, make_detail
from rlregress.formulas import action_transforms


def _make_networks_details() -> list[Detail]:
    def make_networks_formula(
        widths: list[float], shared: float, compute_activation_outputs: Formula
    ) -> Formula:
        return lambda i: np.concatenate([widths, widths, [shared], compute_activation_outputs(i)])

    def compute_tanh_outputs(inputs: Inputs) -> np.ndarray:
        return np.tanh(inputs["fed"])

    def compute_relu_outputs(inputs: Inputs) -> np.ndarray:
        return np.maximum(inputs["fed"], 0.0)

    def compute_elu_outputs(inputs: Inputs) -> np.ndarray:
        fed = np.asarray(inputs["fed"])
        return np.where(fed > 0, fed, np.expm1(fed))

    small, large = [64.0, 64.0, 0.0], [256.0, 256.0, 0.0]
    return [
        make_detail(
            "ppo.networks",
            "Which layers have policy and value network, and do they share any?",
            """The networks of this scope by default, for vector observations. Observed, [9]: the
            number of units of the first three hidden layers of the policy, 0 for each that there
            is not; the same for the value network; 1 if the two share a layer, else 0; what their
            activation function (it has to be the same in all places) makes of fed[0] and of
            fed[1].""",
            (
                "The 32 details of PPO, MuJoCo 6",
                "The 32 details of PPO, MuJoCo 7",
                "thesis, appendix D",
            ),
            {"fed": [-1.0, 2.0]},
            {
                "tanh_64_64": (
                    "64 and 64 units, tanh, apart",
                    make_networks_formula(small, 0.0, compute_tanh_outputs),
                ),
                "tanh_64_64_shared": (
                    "the same, shared",
                    make_networks_formula(small, 1.0, compute_tanh_outputs),
                ),
                "relu_64_64": (
                    "64 and 64 units, ReLU, apart",
                    make_networks_formula(small, 0.0, compute_relu_outputs),
                ),
                "tanh_256_256": (
                    "256 and 256 units, tanh, apart",
                    make_networks_formula(large, 0.0, compute_tanh_outputs),
                ),
                "relu_256_256": (
                    "256 and 256 units, ReLU, apart",
                    make_networks_formula(large, 0.0, compute_relu_outputs),
                ),
                "tanh_32_32_32": (
                    "three layers of 32 units, tanh, apart",
                    make_networks_formula([32.0] * 3, 0.0, compute_tanh_outputs),
                ),
                "elu_64_64": (
                    "64 and 64 units, ELU, apart",
                    make_networks_formula(small, 0.0, compute_elu_outputs),
                ),
                "elu_256_256_256": (
                    "three layers of 256 units, ELU, apart",
                    make_networks_formula([256.0] * 3, 0.0, compute_elu_outputs),
                ),
            },
            consequence="""Returns of policies of different size, or with layers that the value
            loss trains as well, do not compare implementations but networks.""",
        ),
        make_detail(
            "ppo.log_std",
            "Does the policy's standard deviation depend on the state, and where does it start?",
            """A fresh policy of this scope for one action dimension with bounds -1 and 1; the
            biases of its network are set to 0 first, so that observation 0 gives output 0.
            Observed, [2]: the logarithm of its standard deviation (before any squashing) at
            observation 0; 1 if it is another one at observation ``observation``, else 0.""",
            ("The 32 details of PPO, MuJoCo 5",),
            {"observation": 2.0},
            {
                "independent_0": (
                    "one trained number for all states, from 0",
                    make_constant_formula(0.0, 0.0),
                ),
                "independent_-0.5": (
                    "one number for all states, from -0.5",
                    make_constant_formula(-0.5, 0.0),
                ),
                "dependent_0": (
                    "an output of the network, 0 without bias",
                    make_constant_formula(0.0, 1.0),
                ),
                "dependent_softplus": (
                    "log softplus of an output of the network",
                    lambda i: np.array([np.log(np.log(2.0)), 1.0]),
                ),
            },
            consequence="""A standard deviation that depends on the state lets the policy stop
            exploring in some states while it still explores in others.""",
        ),
        make_detail(
            "ppo.action.distribution",
            "Which action does the deterministic policy execute for a mean near a bound?",
            """One action dimension with bounds [``low``, ``high``]; the Gaussian of the policy has
            mean means[k] and standard deviation ``scale``, before any bounding. Observed, [5]: for
            each mean, the action that the environment receives from the deterministic policy.""",
            ("thesis, appendix C.3", "The 32 details of PPO, MuJoCo 8"),
            {"low": -2.0, "high": 6.0, "scale": 1.0, "means": [-3.0, -1.2, 0.5, 5.5, 9.0]},
            {
                "clipped_mean": (
                    "clip(mean)",
                    lambda i: action_transforms.clip_to_bounds(i["means"], i["low"], i["high"]),
                ),
                "tanh_of_mean": (
                    "unscale(tanh(mean))",
                    lambda i: action_transforms.squash_and_unscale(i["means"], i["low"], i["high"]),
                ),
                "mean_of_tanh": (
                    "mean of unscale(tanh(x))",
                    lambda i: _compute_mean_of_bounded_gaussian(
                        i, action_transforms.squash_and_unscale
                    ),
                ),
                "mean_of_clipped": (
                    "mean of clip(x)",
                    lambda i: _compute_mean_of_bounded_gaussian(
                        i, action_transforms.clip_to_bounds
                    ),
                ),
                "unscaled_clip": (
                    "unscale(clip(mean, -1, 1))",
                    lambda i: (
                        i["low"]
                        + 0.5 * (i["high"] - i["low"]) * (np.clip(i["means"], -1.0, 1.0) + 1.0)
                    ),
                ),
                "mean": ("not bounded", lambda i: i["means"]),
            },
            tolerance=1e-4,
            consequence="""The parameters of one policy are another policy under the other
            bounding: trained networks cannot be exchanged, and actions at a bound are reached
            exactly or only in the limit.""",
        ),
    ]


def _compute_mean_of_bounded_gaussian(inputs: Inputs, bound: object) -> np.ndarray:
    """Return E[bound(x)] for x ~ N(mean, scale^2), by a sum over a fine grid."""
    grid = np.linspace(-8.0, 8.0, 20001)
    weights = np.exp(-0.5 * grid**2)
    weights /= weights.sum()
    return np.array(
        [
            np.sum(weights * bound(mean + inputs["scale"] * grid, inputs["low"], inputs["high"]))  # type: ignore[operator]
            for mean in np.asarray(inputs["means"])
        ]
    )


def _make_loss_details() -> list[Detail]:
    def make_clipped_ratio_formula(clip_range_name: str) -> Formula:
        def compute_clipped_value_loss_ratio(inputs: Inputs) -> float:
            clipped = inputs["old_value"] + inputs[clip_range_name]
            return float(((inputs["return"] - clipped) / (inputs["return"] - inputs["value"])) ** 2)

        return compute_clipped_value_loss_ratio

    return [
        make_detail(
            "ppo.value_clip.range",
            "With value clipping on, which range has it?",
            """The policy's clip range is ``policy_clip_range``; value clipping is switched on, with
            ``value_clip_range`` where that can be said. 8 samples with value ``value``, stored old
            value ``old_value`` and return ``return``, above the clipped value and the value.
            Observed, [1]: the value loss, divided by that of the same samples with an old value
            equal to the value (squared distance).""",
            ("thesis, section 5.1, Value loss clipping", "thesis, Table 6"),
            {
                "policy_clip_range": 0.3,
                "value_clip_range": 0.1,
                "value": 3.0,
                "old_value": 0.0,
                "return": 10.0,
            },
            {
                "own": ("a parameter of its own", make_clipped_ratio_formula("value_clip_range")),
                "policy": (
                    "the policy's clip range",
                    make_clipped_ratio_formula("policy_clip_range"),
                ),
                "none": ("not clipped", make_constant_formula(1.0)),
            },
            consequence="""The value's range is in units of returns, the policy's is not: with one
            number for both, rescaled rewards change how fast values may move.""",
        ),
        make_detail(
            "ppo.value_clip.gradient",
            "With value clipping on, does a value outside the range still get a gradient?",
            """Value clipping is switched on with range ``clip_range``. Three minibatches k of 8
            samples with value values[k], stored old value ``old_value`` and return returns[k];
            squared distance where there is a choice, gradients not clipped. Observed, [3]: the
            derivative of the value loss with respect to the value, divided by that without value
            clipping.""",
            ("thesis, Box 3", "The 32 details of PPO, General 4"),
            {
                "old_value": 5.0,
                "values": [8.0, 8.0, 5.1],
                "returns": [5.0, 10.0, 6.0],
                "clip_range": 0.2,
            },
            {
                "none_outside": (
                    "no gradient outside the range",
                    make_constant_formula(0.0, 0.0, 1.0),
                ),
                "if_it_overshot": (
                    "a gradient outside the range where the value went past the return",
                    make_constant_formula(1.0, 0.0, 1.0),
                ),
                "always": ("as without clipping", make_constant_formula(1.0, 1.0, 1.0)),
                "if_it_falls_short": (
                    "a gradient outside the range where the value is on its way to the return",
                    make_constant_formula(0.0, 1.0, 1.0),
                ),
            },
            consequence="""A value that left the range in the wrong direction stays wrong for the
            rest of the update where clipping takes its gradient away.""",
        ),
        make_detail(
            "ppo.loss.sign",
            "With which signs do policy loss, value loss and entropy enter the total loss?",
            """8 samples, entropy coefficient ``coefficient``, a Gaussian policy of one dimension;
            advantages are not normalised, ratio 1. Four feeds: (0) all advantages 0, values equal
            to returns, log standard deviation 0; (1) advantages 1; (2) values 1 below returns;
            (3) log standard deviation 1; each otherwise as (0). L_k: the total loss that is
            minimised. Observed, [3]: L_1 - L_0; the sign of L_2 - L_0; (L_3 - L_0) /
            ``coefficient``.""",
            ("The 32 details of PPO, General 5", "thesis, section 3.4.1"),
            {"coefficient": 0.25},
            {
                "policy_value_entropy": (
                    "L_pi + c1 L_V - c2 H",
                    make_constant_formula(-1.0, 1.0, -1.0),
                ),
                "minus_policy_loss": (
                    "-L_pi + c1 L_V - c2 H, with L_pi negated already (thesis as printed)",
                    make_constant_formula(1.0, 1.0, -1.0),
                ),
                "entropy_added": ("L_pi + c1 L_V + c2 H", make_constant_formula(-1.0, 1.0, 1.0)),
                "value_subtracted": (
                    "L_pi - c1 L_V - c2 H",
                    make_constant_formula(-1.0, -1.0, -1.0),
                ),
                "no_entropy": ("L_pi + c1 L_V", make_constant_formula(-1.0, 1.0, 0.0)),
            },
            consequence="""With a wrong sign the training moves away from what that term is for:
            towards bad actions, wrong values or less exploration.""",
        ),
    ]


DETAILS: tuple[Detail, ...] = (*_make_networks_details(), *_make_loss_details())
