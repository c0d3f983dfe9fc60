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
from tests_behavior.action_spaces import task
from tests_behavior.assertions import (
    assert_same_in_each_row,
    assert_same_parameters,
)
from tests_behavior.clock import Clock, Notes
from tests_behavior.clock_trainings import (
    environments_of,
    hyperparameters,
    is_on_policy,
    joined,
    read,
)
from tests_behavior.questions import asked
from tests_behavior.toy_settings import setting

ENVIRONMENTS = 3
#: environment steps of each: two rollouts, or three collections
STEPS = {True: 16, False: 15}


class Doubled(gymnasium.RewardWrapper):
    """Twice the reward."""

    def reward(self, reward: Any) -> float:
        """Return twice the reward."""
        return 2.0 * float(reward)


@cache
def rows_of(framework: Adapter, algorithm: str, doubled: str = "") -> Minibatch:
    """Return the rows of updates that learn nothing, with ``doubled`` of twice the scale.

    On-policy algorithms read two rollouts.
    """
    make = (lambda n: Doubled(Clock(n))) if "rewards" in doubled else Clock
    prepare = (lambda heads: heads.scale_value_outputs(2.0)) if "values" in doubled else None
    on_policy = is_on_policy(framework, algorithm)
    changes = {"gae_lambda": 0.9} if on_policy else {"learning_rate": 0.0}
    environments, steps = environments_of(framework, algorithm, ENVIRONMENTS), STEPS[on_policy]
    return joined(read(framework, algorithm, make, environments, steps, prepare=prepare, **changes))


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
    options = setting(framework.name, "minibatches", algorithm)
    with asked("relations.scale", framework.name, algorithm):
        plain = rows_of(framework, algorithm)
        both = rows_of(framework, algorithm, "rewards, values")
        assert_scaled(who, plain, both, options.standardized_advantages)
    rewards_alone = rows_of(framework, algorithm, "rewards")
    with pytest.raises(AssertionError, match="expected the (returns|advantages|targets)"):
        assert_scaled(who, plain, rewards_alone, options.standardized_advantages)


def sums_of_rewards(
    rows: Minibatch,
    paid: Mapping[tuple[float, float], float],
    ends: Mapping[tuple[float, float], bool],
    discount: float,
    rollout: int,
    value_after_end: bool,
    value_before_end: bool = False,
) -> np.ndarray:
    """Return for every row its discounted rewards to the end of episode or rollout, and the value.

    NaN where the value of what followed was never read.
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
            following = (place[0], float(clock.next_time(np.float64(place[1]))))
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


def returns_of(
    framework: Adapter, algorithm: str, **changes: float
) -> tuple[Minibatch, dict, dict]:
    """Rows, rewards and ends of a training with other hyperparameters."""
    paid: dict[tuple[float, float], float] = {}
    ends: dict[tuple[float, float], bool] = {}
    make = partial(_noted, paid, ends)
    environments = environments_of(framework, algorithm, ENVIRONMENTS)
    steps = STEPS[is_on_policy(framework, algorithm)]
    rows = joined(read(framework, algorithm, lambda n: make(n), environments, steps, **changes))
    return rows, paid, ends


def _noted(paid: dict, ends: dict, number: int) -> Notes:
    return Notes(Clock(number), paid, ends)


@pytest.mark.nightly
@pytest.mark.without_cells("ppo")
def test_lambda_one_is_the_monte_carlo_return(framework, algorithm):
    """With a lambda of 1 returns are all rewards to the end, and the value that is behind it."""
    who = f"{framework} {algorithm}"
    options = setting(framework.name, "minibatches", algorithm)
    given = hyperparameters(framework, algorithm)
    with asked("relations.lambda_one", framework.name, algorithm):
        rows, paid, ends = returns_of(framework, algorithm, gae_lambda=1.0)
        has_value = not options.truncation_is_termination
        expected = sums_of_rewards(
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
    shorter, _, _ = returns_of(framework, algorithm, gae_lambda=0.9)
    assert shorter.returns is not None
    with pytest.raises(AssertionError, match="expected the returns"):
        assert_same_in_each_row(who, "returns", shorter.returns[known], expected[known])


@pytest.mark.nightly
@pytest.mark.without_cells
def test_a_discount_of_zero_leaves_the_reward(framework, algorithm):
    """With a discount of 0 returns and targets are rewards, whatever lambda is."""
    who = f"{framework} {algorithm}"
    on_policy = is_on_policy(framework, algorithm)
    what, given = ("returns", {"gae_lambda": 0.9}) if on_policy else ("targets", {})
    with asked("relations.discount_zero", framework.name, algorithm):
        rows, paid, _ = returns_of(framework, algorithm, **given, discount=0.0)
        expected = np.array(
            [paid[tuple(map(float, observation))] for observation in rows.observations]
        )
        assert_same_in_each_row(who, what, getattr(rows, what), expected)
    other, paid, _ = returns_of(framework, algorithm, **given, discount=0.01)
    expected = np.array(
        [paid[tuple(map(float, observation))] for observation in other.observations]
    )
    with pytest.raises(AssertionError, match=f"expected the {what}"):
        assert_same_in_each_row(who, what, getattr(other, what), expected)


def _whole(framework: Adapter, algorithm: str, total_steps: int = 64) -> TrainingRequest:
    chosen = setting(framework.name, "determinism", algorithm)
    return TrainingRequest(
        algorithm=algorithm,
        make_env=lambda: task(algorithm),
        hyperparameters=chosen.hyperparameters,
        total_steps=total_steps,
        seed=shift_seed(1),
    )


@cache
def at_once(framework: Adapter, algorithm: str, total_steps: int = 64) -> Trained:
    """The whole training, or so many steps of it."""
    return framework.train.train(_whole(framework, algorithm, total_steps))


@pytest.mark.nightly
@pytest.mark.without_cells
@pytest.mark.parametrize("restored", [False, True], ids=["again", "restored"])
def test_two_halves_are_the_whole(framework, algorithm, restored):
    """A training that is continued ends as one that was not interrupted, to the bit."""
    who = f"{framework} {algorithm}"
    with asked(f"relations.{'restored' if restored else 'again'}", framework.name, algorithm):
        try:
            halves = framework.train.train_and_resume(_whole(framework, algorithm), restored)
        except Unsupported as error:
            raise AssertionError(f"expected a way to go on, found none: {error}") from error
        whole = at_once(framework, algorithm).parameters
        assert_same_parameters(who, "whole and halves", whole, halves.parameters)
    half = at_once(framework, algorithm, 32).parameters
    with pytest.raises(AssertionError, match="expected parameters identical"):
        assert_same_parameters(who, "control", whole, half)
