"""The policy of soft actor-critic: scale and log-probability (thesis, Box 5)."""

from __future__ import annotations

import numpy as np

from rlregress.catalogue.registry import Detail, make_detail
from rlregress.formulas import sac


def make_log_std_detail() -> Detail:
    """Build the detail: bounds of the log standard deviation."""
    return make_detail(
        "sac.log_std.bounds",
        "How is the policy's log standard deviation bounded?",
        """For each of ``head_outputs``: the last layer that feeds the scale of the policy outputs
        this number (its weights 0, its bias the number), in a float32 or float64 network.
        Observed, [5]: the natural logarithm of the standard deviation of the Gaussian (before the
        tanh) that the policy samples from, per head output.""",
        ("thesis, Box 5", "Haarnoja et al. 2018"),
        {"head_outputs": [-30.0, -3.0, 0.0, 1.5, 30.0]},
        {
            "clamp": ("clipped to [-20, 2]", lambda i: sac.clamp_log_std(i["head_outputs"])),
            "clamp_-5_2": (
                "clipped to [-5, 2]",
                lambda i: sac.clamp_log_std(i["head_outputs"], -5.0, 2.0),
            ),
            "tanh_rescale": (
                "tanh, rescaled to [-5, 2]",
                lambda i: sac.rescale_log_std_by_tanh(i["head_outputs"]),
            ),
            "tanh_rescale_-20_2": (
                "tanh, rescaled to [-20, 2]",
                lambda i: sac.rescale_log_std_by_tanh(i["head_outputs"], -20.0, 2.0),
            ),
            "softplus_floor": (
                "sigma = softplus(x + b) + 0.01 with sigma(0) = 1, no upper bound",
                lambda i: sac.compute_log_std_by_softplus(
                    i["head_outputs"], bias_for_one=True, floor=0.01
                ),
            ),
            "softplus_floor_0.1": (
                "sigma = softplus(x + b) + 0.1 with sigma(0) = 1, no upper bound",
                lambda i: sac.compute_log_std_by_softplus(
                    i["head_outputs"], bias_for_one=True, floor=0.1
                ),
            ),
            "softplus_clamped": (
                "sigma = max(softplus(x), 1e-4), no upper bound (as printed in Box 5)",
                lambda i: sac.compute_log_std_by_softplus(
                    i["head_outputs"], bias_for_one=False, floor=0.0
                ),
            ),
            "unbounded": ("log sigma = x", lambda i: i["head_outputs"]),
        },
        consequence="""The policy can be more random or more deterministic than elsewhere, and the
        gradient at the bounds vanishes or does not.""",
    )


def make_log_prob_details() -> list[Detail]:
    """Build the details: correction for the tanh, and for the scale of the action space."""
    return [
        make_detail(
            "sac.log_prob.tanh_correction",
            "How is the log-probability corrected for the tanh?",
            """Action bounds are [-1, 1], one dimension; the Gaussian has mean 0 and standard
            deviation 1. For each x of ``pre_tanh``: the log-probability that the framework's code
            reports together with a sample whose pre-tanh value is x (the path that the losses
            take, not an inversion of a stored action). Feed float64 tensors: the position of
            an epsilon of 1e-6 is not visible in float32. Observed, [4]: log N(x; 0, 1) minus that
            log-probability, per x, where log N(x; 0, 1) = -x^2 / 2 - log(2 pi) / 2.""",
            ("thesis, Box 5", "Haarnoja et al. 2018, appendix C"),
            {"pre_tanh": [0.0, 0.5, -2.0, 10.0]},
            {
                "exact": (
                    "log(1 - tanh^2)",
                    lambda i: sac.compute_exact_tanh_correction(i["pre_tanh"]),
                ),
                "epsilon_inside": (
                    "log(1 - tanh^2 + 1e-6)",
                    lambda i: sac.compute_tanh_correction_epsilon_inside(i["pre_tanh"]),
                ),
                "epsilon_outside": (
                    "log(1 - tanh^2) + 1e-6",
                    lambda i: sac.compute_tanh_correction_epsilon_outside(i["pre_tanh"]),
                ),
                "epsilon_outside_negative": (
                    "log(1 - tanh^2) - 1e-6 (Box 5 as printed)",
                    lambda i: sac.compute_tanh_correction_epsilon_outside(i["pre_tanh"], -1e-6),
                ),
                "none": ("no correction", lambda i: np.zeros(4)),
                "flipped": (
                    "the correction added in the place of subtracted",
                    lambda i: -sac.compute_exact_tanh_correction(i["pre_tanh"]),
                ),
            },
            # In units of the largest expectation; 1e-10 at x = 0, which float64 resolves.
            tolerance=1e-4,
            consequence="""Log-probabilities of saturated actions differ, and with them entropy,
            temperature and targets.""",
        ),
        make_detail(
            "sac.log_prob.action_scale",
            "Is the scale of the action space part of the log-probability?",
            """Two action dimensions; the Gaussian has mean 0 and standard deviation 1. A sample
            whose pre-tanh value is ``pre_tanh`` [2]. Observed, [1]: its log-probability (summed
            over dimensions) with action bounds [``low``, ``high``], minus the log-probability of
            the same pre-tanh sample with bounds [-1, 1] in both dimensions.""",
            ("thesis, Box 5", "thesis, section 5.3, Action selection"),
            {"low": [-2.0, -1.0], "high": [6.0, 2.0], "pre_tanh": [0.3, -0.5]},
            {
                "included": (
                    "minus the sum of log((high - low) / 2)",
                    lambda i: sac.compute_log_prob_change_by_unscaling(i["low"], i["high"]),
                ),
                "excluded": ("density of the action in [-1, 1]", lambda i: 0.0),
                "full_range": (
                    "minus the sum of log(high - low)",
                    lambda i: sac.compute_log_prob_change_by_unscaling(2 * i["low"], 2 * i["high"]),
                ),
                "flipped": (
                    "plus the sum of log((high - low) / 2)",
                    lambda i: -sac.compute_log_prob_change_by_unscaling(i["low"], i["high"]),
                ),
            },
            consequence="""Entropies differ by a constant per action dimension: the same target
            entropy means another randomness where the bounds are not -1 and 1.""",
        ),
    ]
