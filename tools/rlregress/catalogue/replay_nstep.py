"""Targets of n steps: windows, discounts and ends of episodes (thesis, section 3.4.1)."""

from __future__ import annotations

from typing import Any

import numpy as np

from rlregress.catalogue.registry import Detail, Formula, Inputs, make_detail
from rlregress.formulas import nstep

_SUTTON = "Sutton and Barto 2018, section 7.1"
_STREAM = {"rewards": [1.0, 2.0, 4.0, 8.0, 16.0, 32.0], "n": 3, "discount": 0.9}
_NO_ENDS = {"terminated": [0.0] * 6, "truncated": [0.0] * 6}
_THIRD = [0.0, 0.0, 1.0, 0.0, 0.0, 0.0]

_FEED = """One environment, 6 steps in a row are collected and stored; step t earns rewards[t]. The
    framework's n-step returns are switched on with ``n`` steps and ``discount``. """


def _sum_discounted_rewards(inputs: Inputs, count: int) -> float:
    return float(np.sum(inputs["discount"] ** np.arange(count) * inputs["rewards"][:count]))


def _compute_nstep_targets(inputs: Inputs, steps: list[int], **changed: Any) -> list[float]:
    arrays = ("rewards", "next_values", "terminated", "truncated", "n", "discount")
    arguments = {key: inputs[key] for key in arrays} | changed
    return [nstep.compute_nstep_target(step=step, **arguments) for step in steps]


def _make_first_targets_formula(**changed: Any) -> Formula:
    return lambda i: _compute_nstep_targets(i, [0, 1, 2], **changed)


def _make_newest_targets_formula(**changed: Any) -> Formula:
    return lambda i: _compute_nstep_targets(i, [4, 5], **changed)


def _compute_targets_around_ring(inputs: Inputs) -> list[float]:
    """Return targets of steps 4 and 5 whose windows go around the ring: step 2 follows step 5."""
    order = {4: [4, 5, 2], 5: [5, 2, 3]}
    ring = {
        step: {
            key: inputs[key][slots] for key in ("rewards", "next_values", "terminated", "truncated")
        }
        for step, slots in order.items()
    }
    return [
        nstep.compute_nstep_target(step=0, n=inputs["n"], discount=inputs["discount"], **ring[step])
        for step in (4, 5)
    ]


def _compute_targets_with_full_discount(inputs: Inputs) -> list[float]:
    """Return targets of shortened windows, with the next value discounted by all n steps."""
    factor = inputs["discount"] ** inputs["n"]
    value = inputs["next_values"][5]
    short = _compute_nstep_targets(inputs, [4, 5], next_values=np.zeros(6))
    return [y + factor * value for y in short]


_ENDING = """Step 2 ends an episode. Step t leads to an observation of value next_values[t] (at the
    end to the true last one, before any reset). Observed, [3]: the targets of the steps 0, 1 and
    2; 0 for a step that is stored nowhere."""
_NEXT_VALUES = [3.0, 7.0, 5.0, 11.0, 13.0, 17.0]


def _compute_first_target_and_zeros(inputs: Inputs) -> list[float]:
    return [_compute_nstep_targets(inputs, [0])[0], 0.0, 0.0]


DETAILS: tuple[Detail, ...] = (
    make_detail(
        "nstep.window",
        "Which rewards does an n-step target sum, and whose value does it bootstrap from?",
        _FEED
        + """No episode ends; step t leads from the observation t to the observation t + 1.
        Let y(V) be the target of step 0 where the value of an observation s is V(s) (with the
        policy's entropy term, if there is one, switched off). Observed, [2]: y(0); and the number
        of the observation that it bootstraps from, (y(V = s) - y(0)) / (y(V = 1) - y(0)).""",
        ("thesis, section 3.4.1", _SUTTON),
        _STREAM,
        {
            "n_rewards": (
                "n discounted rewards, then the observation n steps on",
                lambda i: [_sum_discounted_rewards(i, 3), 3.0],
            ),
            "n_plus_one": (
                "n + 1 rewards, then the observation n + 1 steps on",
                lambda i: [_sum_discounted_rewards(i, 4), 4.0],
            ),
            "n_minus_one": (
                "n - 1 rewards, then the observation n - 1 steps on",
                lambda i: [_sum_discounted_rewards(i, 2), 2.0],
            ),
            "one_step": ("n is ignored", lambda i: [_sum_discounted_rewards(i, 1), 1.0]),
            "undiscounted": (
                "the rewards are summed without discount",
                lambda i: [np.sum(i["rewards"][:3]), 3.0],
            ),
            "discounted_once_more": (
                "the first reward is discounted already",
                lambda i: [i["discount"] * _sum_discounted_rewards(i, 3), 3.0],
            ),
            "own_next_observation": (
                "n rewards, but the observation one step on",
                lambda i: [_sum_discounted_rewards(i, 3), 1.0],
            ),
        },
        tolerance=1e-4,
        consequence="""A window that is not what n says changes bias and variance of every target:
        runs with the same n are not comparable.""",
    ),
    make_detail(
        "nstep.discount",
        "How often is the bootstrap value of an n-step target discounted?",
        _FEED
        + """No episode ends. Let y(V) be the target of step 0 where every observation has value V.
        Observed, [1]: y(1) - y(0).""",
        ("thesis, section 3.4.1", _SUTTON),
        _STREAM,
        {
            "n_times": ("gamma^n", lambda i: i["discount"] ** 3),
            "once": ("gamma", lambda i: i["discount"]),
            "n_minus_one_times": ("gamma^(n - 1)", lambda i: i["discount"] ** 2),
            "n_plus_one_times": ("gamma^(n + 1)", lambda i: i["discount"] ** 4),
            "never": ("1", lambda i: 1.0),
        },
        tolerance=1e-4,
        consequence="""A value that is discounted once after n rewards is too large by a factor of
        gamma^(1 - n): the fixed point of the critic grows, up to divergence.""",
    ),
    make_detail(
        "nstep.terminal",
        "Does a termination inside the window of an n-step target remove the bootstrap value?",
        _FEED + "The end is a termination. " + _ENDING,
        ("thesis, section 3.4.1", _SUTTON),
        _STREAM | {"next_values": _NEXT_VALUES, "terminated": _THIRD, "truncated": [0.0] * 6},
        {
            "masked": (
                "yes: rewards up to the termination, no value",
                _make_first_targets_formula(),
            ),
            "unmasked": (
                "only of the step that terminates itself: the steps before it bootstrap from the "
                "value of the terminal observation",
                _make_first_targets_formula(masked_by="own"),
            ),
            "never_masked": (
                "no: every one bootstraps from the terminal observation",
                _make_first_targets_formula(masked_by="none"),
            ),
            "runs_on": (
                "windows run on into the next episode",
                _make_first_targets_formula(masked_by="last", crosses_ends=True),
            ),
            "runs_on_masked": (
                "windows run on into the next episode, without its value",
                _make_first_targets_formula(masked_by="any", crosses_ends=True),
            ),
            "one_step": (
                "the targets are one-step targets, whatever n is",
                _make_first_targets_formula(n=1),
            ),
            "late_steps_dropped": (
                "yes, and the last n - 1 steps of an episode are not stored at all",
                _compute_first_target_and_zeros,
            ),
        },
        consequence="""Where a termination is not masked, the critic learns to expect value after
        the end of an episode: falling over no longer costs what it should.""",
    ),
    make_detail(
        "nstep.truncation",
        "What does an n-step target hold whose window meets a truncation?",
        _FEED + "The end is a truncation (a time limit). " + _ENDING,
        ("thesis, section 3.4.1", "thesis, section 5.2, Truncation", "Pardo et al. 2018"),
        _STREAM | {"next_values": _NEXT_VALUES, "terminated": [0.0] * 6, "truncated": _THIRD},
        {
            "bootstrap": (
                "a shorter window that bootstraps from the true last observation",
                _make_first_targets_formula(),
            ),
            "terminal": (
                "a truncation counts as a termination",
                lambda i: _compute_nstep_targets(i, [0, 1, 2], terminated=i["truncated"]),
            ),
            "runs_on": (
                "windows run on into the next episode",
                _make_first_targets_formula(crosses_ends=True),
            ),
            "one_step": (
                "the targets are one-step targets, whatever n is",
                _make_first_targets_formula(n=1),
            ),
            "late_steps_dropped": (
                "bootstraps, and the last n - 1 steps of an episode are not stored at all",
                _compute_first_target_and_zeros,
            ),
        },
        consequence="""A truncation that counts as an end teaches that the time limit is a cliff; a
        window that runs on mixes the rewards of two episodes.""",
    ),
    make_detail(
        "nstep.newest_steps",
        "What is the n-step target of the newest steps, whose window is not complete?",
        _FEED
        + """No episode ends; a replay buffer has room for ``capacity`` steps, so that the newest
        step is followed by the oldest one in memory. Step t leads to an observation of value
        next_values[t]. Observed, [2]: the targets of the steps 4 and 5, the last two; 0 for a step
        that is stored nowhere.""",
        (_SUTTON, "docstring of NStepReplayBuffer"),
        _STREAM | _NO_ENDS | {"next_values": _NEXT_VALUES, "capacity": 4},
        {
            "shortened": (
                "a shorter window, discounted as often as it is long",
                _make_newest_targets_formula(),
            ),
            "full_discount": (
                "a shorter window, discounted n times",
                _compute_targets_with_full_discount,
            ),
            "terminal": (
                "the rewards that there are, no value",
                lambda i: _compute_nstep_targets(i, [4, 5], next_values=np.zeros(6)),
            ),
            "reads_oldest": (
                "the window runs on into the oldest steps",
                _compute_targets_around_ring,
            ),
            "one_step": ("a one-step target, whatever n is", _make_newest_targets_formula(n=1)),
            "not_stored": ("they are stored once their window is complete", lambda i: [0.0, 0.0]),
        },
        consequence="""A window that runs on into the oldest steps of the buffer adds rewards that
        have nothing to do with the step.""",
    ),
    make_detail(
        "nstep.custom_buffer",
        "Is n kept when the user names the class of the replay buffer?",
        _FEED
        + """No episode ends. The class of the plain replay buffer is passed explicitly beside n.
        Every value is 0. Observed, [1]: the target of step 0.""",
        ("docstring of OffPolicyAlgorithm (replay_buffer_class)",),
        _STREAM,
        {
            "kept": ("n rewards", lambda i: _sum_discounted_rewards(i, 3)),
            "ignored": (
                "one reward: n is ignored, or there is none",
                lambda i: _sum_discounted_rewards(i, 1),
            ),
        },
        consequence="Who passes a buffer class gets one-step targets while the settings say n.",
    ),
)
