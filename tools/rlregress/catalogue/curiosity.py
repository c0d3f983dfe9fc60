"""Random network distillation: rewards for states that a network does not know yet."""

from __future__ import annotations

import numpy as np

from rlregress.catalogue.registry import Detail, Formula, Inputs, make_constant_formula, make_detail
from rlregress.formulas import ppo

_BURDA = "Burda et al. 2018, section 2.3"
_SCHWARKE = "Schwarke et al. 2023, section 3"
_EMBEDDED = """The fixed network says ``fixed`` of every state, the trained one ``predicted``. """
_VECTORS = {"fixed": [3.0, 0.0, 0.0], "predicted": [0.0, 4.0, 12.0]}


def _compute_prediction_errors(inputs: Inputs) -> np.ndarray:
    return np.asarray(inputs["fixed"] - inputs["predicted"])


def _make_clipped_norm_formula(bound: float) -> Formula:
    def compute_clipped_norm(inputs: Inputs) -> float:
        (gradient,) = ppo.clip_gradients_by_joint_norm([np.full(1, inputs["raw_norm"])], bound)
        return min(float(gradient[0]), float(inputs["cap"]))

    return compute_clipped_norm


DETAILS: tuple[Detail, ...] = (
    make_detail(
        "curiosity.reward",
        "Which distance between both networks is the reward?",
        _EMBEDDED
        + """The environment pays 0, a step lasts 1 s, the weight is 1, nothing is normalised.
        Observed, [1]: the reward that is stored.""",
        (_BURDA, _SCHWARKE),
        _VECTORS,
        {
            "norm": ("the Euclidean norm", lambda i: np.linalg.norm(_compute_prediction_errors(i))),
            "mean_squared": (
                "the mean squared error",
                lambda i: np.mean(_compute_prediction_errors(i) ** 2),
            ),
            "sum_squared": (
                "the squared error",
                lambda i: np.sum(_compute_prediction_errors(i) ** 2),
            ),
            "half_squared": (
                "half of it",
                lambda i: np.sum(_compute_prediction_errors(i) ** 2) / 2.0,
            ),
            "none": ("there is none", make_constant_formula(0.0)),
        },
        consequence="""A squared error fades faster than its root where states become known: the
        same weight makes another bonus.""",
    ),
    make_detail(
        "curiosity.weight",
        "Does the duration of a step enter the weight of the reward?",
        _EMBEDDED
        + """The environment pays 0, a step lasts ``duration`` s, the weight is ``weight``.
        Observed, [1]: the reward that is stored, over that of a weight of 1 and of 1 s.""",
        (_SCHWARKE, "documentation of each framework"),
        {**_VECTORS, "weight": 3.0, "duration": 0.5},
        {
            "times_duration": ("it does", lambda i: i["weight"] * i["duration"]),
            "as_set": ("it does not", lambda i: i["weight"]),
            "over_duration": ("it divides", lambda i: i["weight"] / i["duration"]),
        },
        consequence="""A weight that is carried over to another framework, or to a simulation at
        another rate, makes another bonus.""",
    ),
    make_detail(
        "curiosity.normalisation",
        "Do the statistics that scale states and rewards of curiosity follow what is observed?",
        """Both are scaled by the framework, fresh, for rollouts of one step. Everything is observed
        twice: with ``states``, one after the other, and rewards of the same error, and with states
        and an error that are ``factor`` times as large. Observed, [3]: numbers of the second time
        over those of the first, each of the last step: what the network that predicts is given for
        the reward; what it is given for its loss; the reward that is stored.""",
        (_BURDA, "documentation of each framework"),
        {"states": [200.0, 300.0, -100.0, 400.0, 50.0, 600.0], "error": 2.0, "factor": 10.0},
        {
            "follow": ("they do", make_constant_formula(1.0, 1.0, 1.0)),
            "states_fixed": ("those of rewards alone", lambda i: [i["factor"], i["factor"], 1.0]),
            "loss_not_scaled": (
                "they do, but the loss is that of states as they are",
                lambda i: [1.0, i["factor"], 1.0],
            ),
            "rewards_fixed": ("those of states alone", lambda i: [1.0, 1.0, i["factor"]]),
            "fixed": ("they do not", lambda i: [i["factor"]] * 3),
        },
        # a constant is added to deviations
        tolerance=1e-4,
        consequence="""The bonus has the size of the observations, or of an untrained network's
        error: a weight that suits one environment suits no other.""",
    ),
    make_detail(
        "curiosity.loss",
        "Which loss trains the network that predicts?",
        _EMBEDDED + "Observed, [1]: the loss that is differentiated for it.",
        (_BURDA,),
        _VECTORS,
        {
            "mean_squared": (
                "the mean squared error",
                lambda i: np.mean(_compute_prediction_errors(i) ** 2),
            ),
            "sum_squared": (
                "the squared error",
                lambda i: np.sum(_compute_prediction_errors(i) ** 2),
            ),
            "half_squared": (
                "half of it",
                lambda i: np.sum(_compute_prediction_errors(i) ** 2) / 2.0,
            ),
            "norm": ("the Euclidean norm", lambda i: np.linalg.norm(_compute_prediction_errors(i))),
        },
        consequence="The bonus of a state fades sooner or later.",
    ),
    make_detail(
        "curiosity.gradient_clip",
        "Is the gradient of the network that predicts clipped by default?",
        """One minibatch that gives that network a gradient above ``raw_norm``. Observed, [1]: the
        norm of its gradient as its optimiser receives it, or ``cap`` if it is greater.""",
        ("documentation of each framework",),
        {"raw_norm": 100.0, "cap": 3.0},
        {
            "none": ("not clipped", _make_clipped_norm_formula(np.inf)),
            "1": ("to a norm of 1", _make_clipped_norm_formula(1.0)),
            "0.5": ("to a norm of 0.5", _make_clipped_norm_formula(0.5)),
        },
        consequence="One state that is far from all others can spoil the bonus of all of them.",
    ),
    make_detail(
        "curiosity.learning_rate",
        "Does the learning rate of the network that predicts touch that of the policy?",
        """The policy is trained with ``learning_rate``, the network that predicts with
        ``predictor_rate``. Observed, [2]: the learning rates of both optimisers at their steps.""",
        ("documentation of each framework",),
        {"learning_rate": 1e-3, "predictor_rate": 0.02},
        {
            "own": ("each has its own", lambda i: [i["learning_rate"], i["predictor_rate"]]),
            "predictor": ("both have that one", lambda i: [i["predictor_rate"]] * 2),
            "policy": ("both have the policy's", lambda i: [i["learning_rate"]] * 2),
        },
        consequence="""Who switches curiosity on changes the learning rate of the policy as well,
        and compares two things at once.""",
    ),
)
