"""Masked actions: Huang and Ontanon 2022."""

from __future__ import annotations

import numpy as np

from rlregress.catalogue.registry import Detail, Inputs, make_constant_formula, make_detail
from rlregress.formulas import maskable

_HUANG = "Huang and Ontanon 2022, section 4"
_POLICY = """The logits of three actions are ``logits`` in every state; a mask allows those of them
    where ``allowed`` is 1. """
_INPUTS = {"logits": [0.0, 1.0, 2.0], "allowed": [1.0, 1.0, 0.0]}


def _compute_masked_probabilities(inputs: Inputs) -> np.ndarray:
    return maskable.compute_masked_softmax(inputs["logits"], inputs["allowed"])


def _compute_unmasked_probabilities(inputs: Inputs) -> np.ndarray:
    return maskable.compute_masked_softmax(inputs["logits"], np.ones(len(inputs["logits"])))


DETAILS: tuple[Detail, ...] = (
    make_detail(
        "maskable.probabilities",
        "Which probabilities have actions under a mask, and when it is taken away?",
        _POLICY
        + """Observed, [9]: their probabilities under the mask; those of the second of two choices
        with the same logits, under a mask of both that allows all of the first; those of the second
        when the mask was taken away.""",
        (_HUANG, "documentation of each framework"),
        _INPUTS,
        {
            "renormalised": (
                "0 where the mask forbids, a softmax over the others",
                lambda i: (
                    *_compute_masked_probabilities(i),
                    *_compute_masked_probabilities(i),
                    *_compute_unmasked_probabilities(i),
                ),
            ),
            "zeroed": (
                "0 where the mask forbids, the others as without a mask",
                lambda i: (
                    *(_compute_unmasked_probabilities(i) * i["allowed"]),
                    *(_compute_unmasked_probabilities(i) * i["allowed"]),
                    *_compute_unmasked_probabilities(i),
                ),
            ),
            "unmasked": (
                "the same as without a mask",
                lambda i: (*_compute_unmasked_probabilities(i),) * 3,
            ),
            "stays": (
                "0 where the mask forbids, a softmax over the others, also without it",
                lambda i: (*_compute_masked_probabilities(i),) * 3,
            ),
        },
        consequence="""Actions that are not allowed are tried, or log-probabilities of the others
        do not belong to the distribution that they come from.""",
    ),
    make_detail(
        "maskable.entropy",
        "Over which actions is the entropy bonus?",
        _POLICY + "Observed, [1]: the entropy that an update gets, in nats.",
        (_HUANG,),
        _INPUTS,
        {
            "allowed": (
                "over those that the mask allows",
                lambda i: maskable.compute_entropy(_compute_masked_probabilities(i)),
            ),
            "all": (
                "over all, as without a mask",
                lambda i: maskable.compute_entropy(_compute_unmasked_probabilities(i)),
            ),
            "allowed_unmasked": (
                "over those that the mask allows, with their probabilities without it",
                lambda i: maskable.compute_entropy(
                    _compute_unmasked_probabilities(i) * i["allowed"]
                ),
            ),
        },
        consequence="""An entropy over all actions pushes logits about that the mask hides, and is
        larger than that of what the agent does.""",
    ),
    make_detail(
        "maskable.update",
        "Do rollouts and updates see the mask of the environment?",
        """The environment allows the first two of three actions by its method ``action_masks``; the
        logit of the third is ``logit``, those of the others are 0. One rollout of 64 steps and one
        update. Observed, [2]: 1.0 if the third action is taken; 1.0 if its logit has a gradient
        beyond 1e-4 in the update.""",
        (_HUANG,),
        {"logit": 1.0},
        {
            "both": ("both", make_constant_formula(0.0, 0.0)),
            "rollout": ("the rollout alone", make_constant_formula(0.0, 1.0)),
            "neither": ("neither", make_constant_formula(1.0, 1.0)),
        },
        consequence="""Ratios of an update without the masks of its rollout are those of two
        distributions: the clip bounds something else.""",
    ),
    make_detail(
        "maskable.predict",
        "Does the mask hold when a user asks for the best action, and in an evaluation?",
        _POLICY
        + """Observed, [3]: the number of the deterministic action that a user gets with the mask;
        of the one without it; of the one that the framework's evaluation takes by default in an
        environment with that mask.""",
        ("documentation of each framework",),
        _INPUTS,
        {
            "both": ("in both", make_constant_formula(1.0, 2.0, 1.0)),
            "predict_alone": (
                "where it is handed over, not in an evaluation",
                make_constant_formula(1.0, 2.0, 2.0),
            ),
            "evaluation_alone": ("in an evaluation alone", make_constant_formula(2.0, 2.0, 1.0)),
            "neither": ("in neither", make_constant_formula(2.0, 2.0, 2.0)),
        },
        consequence="""A policy is evaluated with actions that it never learnt about: returns are of
        another policy than the one that is trained.""",
    ),
)
