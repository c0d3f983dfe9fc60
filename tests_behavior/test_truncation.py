"""The source of the value behind the end of an episode, told by the observations themselves.

The clock's observations say who stepped and when. The final observation of an episode, the one of
the reset, the one before the last step and those of another environment are four different ones.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from rlregress.frameworks.base import Adapter
from tests_behavior import value_sources
from tests_behavior.assertions import assert_steps_read, assert_transitions
from tests_behavior.clock import TERMINATED, Clock, PreviousAsFinal, make_swapped, simulate_steps
from tests_behavior.clock_trainings import (
    count_environments,
    is_on_policy,
    join_rows,
    load_hyperparameters,
    read_minibatches,
)
from tests_behavior.counter import ResetAsFinal
from tests_behavior.limit import LimitIs
from tests_behavior.questions import expect_answer
from tests_behavior.toy_settings import ONE_ENVIRONMENT, load_setting

pytestmark = pytest.mark.without_cells

#: a further variant of what runs anyway
NIGHTLY = pytest.mark.nightly

BOTH = partial(Clock, limit_is=LimitIs.BOTH)

#: steps of each environment; those of an episode of environment n are 3 + n
STEPS = {True: 16, False: 10}


def find_sources(
    framework: Adapter, algorithm: str, make, environments: int, steps: int = 0, **changes
) -> set[str]:
    """Return the possible sources of the value after an end."""
    on_policy = is_on_policy(framework, algorithm)
    environments = count_environments(framework, algorithm, environments)
    steps = steps or STEPS[on_policy]
    rows = join_rows(read_minibatches(framework, algorithm, make, environments, steps, **changes))
    met = simulate_steps(environments, steps)
    if not on_policy:
        return value_sources.find_next_sources(rows, met, environments)
    discount = load_hyperparameters(framework, algorithm)["discount"]
    return value_sources.find_return_sources(rows, met, discount, environments)


@pytest.mark.parametrize("environments", [pytest.param(1, marks=NIGHTLY), 3])
def test_a_truncated_step_is_worth_its_final_observation(framework, algorithm, environments):
    """The value behind a truncation is that of the episode's own final observation."""
    who = f"{framework} {algorithm}"
    sources = find_sources(framework, algorithm, Clock, environments)
    with expect_answer("truncation.source", framework.name, algorithm):
        value_sources.assert_source(who, "a truncation", sources, value_sources.FINAL)


@pytest.mark.parametrize("environments", [pytest.param(1, marks=NIGHTLY), 3])
@pytest.mark.parametrize(
    "make",
    [pytest.param(TERMINATED, id="terminated", marks=NIGHTLY), pytest.param(BOTH, id="both")],
)
def test_no_value_is_behind_a_termination(framework, algorithm, make, environments):
    """Nothing follows a terminated step, whether or not the time limit is met in the same step."""
    who = f"{framework} {algorithm}"
    sources = find_sources(framework, algorithm, make, environments)
    question = "truncation.both_flags" if make is BOTH else "truncation.termination"
    with expect_answer(question, framework.name, algorithm):
        value_sources.assert_source(who, "a termination", sources, value_sources.NOTHING)


@pytest.mark.parametrize(
    ("fault", "source"),
    [
        pytest.param(lambda n: ResetAsFinal(Clock(n)), value_sources.RESET, id="reset"),
        pytest.param(
            lambda n: PreviousAsFinal(Clock(n)), value_sources.BEFORE, id="before", marks=NIGHTLY
        ),
        pytest.param(make_swapped, value_sources.ANOTHER, id="another", marks=NIGHTLY),
        pytest.param(TERMINATED, value_sources.NOTHING, id="nothing", marks=NIGHTLY),
    ],
)
def test_a_wrong_source_is_named(framework, algorithm, fault, source):
    """Control: environments that hand out something else as the final observation are seen."""
    who = f"{framework} {algorithm}"
    alone = count_environments(framework, algorithm, 3) == 1
    if alone and source == value_sources.ANOTHER and is_on_policy(framework, algorithm):
        # there is no other environment whose value could be read
        pytest.skip(ONE_ENVIRONMENT)
    sources = find_sources(framework, algorithm, fault, 3)
    options = load_setting(framework.name, "minibatches", algorithm)
    if options.truncation_is_termination or options.value_before_truncation:
        # whatever the final observation is, no value of it is asked
        ends = options.truncation_is_termination or fault is TERMINATED
        documented = value_sources.NOTHING if ends else value_sources.BEFORE
        value_sources.assert_source(who, "a truncation", sources, documented)
        return
    with pytest.raises(AssertionError, match=f"to be of its final .*, found it of {source}$"):
        value_sources.assert_source(who, "a truncation", sources, value_sources.FINAL)


def test_a_truncation_ends_a_rollout(framework, algorithm):
    """A rollout whose last step is truncated is bootstrapped from the final observation, once.

    Episodes of three steps, rollouts of three: every last step of a rollout is a truncated one.
    """
    who = f"{framework} {algorithm}"
    rollout = {"steps": 9, "rollout_steps": 3, "minibatch_size": 3}
    with expect_answer("truncation.rollout_end", framework.name, algorithm):
        sources = find_sources(framework, algorithm, Clock, 1, **rollout)
        value_sources.assert_source(who, "a truncation", sources, value_sources.FINAL)
    terminated = find_sources(framework, algorithm, TERMINATED, 1, **rollout)
    with pytest.raises(AssertionError, match="found it of nothing"):
        value_sources.assert_source(who, "control", terminated, value_sources.FINAL)


@pytest.mark.parametrize("environments", [1, pytest.param(3, marks=NIGHTLY)])
@pytest.mark.parametrize(
    "make",
    [pytest.param(Clock, id="truncated"), pytest.param(TERMINATED, id="terminated", marks=NIGHTLY)],
)
def test_a_full_buffer_holds_whole_rows(framework, algorithm, make, environments):
    """Rows that are written over older ones belong together, at the ends of episodes too.

    Of ten steps a buffer holds six: one that wrote a field of a row elsewhere would pair it with
    one of a step that is long forgotten.
    A row is missed by 1024 samples of 18 rows with a probability below 1e-23.
    """
    who = f"{framework} {algorithm}"
    steps, capacity = STEPS[False], 6
    environments = count_environments(framework, algorithm, environments)
    with expect_answer("truncation.wrap_around", framework.name, algorithm):
        size = {"replay_size": capacity * environments}
        rows = read_minibatches(framework, algorithm, make, environments, steps, **size)[-1]
        met = simulate_steps(environments, steps)
        options = load_setting(framework.name, "minibatches", algorithm)
        terminates, reset_is_next = make is TERMINATED, options.reset_after_termination
        assert_transitions(who, rows, met, terminates, reset_is_next)
        assert len(set(map(tuple, rows.observations))) == capacity * environments
    if environments == 1:
        newest = list(met)[-capacity:]
        assert_steps_read(who, rows, newest)
        with pytest.raises(AssertionError, match="expected the step of environment 0 at time"):
            assert_steps_read(who, rows, list(met)[-capacity - 1 :])
    turned = replace(rows, rewards=np.roll(rows.rewards, 1))
    with pytest.raises(AssertionError, match="expected the reward of the step"):
        assert_transitions(who, turned, met, terminates, reset_is_next)
