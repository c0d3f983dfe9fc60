"""The critic's two numbers: against returns computed by hand, and where the value is known."""

from __future__ import annotations

import numpy as np
import pytest

from rlregress import frameworks
from rlregress.inside.critic import (
    CriticAccuracy,
    compare_critic_with_returns,
    compute_discounted_returns,
    compute_negative_log_error,
)
from rlregress.inside.evaluation import Episode, Evaluator
from rlregress.probing.interface import TrainingRequest
from tests_behavior.limit import LimitIs
from tests_behavior.ring import Ring
from tests_behavior.toy_settings import load_setting

DISCOUNT = 0.5


def episode(rewards, terminated: bool, first: float = 0.0) -> Episode:
    """Return an episode whose observations count its steps, from ``first``."""
    observations = [np.array([first + step]) for step in range(len(rewards) + 1)]
    return Episode(observations, list(rewards), terminated, sum(rewards))


def critic_of(*values: float):
    """Return a critic that knows the value of each step."""
    return lambda observations: np.array(values)[observations[:, 0].astype(int)]


@pytest.mark.parametrize(
    ("terminated", "expected"), [(True, [2.75, 3.5, 3.0]), (False, [3.75, 5.5, 7.0])]
)
def test_returns_are_discounted(terminated, expected):
    """Nothing follows the end; a time limit cuts off the value of the final observation."""
    returns = compute_discounted_returns(
        episode([1.0, 2.0, 3.0], terminated), DISCOUNT, final_value=8.0
    )
    assert returns.tolist() == expected


@pytest.mark.parametrize(
    ("values", "explained", "bias"),
    [
        ((2.75, 3.5, 3.0), 1.0, 0.0),
        ((2.75 + 0.3118, 3.5 + 0.3118, 3.0 + 0.3118), 1.0, 1.0),
        ((0.0, 0.0, 0.0), 0.0, -9.89),
    ],
    ids=["right", "shifted", "zero"],
)
def test_two_numbers_of_a_critic(values, explained, bias):
    """Explained variance sees the shape of the values alone, the bias their level alone."""
    accuracy = compare_critic_with_returns(
        [episode([1.0, 2.0, 3.0], True)], critic_of(*values, np.nan), DISCOUNT
    )
    assert accuracy.states == 3
    assert accuracy.explained_variance == pytest.approx(explained, abs=1e-3)
    assert accuracy.bias == pytest.approx(bias, abs=1e-2)


def test_the_final_observation_of_a_terminated_episode_is_not_read():
    """A value that is no number does no harm where nothing follows, and is seen where it does."""
    critic = critic_of(2.75, 3.5, 3.0, np.nan)
    assert (
        compare_critic_with_returns(
            [episode([1.0, 2.0, 3.0], True)], critic, DISCOUNT
        ).explained_variance
        == 1.0
    )
    cut_off = compare_critic_with_returns([episode([1.0, 2.0, 3.0], False)], critic, DISCOUNT)
    assert (cut_off.explained_variance, cut_off.bias, cut_off.finite) == (None, None, False)


def test_returns_that_do_not_vary_and_values_that_are_no_numbers():
    """The former cannot be compared, the latter are the largest error; without a critic is none."""
    endless = [episode([1.0] * 4, terminated=False)]
    accuracy = compare_critic_with_returns(
        endless, lambda observations: np.full(len(observations), 2.0), DISCOUNT
    )
    assert (accuracy.explained_variance, accuracy.bias, accuracy.finite) == (None, None, True)
    assert np.isnan(compute_negative_log_error(accuracy))
    ruined = compare_critic_with_returns(
        [episode([1.0, 2.0], True)], critic_of(1.0, np.inf, np.nan), DISCOUNT
    )
    assert compute_negative_log_error(ruined) == pytest.approx(-np.log(100.0))
    assert np.isnan(compute_negative_log_error(None))


@pytest.mark.parametrize(
    ("explained", "bias", "error"),
    [(0.64, 0.8, 1.0), (1.0 + 1e-15, 0.003, 0.01), (-1e300, 1e200, 100.0), (-np.inf, 0.0, 100.0)],
)
def test_one_number_judges_a_critic(explained, bias, error):
    """Its error in standard deviations of the returns, from 0.01 to 100, and the logarithm."""
    critic = CriticAccuracy(10, 0.0, explained, bias)
    assert critic.error == pytest.approx(error)
    assert compute_negative_log_error(critic) == pytest.approx(-np.log(error))


def test_the_weight_of_the_critics_own_value_is_stated():
    """It is the discount to the steps that are left, over truncated and terminated episodes."""
    critic = critic_of(1.0, 2.0, 3.0)
    both = [episode([1.0, 2.0], False), episode([1.0, 2.0], True)]
    assert compare_critic_with_returns(both, critic, DISCOUNT).bootstrapped == pytest.approx(
        (0.25 + 0.5 + 0 + 0) / 4
    )


def _trained(adapter, algorithm):
    settings = load_setting(adapter.name, "time_limit", algorithm)
    request = TrainingRequest(
        algorithm=algorithm,
        make_env=lambda: Ring(LimitIs.TERMINATION),
        hyperparameters=settings.hyperparameters,
        total_steps=settings.total_steps,
        seed=0,
    )
    return adapter.train.train(request), settings.hyperparameters["discount"]


CASES = [
    pytest.param(adapter, name, id=f"{adapter.full_name}-{name}")
    for adapter in frameworks.list_installed_adapters() for name in adapter.framework.algorithms
]  # fmt: skip


# at every commit tests_behavior compares the values of trained critics with those of the ring
@pytest.mark.nightly
@pytest.mark.parametrize(("adapter", "algorithm"), CASES)
def test_a_trained_critic_predicts_the_returns_of_the_ring(adapter, algorithm):
    """A trained critic predicts the known value; a constant one does not."""
    trained, discount = _trained(adapter, algorithm)
    evaluator = Evaluator(lambda: Ring(LimitIs.TERMINATION), episodes=2)
    episodes = evaluator.play_episodes(trained.policy)
    accuracy = compare_critic_with_returns(episodes, trained.value, discount)
    assert accuracy.states == 16
    assert accuracy.bootstrapped == 0.0
    largest = 1 / (1 - discount)
    assert accuracy.explained_variance > 0.8, accuracy
    # the bias is in standard deviations of the returns
    assert abs(accuracy.bias * accuracy.spread) < 0.1 * largest, accuracy
    endless = compare_critic_with_returns(episodes, lambda x: np.full(len(x), largest), discount)
    assert endless.bias * endless.spread > 0.1 * largest
    assert endless.explained_variance == pytest.approx(0.0, abs=1e-9)
