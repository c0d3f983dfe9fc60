"""User parameters: their effect and their meaning; the stored next observation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rlregress.catalogue import critics
from rlregress.catalogue.registry import Detail, Formula, Inputs, make_detail


def _make_blend_formula(fraction: float) -> Formula:
    def compute_blended_parameters(inputs: Inputs) -> np.ndarray:
        source, target = np.asarray(inputs["source"]), np.asarray(inputs["target"])
        return (1.0 - fraction) * target + fraction * source

    return compute_blended_parameters


def _make_soft_update_detail(
    id: str, description: str, inputs: Mapping[str, Any], count: int
) -> Detail:
    return make_detail(
        id,
        "Which share does the coefficient of the target update mean?",
        description
        + """The user sets the coefficient, by the name that the framework has for it in this
        scope, to ``coefficient``; one target update runs. """
        + f"Observed, [{count}]: a parameter of each target network after it.",
        (
            "thesis, section 5.2, Target network updating",
            "thesis, section 5.3, Target network updating",
            "thesis, Tables 7 and 8, footnote",
        ),
        {**inputs, "coefficient": 0.2},
        {
            "share_of_source": (
                "the share that comes from the trained network",
                _make_blend_formula(0.2),
            ),
            "share_kept": ("the share that the target network keeps", _make_blend_formula(0.8)),
            "ignored": ("0.005 whatever is set", _make_blend_formula(0.005)),
        },
        consequence="""The same number makes targets that crawl or targets that jump: 0.005 in the
        one meaning is 0.995 in the other.""",
    )


DETAILS: tuple[Detail, ...] = (
    _make_soft_update_detail(
        "sac.target_update.parameter", critics.FILLED_CRITICS, critics.TARGETS_OF_CRITICS, 2
    ),
    _make_soft_update_detail(
        "td3.target_update.parameter", critics.FILLED_ALL, critics.TARGETS_OF_ALL, 3
    ),
    make_detail(
        "td3.target_noise.parameter",
        "Do standard deviation and bound of the target noise arrive where the user sets them?",
        """As in td3.target_noise.law, with action bounds -1 and 1 and the target policy's action
        0. First the standard deviation is set to 5 and the bound to 0.3, then to 0.01 and 0.5.
        ``samples`` draws each. Observed, [2]: the largest |noise| of the first, the standard
        deviation of the second.""",
        ("thesis, section 5.2, Action selection", "thesis, Table 7"),
        {"low": -1.0, "high": 1.0, "squashed": 0.0, "samples": 4000, "seed": 0},
        {
            "parameter": ("both do", lambda i: [0.3, 0.01]),
            "constant": ("0.2 and 0.5 whatever is set", lambda i: [0.5, 0.2]),
            "bound_constant": ("the bound is 0.5 whatever is set", lambda i: [0.5, 0.01]),
            "deviation_constant": ("the deviation is 0.2 whatever is set", lambda i: [0.3, 0.2]),
            "none": ("no noise", lambda i: [0.0, 0.0]),
        },
        tolerance=0.04,
        margin=4.0,
        # Clipping at 0.5 takes 2 % off a standard deviation of 0.2; 4000 draws know it to 1.1 %.
        scales=(0.3, 0.2),
        consequence="A tuned target noise has no effect where the code holds a constant.",
    ),
    make_detail(
        "replay.next_observation",
        "Which next observation is stored with the last step of an episode?",
        """An off-policy training collects ``steps`` transitions in one environment whose
        observation is the number of steps since the reset; step 3 of the first episode is
        truncated, step 2 of the second one terminates. Observed, [2]: the stored next observation
        of the truncated step and of the terminated one.""",
        (
            "thesis, section 5.2, footnote 4",
            "thesis, appendix C.2",
            "The 32 details of PPO, dedicated note, observation 3",
        ),
        {"steps": 5},
        {
            "terminal": ("the true last observation", lambda i: [3.0, 2.0]),
            "terminal_at_truncation": (
                "the true last one at truncations, the reset one at terminations, which are masked",
                lambda i: [3.0, 0.0],
            ),
            "reset": ("the first observation of the next episode", lambda i: [0.0, 0.0]),
            "reset_at_truncation": (
                "the true last one at terminations, the reset one at truncations",
                lambda i: [0.0, 2.0],
            ),
            "previous": ("the observation before the step", lambda i: [2.0, 1.0]),
        },
        consequence="""A truncated step that stores the reset observation is bootstrapped from the
        start of another episode.""",
    ),
)
