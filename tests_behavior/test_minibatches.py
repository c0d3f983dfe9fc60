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
    assert_each_row_read,
    assert_each_row_read_once,
    assert_one_step_returns,
    assert_one_transition,
    assert_same_in_each_row,
)
from tests_behavior.clock import TERMINATED, Clock, RewardOfAnother, final_of_another, played
from tests_behavior.clock_trainings import environments_of, is_on_policy, joined
from tests_behavior.limit import LimitIs
from tests_behavior.toy_settings import ONE_ENVIRONMENT, Setting, setting

pytestmark = pytest.mark.without_cells

ENVIRONMENTS = 3
#: environment steps of each, in all; PPO collects them in two rollouts
STEPS = {True: 16, False: 10}
#: a log-probability is computed again from an action in float32; close to a bound, where the
#: inverse of tanh is steep, it was 0.0002 away in one of ten seeds. Those of two rows differ by 0.1
#: and more.
ROUNDED = 0.01

TRUNCATED = Clock


def setting_of(framework: Adapter, algorithm: str) -> Setting:
    """Return how the algorithm is trained here, and its documented facts."""
    return setting(framework.name, "minibatches", algorithm)


def environments(framework: Adapter, algorithm: str) -> int:
    """Three, or as many as the framework takes for the algorithm."""
    return environments_of(framework, algorithm, ENVIRONMENTS)


def read(framework: Adapter, algorithm: str, make: Callable[[int], Any]) -> tuple[Minibatch, ...]:
    """The minibatches of a short training; the same training is done once."""
    steps = STEPS[is_on_policy(framework, algorithm)]
    number = environments(framework, algorithm)
    assert setting_of(framework, algorithm).total_steps == number * steps
    return clock_trainings.read(framework, algorithm, make, number, steps)


def expected_rows(framework: Adapter, algorithm: str) -> Mapping[tuple[float, float], bool]:
    """(environment, time) -> an episode ends, of every step of the training."""
    number = environments(framework, algorithm)
    return played(number, STEPS[is_on_policy(framework, algorithm)])


def epochs(framework: Adapter, algorithm: str, make: Callable[[int], Any]) -> list[Minibatch]:
    """The minibatches of an on-policy training, epoch by epoch: two of each of the two rollouts."""
    minibatches = read(framework, algorithm, make)
    hyperparameters = setting_of(framework, algorithm).hyperparameters
    rows = environments(framework, algorithm) * hyperparameters["rollout_steps"]
    size = rows // hyperparameters["minibatch_size"]
    joined_epochs = [joined(minibatches[k : k + size]) for k in range(0, len(minibatches), size)]
    assert len(joined_epochs) == 2 * hyperparameters["epochs"]
    return joined_epochs


def assert_right(framework: Adapter, algorithm: str, rows: Minibatch, limit_is: LimitIs) -> None:
    """Assert every documented fact about rows by themselves."""
    __tracebackhide__ = True
    who, options = f"{framework} {algorithm}", setting_of(framework, algorithm)
    steps = expected_rows(framework, algorithm)
    terminates = limit_is is LimitIs.TERMINATION
    assert_one_transition(who, rows, steps, terminates, options.reset_after_termination)
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
    """The advantages of an epoch are the returns less the values, standardized if so documented."""
    __tracebackhide__ = True
    assert rows.returns is not None
    assert rows.values is not None
    expected = rows.returns - rows.values
    if setting_of(framework, algorithm).standardized_advantages:
        expected = (expected - expected.mean()) / expected.std(ddof=1)
    who = f"{framework} {algorithm}"
    assert_same_in_each_row(who, "advantages", rows.advantages, expected)


def test_updates_read_what_is_documented(framework, algorithm):
    """Every minibatch has the documented fields, all of one length, and no others."""
    for minibatch in read(framework, algorithm, TRUNCATED):
        handed = {n: rows for n, rows in vars(minibatch).items() if rows is not None}
        assert sorted(handed) == sorted(setting_of(framework, algorithm).reads)
        size = setting_of(framework, algorithm).hyperparameters["minibatch_size"]
        assert {len(rows) for rows in handed.values()} == {size}


@pytest.mark.parametrize("make", [TRUNCATED, TERMINATED], ids=["truncation", "termination"])
def test_a_row_is_of_one_step_of_one_environment(framework, algorithm, make):
    """Observation, action, reward or return, next observation and end belong together."""
    limit_is = LimitIs.TERMINATION if make is TERMINATED else LimitIs.TRUNCATION
    rows = joined(read(framework, algorithm, make))
    assert_right(framework, algorithm, rows, limit_is)


def test_every_step_of_every_environment_is_read(framework, algorithm):
    """Each epoch reads every row once; 1024 samples of 30 rows read each at least once.

    A row is missed by all samples with a probability of at most 30 * (29 / 30)^1024 < 1e-13.
    """
    who = f"{framework} {algorithm}"
    steps = expected_rows(framework, algorithm)
    if not is_on_policy(framework, algorithm):
        last = read(framework, algorithm, TRUNCATED)[-1]
        assert len(steps) * (1 - 1 / len(steps)) ** len(last.observations) < 1e-13
        assert_each_row_read(who, last, list(steps))
        return
    for number, rows in enumerate(epochs(framework, algorithm, TRUNCATED)):
        assert_each_row_read_once(who, rows, list_rollout_steps(framework, algorithm, number // 2))


def list_rollout_steps(
    framework: Adapter, algorithm: str, number: int
) -> list[tuple[float, float]]:
    """The rows of the first or of the second half of the training."""
    steps, total = list(expected_rows(framework, algorithm)), STEPS[True]
    half = total // 2
    return [s for k, s in enumerate(steps) if (k % total) // half == number]


def test_advantages_are_of_their_rows(framework, algorithm):
    """Advantages are returns less values, row by row, standardized where that is documented."""
    if not is_on_policy(framework, algorithm):
        assert all(
            minibatch.advantages is None for minibatch in read(framework, algorithm, TRUNCATED)
        )
        return
    for rows in epochs(framework, algorithm, TRUNCATED):
        assert_advantages(framework, algorithm, rows)
        assert rows.advantages is not None
        with pytest.raises(AssertionError, match="expected the advantages "):
            assert_advantages(framework, algorithm, replace(rows, advantages=rows.advantages[::-1]))


def test_a_field_of_other_rows_is_seen(framework, algorithm):
    """Control: whichever field is taken from the rows in another order, the rows are not right.

    A field that is alike in all rows has no other order: ten actions of one environment are the
    same one of two for one seed in 500.
    """
    rows = joined(read(framework, algorithm, TERMINATED))
    for name in set(setting_of(framework, algorithm).reads) - {"advantages", "targets"}:
        values = getattr(rows, name)
        if name == "actions" and (values == values[0]).all():
            continue
        turned = replace(rows, **{name: values[::-1]})
        with pytest.raises(AssertionError, match=f"^{framework} {algorithm}: expected "):
            assert_right(framework, algorithm, turned, LimitIs.TERMINATION)


def test_a_reward_of_another_environment_is_seen(framework, algorithm):
    """Control: rewards of the next environment are not those of the rows."""
    rows = joined(read(framework, algorithm, _reward_of_another))
    with pytest.raises(AssertionError, match="expected the (reward|return) of the step of "):
        assert_right(framework, algorithm, rows, LimitIs.TRUNCATION)


def _reward_of_another(number: int) -> RewardOfAnother:
    return RewardOfAnother(Clock(number))


def test_a_final_observation_of_another_environment_is_seen(framework, algorithm):
    """Control: a value or an observation of another environment at the end of an episode shows."""
    rows = joined(read(framework, algorithm, final_of_another))
    options = setting_of(framework, algorithm)
    if options.truncation_is_termination or options.value_before_truncation:
        # nothing is read of the final observation that could be wrong
        assert_right(framework, algorithm, rows, LimitIs.TRUNCATION)
        return
    with pytest.raises(AssertionError, match="expected the (return|next observation) of the step"):
        assert_right(framework, algorithm, rows, LimitIs.TRUNCATION)


def test_an_environment_that_is_never_read_is_seen(framework, algorithm):
    """Control: if all rows are of environment 0, the steps of the others are missed by name."""
    if environments(framework, algorithm) == 1:
        pytest.skip(ONE_ENVIRONMENT)
    rows = read(framework, algorithm, _always_the_first)[-1]
    steps = list(expected_rows(framework, algorithm))
    with pytest.raises(AssertionError, match="expected the step of environment 1 at time"):
        assert_each_row_read("A framework", rows, [s for s in steps if s[0] > 0])


def _always_the_first(number: int) -> Clock:
    return Clock(0)
