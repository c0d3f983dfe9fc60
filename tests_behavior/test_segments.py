"""Fixed-length segments: 5 steps each, through episodes of 8.

The example is the one of the PPO implementation details, "a dedicated note to the use of
parallelized environment": which observations are in a segment, and which one is in none.
"""

from __future__ import annotations

from functools import cache, partial

import numpy as np
import pytest

from rlregress.frameworks.base import Adapter
from rlregress.probing.interface import TrainingRequest, Transitions
from rlregress.probing.isolation import shift_seed
from tests_behavior.action_spaces import adapt_actions
from tests_behavior.assertions import assert_stored
from tests_behavior.counter import STEP, FinalAsFirst, ResetAsFinal, StepCounter
from tests_behavior.limit import LimitIs
from tests_behavior.toy_settings import load_setting

pytestmark = pytest.mark.without_cells

OBSERVATIONS = [[0, 1, 2, 3, 4], [5, 6, 7, 0, 1], [2, 3, 4, 5, 6]]
NEXT = [[1, 2, 3, 4, 5], [6, 7, 8, 1, 2], [3, 4, 5, 6, 7]]
ENDS = [[0, 0, 0, 0, 0], [0, 0, 1, 0, 0], [0, 0, 0, 0, 0]]
NEVER = [[0, 0, 0, 0, 0], [0, 0, 0, 0, 0], [0, 0, 0, 0, 0]]
COUNTERS = {limit_is: partial(StepCounter, limit_is=limit_is) for limit_is in LimitIs}
TRUNCATED = COUNTERS[LimitIs.TRUNCATION]


@cache
def collect_segments(framework: Adapter, algorithm: str, make_env, warm_up: int = 0) -> Transitions:
    """Return three segments of five steps in one environment; equal trainings run once."""
    options = load_setting(framework.name, "segments", algorithm)
    changes = {"learning_starts": warm_up} if "learning_starts" in options.hyperparameters else {}
    stored = framework.train.collect_transitions(
        TrainingRequest(
            algorithm=algorithm,
            make_env=lambda: adapt_actions(algorithm, make_env()),
            hyperparameters={**options.hyperparameters, **changes},
            total_steps=15,
            seed=shift_seed(0),
        ),
        1,
    )
    return stored.join_short_segments(5)


def select_steps(observations: np.ndarray | None) -> np.ndarray | None:
    """Return the step counts of the one environment, [segments, steps]."""
    return None if observations is None else observations[:, :, 0, STEP]


def select_flags(field: np.ndarray | None) -> np.ndarray | None:
    """Return the flags of the one environment, [segments, steps]."""
    return None if field is None else field[:, :, 0]


def get_documented_rows(framework: Adapter, algorithm: str, field: str, rows):
    """Return the rows if the field is documented to be stored, else None."""
    stores = load_setting(framework.name, "segments", algorithm).stores
    return rows if field in stores else None


def test_a_segment_goes_on_where_the_one_before_ended(framework, algorithm):
    """Segments are 0-4, then 5, 6, 7, 0, 1, then 2-6: no reset between them, and never an 8."""
    who = f"{framework} {algorithm}"
    stored = collect_segments(framework, algorithm, TRUNCATED)
    assert_stored(who, "observations", select_steps(stored.observations), OBSERVATIONS)
    ends = get_documented_rows(framework, algorithm, "done", ENDS)
    assert_stored(who, "ends of episodes", select_flags(stored.done), ends)


def test_the_final_observation_is_stored_as_next(framework, algorithm):
    """Where next observations are stored, the one of 7 is 8, not the 0 of the reset."""
    who = f"{framework} {algorithm}"
    stored = collect_segments(framework, algorithm, TRUNCATED)
    expected = get_documented_rows(framework, algorithm, "next_observations", NEXT)
    assert_stored(who, "next observations", select_steps(stored.next_observations), expected)


def test_a_truncation_is_not_stored_as_termination(framework, algorithm):
    """Where terminations are stored, a truncated step is none; a terminated one is (control)."""
    who = f"{framework} {algorithm}"
    for limit_is, rows in ((LimitIs.TRUNCATION, NEVER), (LimitIs.TERMINATION, ENDS)):
        stored = collect_segments(framework, algorithm, COUNTERS[limit_is])
        expected = get_documented_rows(framework, algorithm, "terminated", rows)
        terminations = select_flags(stored.terminated)
        assert_stored(f"{who}, limit is a {limit_is.value}", "terminations", terminations, expected)


def test_what_is_collected_before_learning_starts_is_kept(framework, algorithm):
    """Random steps before learning starts are stored like others, unless documented not to be."""
    who = f"{framework} {algorithm}"
    stored = collect_segments(framework, algorithm, TRUNCATED, warm_up=10)
    is_stored = load_setting(framework.name, "segments", algorithm).warm_up_is_stored
    # the warm-up ends with the second segment, after which learning starts
    expected = OBSERVATIONS if is_stored else OBSERVATIONS[1:]
    assert_stored(who, "observations", select_steps(stored.observations), expected)


def test_rewards_are_stored_as_given(framework, algorithm):
    """Rewards are 1, except where the value behind a truncation is documented to be added."""
    who = f"{framework} {algorithm}"
    options = load_setting(framework.name, "segments", algorithm)
    ends = {LimitIs.TRUNCATION} | ({LimitIs.BOTH} if options.value_before_truncation else set())
    for limit_is in LimitIs:
        stored = collect_segments(framework, algorithm, COUNTERS[limit_is])
        expected = ENDS if options.value_in_last_reward and limit_is in ends else NEVER
        changed = select_flags(stored.rewards) != 1.0
        assert_stored(f"{who}, limit is a {limit_is.value}", "changed rewards", changed, expected)


def test_a_final_observation_among_the_observations_is_seen(framework, algorithm):
    """Control: if episodes begin with the 8 of the one before, the observations are not as said."""
    who = f"{framework} {algorithm}"
    stored = collect_segments(framework, algorithm, lambda: FinalAsFirst(StepCounter()))
    with pytest.raises(AssertionError, match=r"found observations .*\[5, 6, 7, 8, 1\]"):
        assert_stored(who, "observations", select_steps(stored.observations), OBSERVATIONS)


def test_a_reset_observation_as_next_is_seen(framework, algorithm):
    """Control: if the last step hands out the 0 of the reset, the next observations say so."""
    who = f"{framework} {algorithm}"
    stored = collect_segments(framework, algorithm, lambda: ResetAsFinal(StepCounter()))
    expected = get_documented_rows(framework, algorithm, "next_observations", NEXT)
    if expected is None:
        # nothing is stored that could be wrong, and what is stored looks as it should
        assert_stored(who, "next observations", stored.next_observations, None)
        assert_stored(who, "observations", select_steps(stored.observations), OBSERVATIONS)
        return
    with pytest.raises(AssertionError, match=r"found next observations .*\[6, 7, 0, 1, 2\]"):
        assert_stored(who, "next observations", select_steps(stored.next_observations), expected)
