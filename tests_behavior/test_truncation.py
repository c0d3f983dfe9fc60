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
from tests_behavior.assertions import assert_each_row_read, assert_one_transition
from tests_behavior.clock import TERMINATED, BeforeAsFinal, Clock, final_of_another, played
from tests_behavior.clock_trainings import (
    environments_of,
    hyperparameters,
    is_on_policy,
    joined,
    read,
)
from tests_behavior.counter import ResetAsFinal
from tests_behavior.limit import LimitIs
from tests_behavior.questions import asked
from tests_behavior.toy_settings import ONE_ENVIRONMENT, setting

pytestmark = pytest.mark.without_cells

#: a further variant of what runs anyway
NIGHTLY = pytest.mark.nightly

BOTH = partial(Clock, limit_is=LimitIs.BOTH)

#: steps of each environment; those of an episode of environment n are 3 + n
STEPS = {True: 16, False: 10}


def found_source(
    framework: Adapter, algorithm: str, make, environments: int, steps: int = 0, **changes
) -> set[str]:
    """Return the possible sources of the value behind an end."""
    on_policy = is_on_policy(framework, algorithm)
    environments = environments_of(framework, algorithm, environments)
    steps = steps or STEPS[on_policy]
    rows = joined(read(framework, algorithm, make, environments, steps, **changes))
    met = played(environments, steps)
    if not on_policy:
        return value_sources.of_rows(rows, met, environments)
    discount = hyperparameters(framework, algorithm)["discount"]
    return value_sources.of_returns(rows, met, discount, environments)


@pytest.mark.parametrize("environments", [pytest.param(1, marks=NIGHTLY), 3])
def test_a_truncated_step_is_worth_its_final_observation(framework, algorithm, environments):
    """The value behind a truncation is that of the episode's own final observation."""
    who = f"{framework} {algorithm}"
    sources = found_source(framework, algorithm, Clock, environments)
    with asked("truncation.source", framework.name, algorithm):
        value_sources.assert_from(who, "a truncation", sources, value_sources.FINAL)


@pytest.mark.parametrize("environments", [pytest.param(1, marks=NIGHTLY), 3])
@pytest.mark.parametrize(
    "make",
    [pytest.param(TERMINATED, id="terminated", marks=NIGHTLY), pytest.param(BOTH, id="both")],
)
def test_no_value_is_behind_a_termination(framework, algorithm, make, environments):
    """Nothing follows a terminated step, whether or not the time limit is met in the same step."""
    who = f"{framework} {algorithm}"
    sources = found_source(framework, algorithm, make, environments)
    question = "truncation.both_flags" if make is BOTH else "truncation.termination"
    with asked(question, framework.name, algorithm):
        value_sources.assert_from(who, "a termination", sources, value_sources.NOTHING)


@pytest.mark.parametrize(
    ("fault", "source"),
    [
        pytest.param(lambda n: ResetAsFinal(Clock(n)), value_sources.RESET, id="reset"),
        pytest.param(
            lambda n: BeforeAsFinal(Clock(n)), value_sources.BEFORE, id="before", marks=NIGHTLY
        ),
        pytest.param(final_of_another, value_sources.ANOTHER, id="another", marks=NIGHTLY),
        pytest.param(TERMINATED, value_sources.NOTHING, id="nothing", marks=NIGHTLY),
    ],
)
def test_a_wrong_source_is_named(framework, algorithm, fault, source):
    """Control: environments that hand out something else as the final observation are seen."""
    who = f"{framework} {algorithm}"
    alone = environments_of(framework, algorithm, 3) == 1
    if alone and source == value_sources.ANOTHER and is_on_policy(framework, algorithm):
        # there is no other environment whose value could be read
        pytest.skip(ONE_ENVIRONMENT)
    sources = found_source(framework, algorithm, fault, 3)
    options = setting(framework.name, "minibatches", algorithm)
    if options.truncation_is_termination or options.value_before_truncation:
        # whatever the final observation is, no value of it is asked
        ends = options.truncation_is_termination or fault is TERMINATED
        documented = value_sources.NOTHING if ends else value_sources.BEFORE
        value_sources.assert_from(who, "a truncation", sources, documented)
        return
    with pytest.raises(AssertionError, match=f"to be of its final .*, found it of {source}$"):
        value_sources.assert_from(who, "a truncation", sources, value_sources.FINAL)


def test_a_truncation_ends_a_rollout(framework, algorithm):
    """A rollout whose last step is truncated is bootstrapped from the final observation, once.

    Episodes of three steps, rollouts of three: every last step of a rollout is a truncated one.
    """
    who = f"{framework} {algorithm}"
    rollout = {"steps": 9, "rollout_steps": 3, "minibatch_size": 3}
    with asked("truncation.rollout_end", framework.name, algorithm):
        sources = found_source(framework, algorithm, Clock, 1, **rollout)
        value_sources.assert_from(who, "a truncation", sources, value_sources.FINAL)
    terminated = found_source(framework, algorithm, TERMINATED, 1, **rollout)
    with pytest.raises(AssertionError, match="found it of nothing"):
        value_sources.assert_from(who, "control", terminated, value_sources.FINAL)


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
    environments = environments_of(framework, algorithm, environments)
    with asked("truncation.wrap_around", framework.name, algorithm):
        size = {"replay_size": capacity * environments}
        rows = read(framework, algorithm, make, environments, steps, **size)[-1]
        met = played(environments, steps)
        options = setting(framework.name, "minibatches", algorithm)
        terminates, reset_is_next = make is TERMINATED, options.reset_after_termination
        assert_one_transition(who, rows, met, terminates, reset_is_next)
        assert len(set(map(tuple, rows.observations))) == capacity * environments
    if environments == 1:
        newest = list(met)[-capacity:]
        assert_each_row_read(who, rows, newest)
        with pytest.raises(AssertionError, match="expected the step of environment 0 at time"):
            assert_each_row_read(who, rows, list(met)[-capacity - 1 :])
    turned = replace(rows, rewards=np.roll(rows.rewards, 1))
    with pytest.raises(AssertionError, match="expected the reward of the step"):
        assert_one_transition(who, turned, met, terminates, reset_is_next)
