"""Relations between trainings that need no known result.

Half and half is the whole; twice the rewards and twice the values are twice the advantages, or
twice the target of an action value; a lambda of 1 sums all rewards; a discount of 0 leaves one.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, partial
from typing import Any

import gymnasium
import numpy as np
import pytest

from rlregress.frameworks.base import Adapter
from rlregress.probing.interface import Minibatch, Trained, TrainingRequest, Unsupported
from rlregress.probing.isolation import shift_seed
from tests_behavior import clock
from tests_behavior.action_spaces import make_task
from tests_behavior.assertions import assert_same_in_each_row, assert_same_parameters
from tests_behavior.clock import Clock, StepRecorder
from tests_behavior.clock_trainings import (
    count_environments,
    is_on_policy,
    join_rows,
    load_hyperparameters,
    read_minibatches,
)
from tests_behavior.questions import expect_answer
from tests_behavior.toy_settings import load_setting

ENVIRONMENTS = 3
#: environment steps of each: two rollouts, or three collections
STEPS = {True: 16, False: 15}


class DoubledRewards(gymnasium.RewardWrapper):
    """Doubles the rewards of an environment."""

    def reward(self, reward: Any) -> float:
        return 2.0 * float(reward)


@cache
def collect_rows(framework: Adapter, algorithm: str, doubled: str = "") -> Minibatch:
    """Return rows of updates that learn nothing; ``doubled`` names "rewards" and "values".

    On-policy algorithms read two rollouts.
    """
    make = (lambda n: DoubledRewards(Clock(n))) if "rewards" in doubled else Clock
    prepare = (lambda heads: heads.scale_value_outputs(2.0)) if "values" in doubled else None
    on_policy = is_on_policy(framework, algorithm)
    changes = {"gae_lambda": 0.9} if on_policy else {"learning_rate": 0.0}
    environments, steps = count_environments(framework, algorithm, ENVIRONMENTS), STEPS[on_policy]
    return join_rows(
        read_minibatches(
            framework, algorithm, make, environments, steps, prepare=prepare, **changes
        )
    )


def assert_scaled(who: str, plain: Minibatch, scaled: Minibatch, standardized: bool) -> None:
    """Assert that returns and advantages, or targets, of ``scaled`` are twice ``plain``."""
    __tracebackhide__ = True
    assert np.array_equal(plain.observations, scaled.observations)
    if plain.targets is not None:
        assert_same_in_each_row(who, "targets", scaled.targets, 2.0 * plain.targets)
        return
    assert plain.returns is not None
    assert plain.advantages is not None
    factor = 1.0 if standardized else 2.0
    assert_same_in_each_row(who, "returns", scaled.returns, 2.0 * plain.returns)
    assert_same_in_each_row(who, "advantages", scaled.advantages, factor * plain.advantages)


@pytest.mark.without_cells
def test_twice_the_scale_is_twice_the_advantage(framework, algorithm):
    """Twice the rewards and values double returns, advantages, targets; standardized ones stay."""
    who = f"{framework} {algorithm}"
    options = load_setting(framework.name, "minibatches", algorithm)
    with expect_answer("relations.scale", framework.name, algorithm):
        plain = collect_rows(framework, algorithm)
        both = collect_rows(framework, algorithm, "rewards, values")
        assert_scaled(who, plain, both, options.standardized_advantages)
    rewards_alone = collect_rows(framework, algorithm, "rewards")
    with pytest.raises(AssertionError, match="expected the (returns|advantages|targets)"):
        assert_scaled(who, plain, rewards_alone, options.standardized_advantages)


def compute_returns_to_end(
    rows: Minibatch,
    paid: Mapping[tuple[float, float], float],
    ends: Mapping[tuple[float, float], bool],
    discount: float,
    rollout: int,
    value_after_end: bool,
    value_before_end: bool = False,
) -> np.ndarray:
    """Return for each row its discounted rewards to the end of episode or rollout, plus the value.

    NaN if the value of the next observation was never read.
    """
    assert rows.values is not None
    values = {
        tuple(map(float, place)): float(value)
        for place, value in zip(rows.observations, rows.values, strict=True)
    }
    sums: dict[tuple[float, ...], float] = {}
    for number in range(ENVIRONMENTS):
        own = sorted(place for place in paid if place[0] == number)
        for k in range(len(own) - 1, -1, -1):
            place = own[k]
            following = (place[0], float(clock.get_next_time(np.float64(place[1]))))
            if ends[place] and value_before_end:
                behind = values[place]
            elif ends[place]:
                behind = values.get(following, np.nan) if value_after_end else 0.0
            elif k % rollout == rollout - 1:
                behind = values.get(following, np.nan)
            else:
                behind = sums[own[k + 1]]
            sums[place] = paid[place] + discount * behind
    return np.array([sums[tuple(map(float, place))] for place in rows.observations])


def collect_rows_and_rewards(
    framework: Adapter, algorithm: str, **changes: float
) -> tuple[Minibatch, dict, dict]:
    """Return rows, rewards and ends of a training with other hyperparameters."""
    paid: dict[tuple[float, float], float] = {}
    ends: dict[tuple[float, float], bool] = {}
    make = partial(_make_recorded_clock, paid, ends)
    environments = count_environments(framework, algorithm, ENVIRONMENTS)
    steps = STEPS[is_on_policy(framework, algorithm)]
    rows = join_rows(
        read_minibatches(framework, algorithm, lambda n: make(n), environments, steps, **changes)
    )
    return rows, paid, ends


def _make_recorded_clock(paid: dict, ends: dict, number: int) -> StepRecorder:
    return StepRecorder(Clock(number), paid, ends)


@pytest.mark.two_algorithms_by_day
@pytest.mark.without_cells("ppo")
def test_lambda_one_is_the_monte_carlo_return(framework, algorithm):
    """With a lambda of 1 returns are all rewards to the end, and the value that is behind it."""
    who = f"{framework} {algorithm}"
    options = load_setting(framework.name, "minibatches", algorithm)
    given = load_hyperparameters(framework, algorithm)
    with expect_answer("relations.lambda_one", framework.name, algorithm):
        rows, paid, ends = collect_rows_and_rewards(framework, algorithm, gae_lambda=1.0)
        has_value = not options.truncation_is_termination
        expected = compute_returns_to_end(
            rows,
            paid,
            ends,
            given["discount"],
            given["rollout_steps"],
            has_value,
            options.value_before_truncation,
        )
        known = ~np.isnan(expected)
        assert known.mean() > 0.5
        assert rows.returns is not None
        assert_same_in_each_row(who, "returns", rows.returns[known], expected[known])
    shorter, _, _ = collect_rows_and_rewards(framework, algorithm, gae_lambda=0.9)
    assert shorter.returns is not None
    with pytest.raises(AssertionError, match="expected the returns"):
        assert_same_in_each_row(who, "returns", shorter.returns[known], expected[known])


@pytest.mark.two_algorithms_by_day
@pytest.mark.without_cells
def test_a_discount_of_zero_leaves_the_reward(framework, algorithm):
    """With a discount of 0 returns and targets are rewards, whatever lambda is."""
    who = f"{framework} {algorithm}"
    on_policy = is_on_policy(framework, algorithm)
    what, given = ("returns", {"gae_lambda": 0.9}) if on_policy else ("targets", {})
    with expect_answer("relations.discount_zero", framework.name, algorithm):
        rows, paid, _ = collect_rows_and_rewards(framework, algorithm, **given, discount=0.0)
        expected = np.array(
            [paid[tuple(map(float, observation))] for observation in rows.observations]
        )
        assert_same_in_each_row(who, what, getattr(rows, what), expected)
    other, paid, _ = collect_rows_and_rewards(framework, algorithm, **given, discount=0.01)
    expected = np.array(
        [paid[tuple(map(float, observation))] for observation in other.observations]
    )
    with pytest.raises(AssertionError, match=f"expected the {what}"):
        assert_same_in_each_row(who, what, getattr(other, what), expected)


def _request_whole(framework: Adapter, algorithm: str, total_steps: int = 64) -> TrainingRequest:
    chosen = load_setting(framework.name, "determinism", algorithm)
    return TrainingRequest(
        algorithm=algorithm,
        make_env=lambda: make_task(algorithm),
        hyperparameters=chosen.hyperparameters,
        total_steps=total_steps,
        seed=shift_seed(1),
    )


@cache
def train_at_once(framework: Adapter, algorithm: str, total_steps: int = 64) -> Trained:
    """Train without interruption, for all steps or ``total_steps``."""
    return framework.train.train(_request_whole(framework, algorithm, total_steps))


@pytest.mark.two_algorithms_by_day
@pytest.mark.without_cells
@pytest.mark.parametrize("restored", [False, True], ids=["again", "restored"])
def test_two_halves_are_the_whole(framework, algorithm, restored):
    """A training that is continued ends as one that was not interrupted, to the bit."""
    who = f"{framework} {algorithm}"
    with expect_answer(
        f"relations.{'restored' if restored else 'again'}", framework.name, algorithm
    ):
        try:
            halves = framework.train.train_and_resume(
                _request_whole(framework, algorithm), restored
            )
        except Unsupported as error:
            raise AssertionError(f"expected a way to go on, found none: {error}") from error
        whole = train_at_once(framework, algorithm).parameters
        assert_same_parameters(who, "whole and halves", whole, halves.parameters)
    half = train_at_once(framework, algorithm, 32).parameters
    with pytest.raises(AssertionError, match="expected parameters identical"):
        assert_same_parameters(who, "control", whole, half)
