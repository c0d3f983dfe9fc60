"""Traps in the estimation of advantages: special cases, switches and stored values."""

from __future__ import annotations

import numpy as np

from rlregress.catalogue.registry import Detail, Inputs, make_detail
from rlregress.formulas import gae

_STEP = {"reward": 1.0, "value": 2.0, "next_value": 5.0, "discount": 0.9}


def _compute_td_errors(inputs: Inputs) -> np.ndarray:
    zeros = np.zeros(len(inputs["rewards"]))
    return gae.compute_advantages(
        inputs["rewards"],
        inputs["values"],
        inputs["next_values"],
        zeros,
        zeros,
        inputs["discount"],
        0.0,
    )


def _make_full_mask_normalisation_detail() -> Detail:
    def normalise_last_advantage(inputs: Inputs, ddof: int) -> float:
        a = np.asarray(inputs["advantages"])
        return float((a[-1] - a.mean()) / a.std(ddof=ddof))

    return make_detail(
        "advantage.masked_normalisation",
        "Does a mask of valid steps that marks all of them leave the normalisation as it is?",
        """The loss normalises the ``advantages`` of one minibatch, once without a mask and once
        with a mask of valid steps that are all valid. Observed, [2]: the normalised advantage of
        the last sample, without and with the mask.""",
        ("the 32 details, general 7",),
        {"advantages": [1.0, 2.0, 3.0, 10.0], "ratio": 1.15},
        {
            "same_unbiased": (
                "yes: the unbiased standard deviation in both",
                lambda i: [normalise_last_advantage(i, 1), normalise_last_advantage(i, 1)],
            ),
            "same_biased": (
                "yes: the biased standard deviation in both",
                lambda i: [normalise_last_advantage(i, 0), normalise_last_advantage(i, 0)],
            ),
            "biased_with_mask": (
                "no: unbiased without a mask, biased with one",
                lambda i: [normalise_last_advantage(i, 1), normalise_last_advantage(i, 0)],
            ),
        },
        tolerance=1e-4,
        consequence="Small minibatches get larger advantages with a mask than without one.",
    )


DETAILS: tuple[Detail, ...] = (
    make_detail(
        "gae.lambda_zero",
        "Are advantages one-step TD errors when lambda is 0?",
        """One environment, 3 steps inside an episode: rewards[t], value values[t] before and
        next_values[t] after the step, ``discount``; lambda is 0. Where there are several
        implementations of the recursion, the vectorised one is asked for. Observed, [4]: 1 if an
        error is raised, else 0; then the advantages (0 after an error), not normalised.""",
        ("Schulman et al. 2015, equation 17", "A Bag of Tricks, GAE"),
        {
            "rewards": [1.0, -0.5, 2.0],
            "values": [0.5, 1.0, -0.5],
            "next_values": [1.0, -0.5, 4.0],
            "discount": 0.9,
        },
        {
            "td_errors": ("yes", lambda i: [0.0, *_compute_td_errors(i)]),
            "error": ("an error is raised", lambda i: [1.0, 0.0, 0.0, 0.0]),
            "rewards_minus_values": (
                "the next value is lost too",
                lambda i: [0.0, *(i["rewards"] - i["values"])],
            ),
        },
        consequence="The one-step actor-critic cannot be had by setting lambda.",
    ),
    make_detail(
        "gae.reset_env",
        "Which value stands for the lost next observation where environments reset themselves?",
        """One truncated step: reward ``reward``, value ``value`` before it, ``next_value`` of the
        observation that is stored as the next one, ``discount``. The switch of the estimator for
        environments that reset themselves is on. Observed, [1]: the advantage.""",
        ("thesis, equation 2", "docstring of GAE (auto_reset_env)"),
        _STEP,
        {
            "current_value": (
                "the value of the observation before the step",
                lambda i: i["reward"] + i["discount"] * i["value"] - i["value"],
            ),
            "next_value": (
                "the value of what is stored",
                lambda i: i["reward"] + i["discount"] * i["next_value"] - i["value"],
            ),
            "none": (
                "none: the truncation counts as a termination",
                lambda i: i["reward"] - i["value"],
            ),
        },
        consequence="""V(s) in the place of V(s') biases the advantage of every truncated step by
        gamma (V(s) - V(s')).""",
    ),
    make_detail(
        "gae.kernel",
        "Which implementation of the recursion runs by default, the loop or the vectorised one?",
        """An estimator with default settings is called on one segment. Observed, [1]: 1 if the
        vectorised function ran, 0 if the one with a loop over the steps did.""",
        ("docstring of GAE (vectorized)",),
        {"discount": 0.9, "trace": 0.8},
        {"vectorised": ("the vectorised one", lambda i: 1.0), "loop": ("the loop", lambda i: 0.0)},
        consequence="""The loop takes time in proportion to the length of the rollout; the results
        agree.""",
    ),
    make_detail(
        "gae.stored_values",
        "Do values that were stored with the steps enter the advantage, or does the critic say "
        "anew what they are?",
        """One terminating step with ``reward``. The value that was stored when it was collected
        is ``value``; meanwhile the critic says ``next_value`` of every observation. Observed,
        [1]: the advantage, from one call of the estimator with default settings.""",
        ("thesis, section 5.1", "docstring of GAE (note on value_key)"),
        _STEP,
        {
            "stored": ("the stored ones", lambda i: i["reward"] - i["value"]),
            "recomputed": ("the critic's of now", lambda i: i["reward"] - i["next_value"]),
        },
        consequence="""Recomputed values change the advantages from epoch to epoch and cost another
        pass of the network; values that a user has stored are silently overwritten.""",
    ),
    _make_full_mask_normalisation_detail(),
)
