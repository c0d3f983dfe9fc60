"""Distillation: a student that learns a teacher's actions in its own states."""

from __future__ import annotations

import numpy as np

from rlregress.catalogue.registry import Detail, Formula, Inputs, make_detail
from rlregress.formulas import critics

_ROSS = "Ross et al. 2011, algorithm 3.1 (DAgger)"
_DOCUMENTED = "documentation of each framework"


def _make_losses_over_first(distance: str) -> Formula:
    def divide_losses_by_first(inputs: Inputs) -> np.ndarray:
        loss = critics.DISTANCES[distance](np.asarray(inputs["errors"]))
        return np.asarray(loss[1:] / loss[0])

    return divide_losses_by_first


def _make_formula_of_update_counts(*counts: int) -> Formula:
    return lambda i: counts


DETAILS: tuple[Detail, ...] = (
    make_detail(
        "distillation.actions",
        "Whose actions does the environment receive?",
        """The mean action of the student is ``student``, the teacher's is ``teacher``; deviations
        are negligible. Observed, [1]: what the environment receives.""",
        (_ROSS,),
        {"student": 1.0, "teacher": 3.0},
        {
            "student": ("the student's", lambda i: i["student"]),
            "teacher": ("the teacher's", lambda i: i["teacher"]),
            "mixed": ("half of each", lambda i: 0.5 * (i["student"] + i["teacher"])),
        },
        tolerance=1e-3,
        consequence="""A student that is taught in the teacher's states alone does not know what to
        do in those that its own mistakes lead to.""",
    ),
    make_detail(
        "distillation.loss",
        "Which distance between both actions is the loss by default?",
        """For each of ``errors`` in turn the student's action is that far from the teacher's in all
        states; one step of the optimiser for each step of a rollout. L_k: its loss. Observed, [2]:
        L_1 / L_0, L_2 / L_0.""",
        (_DOCUMENTED,),
        {"errors": [0.5, 2.0, 4.0]},
        {
            "squared": ("squared error", _make_losses_over_first("squared")),
            "smooth_l1": (
                "Huber's distance with threshold 1",
                _make_losses_over_first("smooth_l1"),
            ),
            "absolute": ("absolute error", _make_losses_over_first("absolute")),
        },
        consequence="""Large differences dominate what is learnt, or count no more than others.""",
    ),
    make_detail(
        "distillation.gradient",
        "Is a gradient over several steps one of a sum or of a mean?",
        """A step of the optimiser after every ``length`` steps of a rollout of as many, squared
        distance, an error of ``error`` in each. Observed, [1]: the loss that is differentiated.""",
        (_DOCUMENTED,),
        {"length": 3, "error": 2.0},
        {
            "sum": ("of the sum over the steps", lambda i: i["length"] * i["error"] ** 2),
            "mean": ("of the mean over them", lambda i: i["error"] ** 2),
            "half_sum": ("of half the sum", lambda i: 0.5 * i["length"] * i["error"] ** 2),
        },
        consequence="""Where gradients are clipped or the optimiser is not Adam, a longer window
        makes larger steps.""",
    ),
    make_detail(
        "distillation.remainder",
        "What becomes of steps that do not fill a window of the gradient?",
        """Two rollouts of ``rollout`` steps, one epoch each; a step of the optimiser after every
        ``length`` steps. Observed, [2]: steps of the optimiser in each.""",
        (_DOCUMENTED,),
        {"rollout": 5, "length": 2},
        {
            "dropped": ("they train nothing", _make_formula_of_update_counts(2, 2)),
            "carried": ("they count for the next rollout", _make_formula_of_update_counts(2, 3)),
            "shorter": ("they make a shorter window", _make_formula_of_update_counts(3, 3)),
        },
        consequence="""The last steps of every rollout are collected for nothing, always the same
        ones.""",
    ),
)
