"""References of PPO, GAE and initialisation: numbers worked by hand, and reductions."""

from __future__ import annotations

import numpy as np
import pytest

from rlregress.formulas import gae, loops, ppo

RNG = np.random.default_rng(0)

REWARDS = np.array([1.0, 2.0, 4.0])
VALUES = np.array([1.0, 3.0, 5.0])
NEXT_VALUES = np.array([3.0, 5.0, 7.0])
RUNNING = np.zeros(3)
MIDDLE = np.array([0.0, 1.0, 0.0])


def _advantages(terminated: np.ndarray, truncated: np.ndarray, **changed) -> np.ndarray:
    return gae.advantages(REWARDS, VALUES, NEXT_VALUES, terminated, truncated, 0.5, 0.5, **changed)


def test_advantages_of_a_running_episode_by_hand() -> None:
    """Deltas 1.5, 1.5, 2.5; with gamma lambda = 1/4: 2.5, 2.125, 2.03125."""
    np.testing.assert_array_equal(_advantages(RUNNING, RUNNING), [2.03125, 2.125, 2.5])


def test_a_termination_drops_the_next_value_and_cuts_the_chain() -> None:
    """Delta of the middle step is 2 - 3 = -1, and nothing follows it."""
    np.testing.assert_array_equal(_advantages(MIDDLE, RUNNING), [1.25, -1.0, 2.5])


def test_a_truncation_keeps_the_next_value_and_cuts_the_chain() -> None:
    """Delta of the middle step stays 1.5, and nothing follows it."""
    np.testing.assert_array_equal(_advantages(RUNNING, MIDDLE), [1.875, 1.5, 2.5])


def test_a_step_that_is_both_terminated_and_truncated_is_terminal() -> None:
    """No value enters from an episode that has ended."""
    np.testing.assert_array_equal(_advantages(MIDDLE, MIDDLE), _advantages(MIDDLE, RUNNING))


def test_adding_the_discounted_value_to_a_truncated_reward_gives_the_same_advantages() -> None:
    """Reward 2 + 0.5 * 5 and a terminal step: the other way to write a truncation."""
    shaped = REWARDS + 0.5 * NEXT_VALUES * MIDDLE
    found = gae.advantages(shaped, VALUES, NEXT_VALUES, MIDDLE, RUNNING, 0.5, 0.5)
    np.testing.assert_array_equal(found, _advantages(RUNNING, MIDDLE))


def test_lambda_one_is_the_discounted_return_minus_the_value() -> None:
    """A random trajectory that ends in a termination; values inside it telescope."""
    rewards, values = RNG.normal(size=9), RNG.normal(size=9)
    following = np.append(values[1:], RNG.normal())
    end = np.eye(9)[8]
    found = gae.advantages(rewards, values, following, end, np.zeros(9), 0.9, 1.0)
    returns = [np.sum(rewards[t:] * 0.9 ** np.arange(9 - t)) for t in range(9)]
    np.testing.assert_allclose(found, returns - values)


def test_lambda_zero_is_the_one_step_error() -> None:
    """r + gamma V' - V, step by step."""
    found = gae.advantages(REWARDS, VALUES, NEXT_VALUES, RUNNING, RUNNING, 0.5, 0.0)
    np.testing.assert_array_equal(found, [1.5, 1.5, 2.5])


RATIOS = np.array([0.5, 1.0, 2.0, 0.5, 2.0])
ADVANTAGES = np.array([1.0, 1.0, 1.0, -1.0, -1.0])


@pytest.mark.parametrize(
    ("formula", "total"),
    [
        # min: 0.5, 1, 1.2, -0.8, -2
        (ppo.loss_pessimistic, -0.1),
        # 0.5, 1, 2, -0.5, -2
        (ppo.loss_no_clip, 1.0),
        # 0.8, 1, 1.2, -0.8, -1.2
        (ppo.loss_clip_without_minimum, 1.0),
        # max: 0.8, 1, 2, -0.5, -1.2
        (ppo.loss_optimistic, 2.1),
        # mean ratio 1.2 on every sample
        (ppo.loss_mean_ratio, 1.2),
    ],
)
def test_surrogates_by_hand(formula, total: float) -> None:
    """Five samples, clip range 0.2: minus a fifth of the sum of the terms."""
    assert formula(RATIOS, ADVANTAGES, 0.2) == pytest.approx(-total / 5)


@pytest.mark.parametrize(
    "formula",
    [
        ppo.loss_pessimistic,
        ppo.loss_no_clip,
        ppo.loss_clip_without_minimum,
        ppo.loss_optimistic,
        ppo.loss_mean_ratio,
    ],
)
def test_with_ratio_one_every_surrogate_is_minus_the_mean_advantage(formula) -> None:
    """Before the first step nothing is clipped."""
    advantages = RNG.normal(size=12)
    found = formula(np.ones(12), advantages, 0.2)
    assert found == pytest.approx(-np.mean(advantages))


def test_the_pessimistic_loss_bounds_all_others_from_above() -> None:
    """It is the largest loss, so the smallest objective, on random ratios."""
    ratios, advantages = np.exp(RNG.normal(size=50)), RNG.normal(size=50)
    loss = ppo.loss_pessimistic(ratios, advantages, 0.2)
    for other in (ppo.loss_no_clip, ppo.loss_clip_without_minimum, ppo.loss_optimistic):
        assert loss > other(ratios, advantages, 0.2)


def test_normalised_advantages_of_one_and_three() -> None:
    """Mean 2; standard deviation sqrt 2 with divisor n - 1, and 1 with divisor n."""
    pair = np.array([1.0, 3.0])
    np.testing.assert_allclose(ppo.normalise(pair), [-np.sqrt(0.5), np.sqrt(0.5)])
    np.testing.assert_allclose(ppo.normalise(pair, ddof=0), [-1.0, 1.0])
    np.testing.assert_allclose(ppo.normalise(pair, ddof=0, added=1.0), [-0.5, 0.5])
    np.testing.assert_allclose(ppo.normalise(pair, ddof=0, minimum=4.0), [-0.25, 0.25])


@pytest.mark.parametrize(
    ("clip", "expected"),
    [
        ("off", (4 + 9) / 2),
        ("forced", (23.04 + 0.04) / 2),
        ("elementwise_max", (23.04 + 9) / 2),
        ("max_of_sums", (23.04 + 0.04) / 2),
        ("thesis_box3", (7.84 + 7.84) / 2),
    ],
)
def test_clipped_value_losses_by_hand(clip: str, expected: float) -> None:
    """V 3, 8; old 0, 5; return 5; range 0.2: clipped values 0.2 and 5.2."""
    found = ppo.value_loss(
        np.array([3.0, 8.0]), np.array([0.0, 5.0]), np.array([5.0, 5.0]), 0.2, clip
    )
    assert found == pytest.approx(expected)


def test_the_elementwise_maximum_is_never_below_any_other_clip_against_the_return() -> None:
    """On random values; the maximum of sums lies between it and the forced clip."""
    values, old, returns = RNG.normal(size=(3, 40))
    loss = {
        clip: ppo.value_loss(values, old, returns, 0.2, clip)
        for clip in ("off", "forced", "elementwise_max", "max_of_sums")
    }
    assert loss["elementwise_max"] > loss["max_of_sums"] >= max(loss["off"], loss["forced"])


@pytest.mark.parametrize("clip", ["forced", "elementwise_max", "max_of_sums", "thesis_box3"])
def test_a_range_that_never_binds_leaves_the_plain_value_loss(clip: str) -> None:
    """With an infinite range the clipped value is the value."""
    values, old, returns = RNG.normal(size=(3, 6))
    plain = ppo.value_loss(values, old, returns, 0.2, "off")
    assert ppo.value_loss(values, old, returns, np.inf, clip) == pytest.approx(plain)


def test_an_unknown_value_clip_is_an_error() -> None:
    """No silent default."""
    with pytest.raises(ValueError, match="unknown value clip 'sideways'"):
        ppo.value_loss(np.ones(1), np.ones(1), np.ones(1), 0.2, "sideways")


def test_a_joint_norm_is_clipped_without_changing_the_direction() -> None:
    """Gradients 3 and 4 have norm 5: clipped to 0.5 they are a tenth; below 10 they stay."""
    gradients = [np.array([3.0]), np.array([[4.0]])]
    clipped = ppo.clip_joint_norm(gradients, 0.5)
    np.testing.assert_allclose([clipped[0][0], clipped[1][0, 0]], [0.3, 0.4])
    assert ppo.clip_joint_norm(gradients, 10.0)[1][0, 0] == 4.0
    assert ppo.clip_joint_norm([np.zeros(2)], 0.5)[0].tolist() == [0.0, 0.0]


def test_an_orthogonal_matrix_times_a_gain_has_the_gain_as_every_singular_value() -> None:
    """A tall random orthogonal matrix."""
    orthogonal, _ = np.linalg.qr(RNG.normal(size=(6, 3)))
    found = np.linalg.svd(2.0 * orthogonal, compute_uv=False)
    expected = loops.orthogonal_singular_values(np.array([2.0]))
    np.testing.assert_allclose([found.min(), found.max(), 0.0], expected)
