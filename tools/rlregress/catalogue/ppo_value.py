"""The value loss of proximal policy optimisation: thesis, equations 10 and 27, Box 3."""

from __future__ import annotations

import numpy as np

from rlregress.catalogue.registry import Detail, Formula, Inputs, make_detail
from rlregress.formulas import critics, ppo


def make_value_loss_details() -> list[Detail]:
    """Build the details: factor, coefficient, distance and clipping of the value loss."""

    def make_loss_formula(factor: float, samples: str = "mean") -> Formula:
        return lambda i: critics.compute_critic_loss(
            np.full((1, int(i["batch_size"])), i["value"]),
            np.full(int(i["batch_size"]), i["return"]),
            factor=factor,
            samples=samples,
        )

    def make_losses_over_first(distance: str) -> Formula:
        def divide_losses_by_first(inputs: Inputs) -> np.ndarray:
            loss = critics.DISTANCES[distance](np.asarray(inputs["errors"]))
            return loss[1:] / loss[0]

        return divide_losses_by_first

    def make_clip_ratios_formula(clipping: str) -> Formula:
        def compute_clipped_loss_ratios(inputs: Inputs) -> np.ndarray:
            losses = [
                ppo.compute_value_loss(
                    np.full(2, inputs["value"]),
                    inputs["old_values"][k],
                    inputs["returns"][k],
                    inputs["clip_range"],
                    clipping,
                )
                for k in range(3)
            ]
            return np.array([losses[0] / losses[2], losses[1] / losses[2]])

        return compute_clipped_loss_ratios

    clip_feed = """Three minibatches k of 2 samples: V(s) = ``value`` for every state now, stored
        old value old_values[k, j], return returns[k, j] of sample j; squared distance where there
        is a choice. """
    clip_observed = """Observed, [2]: the value loss of minibatch 0 divided by that of minibatch 2
        (whose old values equal the values and whose errors are 1, so that constant factors drop
        out); the same for minibatch 1."""
    clip_inputs = {
        "value": 3.0,
        "old_values": [[0.0, 0.0], [0.0, 3.5], [3.0, 3.0]],
        "returns": [[5.0, 0.0], [0.0, 2.0], [2.0, 2.0]],
        "clip_range": 0.2,
    }
    clip_variants = {
        "off": ("(V - R)^2", make_clip_ratios_formula("off")),
        "forced": ("(V_clipped - R)^2 alone", make_clip_ratios_formula("forced")),
        "elementwise_max": (
            "mean of the larger of both, per sample",
            make_clip_ratios_formula("elementwise_max"),
        ),
        "max_of_sums": ("the larger of both means", make_clip_ratios_formula("max_of_sums")),
        "thesis_box3": (
            "the larger of the means of (V_clipped - V)^2 and (V - R)^2, as printed",
            make_clip_ratios_formula("thesis_box3"),
        ),
    }
    clip_sources = ("thesis, Box 3 and equation 27", "The 32 details of PPO, general, 4")
    return [
        make_detail(
            "ppo.value_loss.scale",
            "Which factor stands before the mean squared error of the value loss?",
            """``batch_size`` samples with return ``return``; V(s) = ``value`` for every state;
            squared distance where there is a choice, value clipping off. Observed, [1]: the
            value loss before its coefficient in the total loss (divided by it where only the
            product exists).""",
            ("thesis, equation 10 and Box 3",),
            {"value": 3.0, "return": 5.0, "batch_size": 8},
            {
                "none": ("mean squared error", make_loss_formula(1.0)),
                "half": ("half of the mean squared error", make_loss_formula(0.5)),
                "quarter": ("a quarter: halved twice", make_loss_formula(0.25)),
                "batch_sum": ("summed over the minibatch", make_loss_formula(1.0, "sum")),
            },
            consequence="""The value loss weighs differently against the policy loss under the same
            coefficient.""",
        ),
        make_detail(
            "ppo.value_loss.coefficient",
            "Which coefficient has the value loss by default?",
            """Observed, [1]: the default coefficient of the value loss in the total loss, in this
            scope.""",
            ("thesis, Table 6", "thesis, equation 11"),
            {},
            {
                "half": ("0.5", lambda i: 0.5),
                "one": ("1.0", lambda i: 1.0),
                "quarter": ("0.25", lambda i: 0.25),
                "two_and_a_half": ("2.5", lambda i: 2.5),
            },
            consequence="""The value loss weighs differently against the policy loss, in shared
            networks and under joint gradient clipping.""",
        ),
        make_detail(
            "ppo.value_loss.distance",
            "Which distance between value and return does the value loss use by default?",
            """The distance is left as it is by default in this scope, value clipping is off. For
            each of ``errors`` in turn, 8 samples with V(s) = return + error; the value loss is
            read: L_0, L_1, L_2. Observed, [2]: L_1 / L_0, L_2 / L_0.""",
            ("thesis, equation 10",),
            {"errors": [0.5, 2.0, 4.0], "return": 1.0, "batch_size": 8},
            {
                "squared": ("squared error", make_losses_over_first("squared")),
                "smooth_l1": (
                    "Huber's distance with threshold 1",
                    make_losses_over_first("smooth_l1"),
                ),
                "absolute": ("absolute error", make_losses_over_first("absolute")),
            },
            consequence="""Large value errors pull linearly instead of quadratically: returns of
            large scale are learned more slowly.""",
        ),
        make_detail(
            "ppo.value_clip",
            "How does value clipping, when switched on, enter the value loss?",
            clip_feed + "Value clipping is switched on with ``clip_range``. " + clip_observed,
            clip_sources,
            clip_inputs,
            clip_variants,
            consequence="""Forced clipping stops value updates outside the range altogether; the
            maximum only stops those that would overshoot.""",
        ),
        make_detail(
            "ppo.value_clip.default",
            "Is the value loss clipped by default?",
            clip_feed
            + "Value clipping is left as it is by default in this scope. "
            + clip_observed,
            clip_sources,
            clip_inputs,
            clip_variants,
            consequence="""Value updates per rollout are limited or not, which depends on the scale
            of the rewards.""",
        ),
    ]
