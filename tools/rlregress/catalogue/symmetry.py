"""Symmetries of a robot: mirrored samples, and a loss that asks for a mirrored policy."""

from __future__ import annotations

import numpy as np

from rlregress.catalogue.registry import Detail, Formula, Inputs, make_detail

_MITTAL = "Mittal et al. 2024, sections III and IV"
_MIRRORED = """A mirror changes the sign of observation and action. The mean of the policy is the
    observation plus ``bias``, its deviation 1. """


def _compute_gap_to_mirrored_mean(inputs: Inputs) -> float:
    """Return the mean for a mirrored observation, minus the mirror image of the original mean."""
    return 2.0 * float(inputs["bias"])


def _make_formula_of_loss_and_slope(loss_factor: float, slope_factor: float) -> Formula:
    return lambda i: [
        loss_factor * _compute_gap_to_mirrored_mean(i) ** 2,
        slope_factor * 2.0 * _compute_gap_to_mirrored_mean(i),
    ]


def _compute_mirrored_ratio(inputs: Inputs) -> float:
    """Return the probability of a mirrored action in its mirrored state over the original one."""
    action, mean = inputs["action"], inputs["observation"]
    squares = (action - mean - inputs["bias"]) ** 2 - (-action + mean - inputs["bias"]) ** 2
    return float(np.exp(0.5 * squares))


DETAILS: tuple[Detail, ...] = (
    make_detail(
        "symmetry.loss",
        "What does a loss of symmetry compare, and what does it train?",
        _MIRRORED
        + """Advantages are 0, returns are the values, entropy has no weight; samples are not
        mirrored, and the loss of symmetry has the weight ``weight``. Observed, [2]: the total loss,
        and its derivative with respect to the bias, over ``weight``.""",
        (_MITTAL,),
        {"bias": 0.25, "weight": 0.5},
        {
            "target_fixed": (
                "squared distance of the mean of the mirrored state to the mirrored mean, which is "
                "a constant",
                _make_formula_of_loss_and_slope(1.0, 1.0),
            ),
            "both_trained": (
                "the same, where both have a gradient",
                _make_formula_of_loss_and_slope(1.0, 2.0),
            ),
            "half": ("half of it", _make_formula_of_loss_and_slope(0.5, 0.5)),
            "logged": ("nothing: it is only reported", _make_formula_of_loss_and_slope(0.0, 0.0)),
        },
        consequence="""With a gradient through both the policy is pulled towards its mirror image
        twice as strongly under the same weight.""",
    ),
    make_detail(
        "symmetry.samples",
        "What are mirrored samples compared with, in the ratio and in the value loss?",
        _MIRRORED
        + """In every state, ``observation``, the action was ``action``. Advantages are 1, other
        losses have no weight, the clip range is wide; samples are mirrored and added. Then only the
        value loss has a weight: values are 0, their targets ``target``, the stored ones
        ``old_value``, and the clip range of values is ``clip_range``. Observed, [2]: minus the
        policy loss; the value loss over that without mirrored samples.""",
        (_MITTAL,),
        {
            "bias": 0.25,
            "observation": 0.5,
            "action": 0.9,
            "target": 1.0,
            "old_value": 3.0,
            "clip_range": 0.2,
        },
        {
            "original": (
                "with the probability of the original action, and with its values",
                lambda i: [0.5 * (1.0 + _compute_mirrored_ratio(i)), 1.0],
            ),
            "own": ("with their own: their ratio is 1", lambda i: [1.0, 1.0]),
            "alone": (
                "with those of the original, which is left out",
                lambda i: [_compute_mirrored_ratio(i), 1.0],
            ),
            "summed": (
                "with those of the original; the loss is a sum of both",
                lambda i: [1.0 + _compute_mirrored_ratio(i), 2.0],
            ),
        },
        consequence="""Mirrored samples pull a policy that is not symmetric, or leave it where it
        is.""",
    ),
)
