"""Augmented random search: Mania, Guy and Recht 2018."""

from __future__ import annotations

import numpy as np

from rlregress.catalogue.registry import Formula, Inputs, make_detail
from rlregress.formulas import ars

_MANIA = "Mania, Guy and Recht 2018, algorithm 2"
_UPDATE = """One update with four directions, of which ``count`` are used. The returns along them
    are ``plus``, those against them are ``minus``. """
_INPUTS = {"plus": [10.0, 4.0, 3.0, 1.0], "minus": [-8.0, 5.0, -9.0, 6.0], "count": 2}


def _select_used_returns(inputs: Inputs) -> np.ndarray:
    """Return the returns along, then against, the best ``count`` directions, [2 count]."""
    best_directions = ars.mark_best_directions(inputs["plus"], inputs["minus"], inputs["count"])
    return np.concatenate([inputs["plus"][best_directions], inputs["minus"][best_directions]])


def _make_step_factor_formula(return_deviation: Formula) -> Formula:
    return lambda i: ars.compute_step_factor(i["learning_rate"], i["count"], return_deviation(i))


DETAILS = (
    make_detail(
        "ars.directions",
        "Which directions does an update go?",
        _UPDATE + "Observed, [4]: 1.0 for each direction along which parameters change.",
        (_MANIA,),
        _INPUTS,
        {
            "better_return": (
                "those with the largest better return of their two",
                lambda i: ars.mark_best_directions(i["plus"], i["minus"], i["count"]),
            ),
            "plus": (
                "those with the largest return along them",
                lambda i: ars.mark_largest_scores(i["plus"], i["count"]),
            ),
            "mean": (
                "those with the largest mean of their two returns",
                lambda i: ars.mark_largest_scores(i["plus"] + i["minus"], i["count"]),
            ),
            "difference": (
                "those whose two returns differ most",
                lambda i: ars.mark_largest_scores(np.abs(i["plus"] - i["minus"]), i["count"]),
            ),
            "all": ("all", lambda i: np.ones(len(i["plus"]))),
        },
        consequence="""Directions whose both sides fail are followed as well, and their returns make
        the step smaller.""",
    ),
    make_detail(
        "ars.step",
        "What is a step divided by, beside the number of its directions?",
        _UPDATE
        + """The learning rate is ``learning_rate``. Observed, [1]: the change of the parameters
        along a direction that is used, for 1 of return between its two sides.""",
        (_MANIA,),
        # whatever the choice goes by, it is the first two
        {
            "plus": [10.0, 9.0, 1.0, 2.0],
            "minus": [4.0, -1.0, 0.0, 1.0],
            "count": 2,
            "learning_rate": 0.1,
        },
        {
            "used": (
                "the standard deviation of the returns of the used directions, over their number",
                _make_step_factor_formula(lambda i: np.std(_select_used_returns(i))),
            ),
            "used_sample": (
                "the standard deviation of the returns of the used directions, over one less",
                _make_step_factor_formula(lambda i: np.std(_select_used_returns(i), ddof=1)),
            ),
            "every": (
                "the standard deviation of all returns",
                _make_step_factor_formula(lambda i: np.std([i["plus"], i["minus"]])),
            ),
            "every_sample": (
                "the standard deviation of all returns, over one less",
                _make_step_factor_formula(lambda i: np.std([i["plus"], i["minus"]], ddof=1)),
            ),
            "none": ("nothing", _make_step_factor_formula(lambda i: 1.0)),
        },
        consequence="""The size of a step depends on the scale of the rewards, or on directions that
        it does not go.""",
    ),
)
