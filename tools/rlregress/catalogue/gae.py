"""Generalised advantage estimation: thesis, equations 1 and 2 and section 5.1."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rlregress.catalogue.registry import Detail, Formula, Inputs, make_detail
from rlregress.formulas import gae

#: Eight steps of one environment: a termination at t = 2, a truncation at t = 5, and a segment that
#: ends at t = 7 within an episode. Inside an episode next_values[t] is values[t + 1]; at its end
#: it is the value of the true last observation, and values[t + 1] that of the reset.
_INPUTS = {
    "rewards": [1.0, -0.5, 2.0, 0.5, 1.5, -1.0, 0.25, 3.0],
    "values": [0.5, 1.0, -0.5, 2.0, 0.75, 1.25, -1.5, 0.3],
    "next_values": [1.0, -0.5, 4.0, 0.75, 1.25, 5.0, 0.3, -2.5],
    "terminated": [0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0],
    "truncated": [0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0],
    "discount": 0.9,
    "trace": 0.8,
}

_FEED = """One environment, T = 8 steps, arrays [8]: at step t the reward is rewards[t], the
    value of the observation before it values[t], the value of the true next observation
    (before any reset) next_values[t], the flags terminated[t] and truncated[t] (done is their
    disjunction). After a done step the next episode starts in an observation with value
    values[t + 1]; the segment ends at t = 7 inside an episode. gamma is ``discount``, lambda
    is ``trace``. Where values cannot be handed over, let the observation be the number
    values[t] and the value network the identity. No normalisation of advantages. """


def _compute_advantages(inputs: Inputs, **changed: Any) -> np.ndarray:
    arguments = {key: inputs[key] for key in _INPUTS}
    return gae.compute_advantages(**(arguments | changed))


def _compute_end_flags(inputs: Inputs) -> np.ndarray:
    return np.maximum(inputs["terminated"], inputs["truncated"])


def _get_next_stored_values(inputs: Inputs) -> np.ndarray:
    """Return per step the value of the observation stored next; after an end, that of the reset."""
    return np.append(np.asarray(inputs["values"])[1:], np.asarray(inputs["next_values"])[-1])


def _replace_truncated_next_values(inputs: Inputs, values: np.ndarray) -> np.ndarray:
    return np.where(np.asarray(inputs["truncated"]) > 0, values, inputs["next_values"])


def _make_rewards_cancelling_truncated_errors(inputs: Inputs) -> np.ndarray:
    """Return the rewards, changed at truncated steps such that the TD error is 0 there."""
    delta_zero = np.asarray(inputs["values"]) - inputs["discount"] * np.asarray(
        inputs["next_values"]
    )
    return np.where(np.asarray(inputs["truncated"]) > 0, delta_zero, inputs["rewards"])


def _make_bootstrap_mask_without_last(inputs: Inputs) -> np.ndarray:
    bootstraps = 1.0 - np.asarray(inputs["terminated"])
    bootstraps[-1] = 0.0
    return bootstraps


def _compute_value_targets(inputs: Inputs) -> np.ndarray:
    return _compute_advantages(inputs) + inputs["values"]


#: what may enter an advantage where an episode ends
_AT_ENDS: Mapping[str, tuple[str, Formula]] = {
    "bootstrap_truncation": (
        "V of the true next observation at truncations, nothing at terminations",
        _compute_advantages,
    ),
    "truncation_is_terminal": (
        "a truncation counts as a termination",
        lambda i: _compute_advantages(i, bootstraps=1.0 - _compute_end_flags(i)),
    ),
    "bootstrap_everything": (
        "terminations are bootstrapped too",
        lambda i: _compute_advantages(i, bootstraps=np.ones(8)),
    ),
    "chain_not_cut": (
        "the lambda chain runs through a truncation into the next episode",
        lambda i: _compute_advantages(i, continues=1.0 - np.asarray(i["terminated"])),
    ),
    "chain_never_cut": (
        "the lambda chain runs through every end",
        lambda i: _compute_advantages(i, continues=np.ones(8)),
    ),
    "current_value_at_truncation": (
        "V of the current observation at truncations",
        lambda i: _compute_advantages(
            i, next_values=_replace_truncated_next_values(i, i["values"])
        ),
    ),
    "reset_value_at_truncation": (
        "V of the reset observation at truncations",
        lambda i: _compute_advantages(
            i, next_values=_replace_truncated_next_values(i, _get_next_stored_values(i))
        ),
    ),
    "truncation_ignored": (
        "a truncation is no end: V of the reset observation, and the chain runs on",
        lambda i: _compute_advantages(
            i,
            next_values=_replace_truncated_next_values(i, _get_next_stored_values(i)),
            continues=1.0 - np.asarray(i["terminated"]),
        ),
    ),
    "truncated_step_dropped": (
        "delta is 0 at truncations",
        lambda i: _compute_advantages(i, rewards=_make_rewards_cancelling_truncated_errors(i)),
    ),
    "end_not_bootstrapped": (
        "the last step of the segment counts as terminal",
        lambda i: _compute_advantages(i, bootstraps=_make_bootstrap_mask_without_last(i)),
    ),
    "lambda_one": ("lambda is ignored: 1", lambda i: _compute_advantages(i, trace=1.0)),
    "lambda_zero": ("lambda is ignored: 0", lambda i: _compute_advantages(i, trace=0.0)),
    "chain_not_discounted": (
        "the chain decays with lambda, not with gamma lambda",
        lambda i: _compute_advantages(i, trace=i["trace"] / i["discount"]),
    ),
    "current_value_chain_not_cut": (
        "gamma V of the current observation is added to a truncated reward, and no end is seen",
        lambda i: _compute_advantages(
            i,
            rewards=i["rewards"] + i["discount"] * i["truncated"] * i["values"],
            next_values=_replace_truncated_next_values(i, _get_next_stored_values(i)),
            continues=1.0 - np.asarray(i["terminated"]),
        ),
    ),
}

DETAILS: tuple[Detail, ...] = (
    make_detail(
        "gae.truncation",
        "What enters the advantage at a termination, at a truncation and at the segment's end?",
        _FEED
        + """Observed, [8]: the advantages in the order of the steps. (Adding gamma times the
        value of the terminal observation to the reward of a truncated step gives the same
        advantages.)""",
        ("thesis, equations 1 and 2", "thesis, section 5.1", "Schulman et al. 2015"),
        _INPUTS,
        _AT_ENDS,
        consequence=(
            "Advantages before a time limit are wrong by everything that would have followed, or "
            "the chain leaks into the next episode."
        ),
    ),
    make_detail(
        "gae.truncation.asked",
        "And if bootstrapping at time limits is asked for, where it can be?",
        _FEED
        + """The switch for bootstrapping at time limits is on. Observed, [8]: the advantages in the
        order of the steps.""",
        ("Pardo et al. 2018, section 3.1", "documentation of each framework"),
        _INPUTS,
        _AT_ENDS,
        consequence=(
            "Whoever asks for it gets the wrong value, or a chain that leaks into the next episode."
        ),
    ),
    make_detail(
        "gae.value_target",
        "What do the values regress towards?",
        _FEED + "Observed, [8]: the value targets (returns) in the order of the steps.",
        ("thesis, section 3.4.1", "Schulman et al. 2015"),
        _INPUTS,
        {
            "lambda_return": ("advantage plus value", _compute_value_targets),
            "one_step": (
                "r + gamma V(s')",
                lambda i: _compute_advantages(i, trace=0.0) + i["values"],
            ),
            "monte_carlo": (
                "the discounted return, bootstrapped where the episode is cut",
                lambda i: _compute_advantages(i, trace=1.0) + i["values"],
            ),
            "truncation_is_terminal": (
                "advantage plus value, truncations counted as terminations",
                lambda i: (
                    _compute_advantages(i, bootstraps=1.0 - _compute_end_flags(i)) + i["values"]
                ),
            ),
            "current_value_at_truncation": (
                "advantage plus value, V of the current observation at truncations",
                lambda i: (
                    _compute_advantages(
                        i, next_values=_replace_truncated_next_values(i, i["values"])
                    )
                    + i["values"]
                ),
            ),
            "truncation_ignored": (
                "advantage plus value, a truncation being no end",
                lambda i: _AT_ENDS["truncation_ignored"][1](i) + i["values"],
            ),
            "advantage": ("the advantage alone", _compute_advantages),
        },
        consequence="The value network learns another quantity, with more bias or more variance.",
    ),
)
