"""Minibatches: each row that updates read is one step of one environment.

What is stored can be right and what is replayed wrong: rows of one field that are no longer beside
the rows of another, an environment that is never sampled, a value behind a truncation that is added
to the row of another environment. Three environments, whose episodes end at different times.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from rlregress.frameworks.base import Adapter
from rlregress.probing.interface import Minibatch
from tests_behavior import clock_trainings
from tests_behavior.assertions import (
    assert_one_step_returns,
    assert_same_in_each_row,
    assert_steps_read,
    assert_steps_read_once,
    assert_transitions,
)
from tests_behavior.clock import TERMINATED, Clock, RewardOfOtherClock, make_swapped, simulate_steps
from tests_behavior.clock_trainings import count_environments, is_on_policy, join_rows
from tests_behavior.limit import LimitIs
from tests_behavior.toy_settings import ONE_ENVIRONMENT, Setting, load_setting

pytestmark = pytest.mark.without_cells

ENVIRONMENTS = 3
#: environment steps of each, in all; PPO collects them in two rollouts
STEPS = {True: 16, False: 10}
#: a log-probability is computed again from an action in float32; close to a bound, where the
#: inverse of tanh is steep, it was 0.0002 away in one of ten seeds. Those of two rows differ by 0.1
#: and more.
ROUNDED = 0.01

TRUNCATED = Clock


def load_options(framework: Adapter, algorithm: str) -> Setting:
    """Return the settings of the algorithm in this file, with its documented facts."""
    return load_setting(framework.name, "minibatches", algorithm)


def count_clocks(framework: Adapter, algorithm: str) -> int:
    """Return 3, or as many environments as the framework takes for the algorithm."""
    return count_environments(framework, algorithm, ENVIRONMENTS)


def read_minibatches(
    framework: Adapter, algorithm: str, make: Callable[[int], Any]
) -> tuple[Minibatch, ...]:
    """Return the minibatches of a short training; equal trainings run once."""
    steps = STEPS[is_on_policy(framework, algorithm)]
    number = count_clocks(framework, algorithm)
    assert load_options(framework, algorithm).total_steps == number * steps
    return clock_trainings.read_minibatches(framework, algorithm, make, number, steps)


def map_expected_steps(framework: Adapter, algorithm: str) -> Mapping[tuple[float, float], bool]:
    """Return (environment, time) -> whether an episode ends, of every step of the training."""
    number = count_clocks(framework, algorithm)
    return simulate_steps(number, STEPS[is_on_policy(framework, algorithm)])


def join_epochs(framework: Adapter, algorithm: str, make: Callable[[int], Any]) -> list[Minibatch]:
    """Return the rows of each epoch of an on-policy training: two epochs for each rollout."""
    minibatches = read_minibatches(framework, algorithm, make)
    hyperparameters = load_options(framework, algorithm).hyperparameters
    rows = count_clocks(framework, algorithm) * hyperparameters["rollout_steps"]
    size = rows // hyperparameters["minibatch_size"]
    joined_epochs = [join_rows(minibatches[k : k + size]) for k in range(0, len(minibatches), size)]
    assert len(joined_epochs) == 2 * hyperparameters["epochs"]
    return joined_epochs


def assert_rows(framework: Adapter, algorithm: str, rows: Minibatch, limit_is: LimitIs) -> None:
    """Assert all documented facts about single rows."""
    __tracebackhide__ = True
    who, options = f"{framework} {algorithm}", load_options(framework, algorithm)
    steps = map_expected_steps(framework, algorithm)
    terminates = limit_is is LimitIs.TERMINATION
    assert_transitions(who, rows, steps, terminates, options.reset_after_termination)
    if not is_on_policy(framework, algorithm):
        return
    ends = terminates or options.truncation_is_termination
    discount = options.hyperparameters["discount"]
    before = options.value_before_truncation
    assert_one_step_returns(who, rows, steps, discount, not ends, value_before_end=before)
    assert_same_in_each_row(
        who, "log-probabilities", rows.log_probs, rows.policy_log_probs, ROUNDED
    )


def assert_advantages(framework: Adapter, algorithm: str, rows: Minibatch) -> None:
    """Assert that advantages are returns minus values, standardized if so documented."""
    __tracebackhide__ = True
    assert rows.returns is not None
    assert rows.values is not None
    expected = rows.returns - rows.values
    if load_options(framework, algorithm).standardized_advantages:
        expected = (expected - expected.mean()) / expected.std(ddof=1)
    who = f"{framework} {algorithm}"
    assert_same_in_each_row(who, "advantages", rows.advantages, expected)


def test_updates_read_what_is_documented(framework, algorithm):
    """Every minibatch has the documented fields, all of one length, and no others."""
    for minibatch in read_minibatches(framework, algorithm, TRUNCATED):
        handed = {n: rows for n, rows in vars(minibatch).items() if rows is not None}
        assert sorted(handed) == sorted(load_options(framework, algorithm).reads)
        size = load_options(framework, algorithm).hyperparameters["minibatch_size"]
        assert {len(rows) for rows in handed.values()} == {size}


@pytest.mark.parametrize("make", [TRUNCATED, TERMINATED], ids=["truncation", "termination"])
def test_a_row_is_of_one_step_of_one_environment(framework, algorithm, make):
    """Observation, action, reward or return, next observation and end belong together."""
    limit_is = LimitIs.TERMINATION if make is TERMINATED else LimitIs.TRUNCATION
    rows = join_rows(read_minibatches(framework, algorithm, make))
    assert_rows(framework, algorithm, rows, limit_is)


def test_every_step_of_every_environment_is_read(framework, algorithm):
    """Each epoch reads every row once; 1024 samples of 30 rows read each at least once.

    A row is missed by all samples with a probability of at most 30 * (29 / 30)^1024 < 1e-13.
    """
    who = f"{framework} {algorithm}"
    steps = map_expected_steps(framework, algorithm)
    if not is_on_policy(framework, algorithm):
        last = read_minibatches(framework, algorithm, TRUNCATED)[-1]
        assert len(steps) * (1 - 1 / len(steps)) ** len(last.observations) < 1e-13
        assert_steps_read(who, last, list(steps))
        return
    for number, rows in enumerate(join_epochs(framework, algorithm, TRUNCATED)):
        assert_steps_read_once(who, rows, list_rollout_steps(framework, algorithm, number // 2))


def list_rollout_steps(
    framework: Adapter, algorithm: str, number: int
) -> list[tuple[float, float]]:
    """Return the steps of the first (``number`` 0) or the second half of the training."""
    steps, total = list(map_expected_steps(framework, algorithm)), STEPS[True]
    half = total // 2
    return [s for k, s in enumerate(steps) if (k % total) // half == number]


def test_advantages_are_of_their_rows(framework, algorithm):
    """Advantages are returns less values, row by row, standardized where that is documented."""
    if not is_on_policy(framework, algorithm):
        assert all(
            minibatch.advantages is None
            for minibatch in read_minibatches(framework, algorithm, TRUNCATED)
        )
        return
    for rows in join_epochs(framework, algorithm, TRUNCATED):
        assert_advantages(framework, algorithm, rows)
        assert rows.advantages is not None
        with pytest.raises(AssertionError, match="expected the advantages "):
            assert_advantages(framework, algorithm, replace(rows, advantages=rows.advantages[::-1]))


def test_a_field_of_other_rows_is_seen(framework, algorithm):
    """Control: whichever field is taken from the rows in another order, the rows are not right.

    A field that is alike in all rows has no other order: ten actions of one environment are the
    same one of two for one seed in 500.
    """
    rows = join_rows(read_minibatches(framework, algorithm, TERMINATED))
    for name in set(load_options(framework, algorithm).reads) - {"advantages", "targets"}:
        values = getattr(rows, name)
        if name == "actions" and (values == values[0]).all():
            continue
        turned = replace(rows, **{name: values[::-1]})
        with pytest.raises(AssertionError, match=f"^{framework} {algorithm}: expected "):
            assert_rows(framework, algorithm, turned, LimitIs.TERMINATION)


def test_a_reward_of_another_environment_is_seen(framework, algorithm):
    """Control: rewards of the next environment are not those of the rows."""
    rows = join_rows(read_minibatches(framework, algorithm, _make_swapped_reward))
    with pytest.raises(AssertionError, match="expected the (reward|return) of the step of "):
        assert_rows(framework, algorithm, rows, LimitIs.TRUNCATION)


def _make_swapped_reward(number: int) -> RewardOfOtherClock:
    return RewardOfOtherClock(Clock(number))


def test_a_final_observation_of_another_environment_is_seen(framework, algorithm):
    """Control: a value or an observation of another environment at the end of an episode shows."""
    rows = join_rows(read_minibatches(framework, algorithm, make_swapped))
    options = load_options(framework, algorithm)
    if options.truncation_is_termination or options.value_before_truncation:
        # nothing is read of the final observation that could be wrong
        assert_rows(framework, algorithm, rows, LimitIs.TRUNCATION)
        return
    with pytest.raises(AssertionError, match="expected the (return|next observation) of the step"):
        assert_rows(framework, algorithm, rows, LimitIs.TRUNCATION)


def test_an_environment_that_is_never_read_is_seen(framework, algorithm):
    """Control: if all rows are of environment 0, the steps of the others are missed by name."""
    if count_clocks(framework, algorithm) == 1:
        pytest.skip(ONE_ENVIRONMENT)
    rows = read_minibatches(framework, algorithm, _make_first_clock)[-1]
    steps = list(map_expected_steps(framework, algorithm))
    with pytest.raises(AssertionError, match="expected the step of environment 1 at time"):
        assert_steps_read("A framework", rows, [s for s in steps if s[0] > 0])


def _make_first_clock(number: int) -> Clock:
    return Clock(0)
