"""References: numbers worked by hand, each beside how it comes about."""

from __future__ import annotations

import numpy as np
import pytest

from rlregress.formulas import action_transforms as actions
from rlregress.formulas import (
    critics,
    gae,
    gaussians,
    maskable,
    normalisation,
    normaliser,
    ppo,
    quantiles,
    sac,
    schedules,
    td3,
    trpo,
)

LOG_2 = np.log(2.0)
#: errors 2, 0 of one network and 1, 1 of the other
ERRORS = np.array([[2.0, 0.0], [1.0, -1.0]])
TWO_NETWORKS = np.array([[3.0, 0.0], [1.0, 5.0]])
Q = np.array([[3.0], [1.0]])
HEAD = np.array([-100.0, 0.0, 100.0])
CRITICS = {
    "sum of mean squared errors": (lambda: critics.compute_critic_loss(ERRORS, np.zeros(2)), 3.0),
    "half of it": (lambda: critics.compute_critic_loss(ERRORS, np.zeros(2), factor=0.5), 1.5),
    "mean of networks": (lambda: critics.compute_critic_loss(ERRORS, np.zeros(2), networks="mean"),
    1.5),
    "largest network": (lambda: critics.compute_critic_loss(ERRORS, np.zeros(2), networks="max"),
    2.0),
    "sum of samples": (lambda: critics.compute_critic_loss(ERRORS, np.zeros(2), samples="sum"),
    6.0),
    "Huber: half the square below 1, linear above": (
        lambda: critics.compute_smooth_l1(np.array([0.5, -1.0, 3.0])), [0.125, 0.5, 2.5]),
    "squared": (lambda: critics.compute_squared_error(np.array([0.5, -1.0, 3.0])),
    [0.25, 1.0, 9.0]),
    # reward 1, next value 2, discount 0.5: a running, a terminated and a truncated step
    **{
        f"target without next value: {mask}": (
            lambda mask=mask: critics.compute_td_target(
                np.ones(3), np.full(3, 2.0), 0.5, [0, 1, 0], [0, 0, 1], mask),
            expected)
        for mask, expected in {
            "terminated": [2, 1, 2], "done": [2, 1, 1], "nothing": [2, 2, 2],
            "everything": [1, 1, 1], "truncated": [2, 2, 1],
        }.items()
    },
    **{
        f"two networks, two samples: {name}": (
            lambda name=name: critics.reduce_over_networks(TWO_NETWORKS, name), expected)
        for name, expected in {
            "min": [1, 0], "max": [3, 5], "mean": [2, 2.5], "first": [3, 0], "second": [1, 5],
        }.items()
    },
    "from -1 towards 3 by a quarter": (lambda: critics.update_target_softly(3.0, -1.0, 0.25), 0.0),
    "the flipped one": (lambda: critics.update_target_with_flipped_tau(3.0, -1.0, 0.25), 2.0),
}  # fmt: skip
SAC_AND_TD3 = {
    # r 1, Q 4, log pi -2, alpha 0.5, gamma 0.5
    "entropy inside: 1 + 0.5 (4 + 1)": (
        lambda: sac.compute_target_with_entropy_inside(1.0, 4.0, -2.0, 0.5, 0.5), 3.5),
    "entropy outside: 1 + 2 + 1": (
        lambda: sac.compute_target_with_entropy_outside(1.0, 4.0, -2.0, 0.5, 0.5), 4.0),
    "entropy -3 is below the target -1: descent raises log alpha by 2": (
        lambda: sac.compute_temperature_gradient(0.0, np.array([3.0]), -1.0, "log_alpha"), -2.0),
    "actor: 0.5 * 2 - min(3, 1)": (lambda: sac.compute_actor_loss(Q, np.array([2.0]), 0.5), 0.0),
    "actor, first network: 1 - 3": (
        lambda: sac.compute_actor_loss(Q, np.array([2.0]), 0.5, "first"), -2.0),
    "the clamp is the identity inside": (lambda: sac.clamp_log_std(HEAD), [-20.0, 0.0, 2.0]),
    "tanh: the midpoint at 0": (lambda: sac.rescale_log_std_by_tanh(HEAD), [-5.0, -1.5, 2.0]),
    "biased softplus: its floor, 1 at 0, linear far up": (
        lambda: np.exp(sac.compute_log_std_by_softplus(
            np.array([-100.0, 0.0, 50.0]), bias_for_one=True, floor=0.01)),
        [0.01, 1.0, 50.0 + np.log(np.exp(0.99) - 1.0) + 0.01]),
    "plain softplus: log 2 at 0, clamped at 1e-4": (
        lambda: np.exp(sac.compute_log_std_by_softplus(
            np.array([0.0, -100.0]), bias_for_one=False, floor=0.0)),
        [LOG_2, 1e-4]),
    "exact correction at 10: 2 (log 2 - 10) + 2 log 2, up to e^-20": (
        lambda: sac.compute_exact_tanh_correction(np.array(10.0)), 2 * LOG_2 - 20.0),
    "epsilon inside saturates: log 1e-6": (
        lambda: sac.compute_tanh_correction_epsilon_inside(np.array([20.0])), [np.log(1e-6)]),
    "ranges 8 and 2: -log 4 - log 1": (
        lambda: sac.compute_log_prob_change_by_unscaling(
            np.array([-2.0, -1.0]), np.array([6.0, 1.0])),
        -np.log(4.0)),
    "the unit interval": (
        lambda: sac.compute_log_prob_change_by_unscaling(np.array([-1.0]), np.array([1.0])), 0.0),
    "the first network by default": (lambda: td3.compute_actor_loss(Q), -3.0),
    "the smaller network": (lambda: td3.compute_actor_loss(Q, "min"), -1.0),
    "delay 2: at 2 and 4": (lambda: td3.mark_delayed_updates(4, 2), [0, 1, 0, 1]),
    "delay 2 from the first on": (lambda: td3.mark_delayed_updates(4, 2, 1), [1, 0, 1, 0]),
    "delay 1: always": (lambda: td3.mark_delayed_updates(3, 1), [1, 1, 1]),
}  # fmt: skip
ACTIONS = {
    "in units of half the range, from the centre": (
        lambda: actions.scale_action_to_unit([-2.0, 2.0, 4.0], -2.0, 6.0), [-1.0, 0.0, 0.5]),
    "bounds, centre 2, and 4": (
        lambda: actions.unscale_action_to_bounds([-1.0, 0.0, 0.5, 1.0], -2.0, 6.0), [-2, 2, 4, 6]),
    "tanh: the bound, and the centre": (
        lambda: actions.squash_and_unscale([100.0, 0.0], -2.0, 6.0), [6.0, 2.0]),
    "clip: the bound, and 0": (lambda: actions.clip_to_bounds([100.0, 0.0], -2.0, 6.0), [6.0, 0.0]),
    "a centre inside of the tanh moves 0 from 2": (
        lambda: actions.squash_with_centre_added_twice(0.0, -2.0, 6.0), 2.0 + 4.0 * np.tanh(2.0)),
    "noise of 0.25 in half ranges of 4": (
        lambda: actions.add_noise_before_unscaling(0.0, 0.25, -2.0, 6.0), 3.0),
    "the same in the units of the environment": (
        lambda: actions.add_noise_after_unscaling(0.0, 0.25, -2.0, 6.0), 2.25),
    "on [-1, 1] both are the same": (lambda: [
        explore(0.0, 0.25, -1.0, 1.0)
        for explore in (actions.add_noise_before_unscaling, actions.add_noise_after_unscaling)],
        [0.25, 0.25]),
    "a large noise is clipped": (lambda: actions.add_noise_before_unscaling(0.0, 5.0, -2.0, 6.0),
    6.0),
    "or is not": (lambda: actions.add_noise_before_unscaling(0.0, 5.0, -2.0, 6.0, clip=False),
    22.0),
    "nor in units": (lambda: actions.add_noise_after_unscaling(0.0, 5.0, -2.0, 6.0, clip=False),
    7.0),
}  # fmt: skip

RUNNING, MIDDLE = np.zeros(3), np.array([0.0, 1.0, 0.0])
RATIOS = np.array([0.5, 1.0, 2.0, 0.5, 2.0])
PAIR = np.array([1.0, 3.0])


def advantages(terminated=RUNNING, truncated=RUNNING, gae_lambda=0.5):
    """Return those of three steps, whose deltas are 1.5, 1.5 and 2.5 where nothing ends."""
    rewards, values = np.array([1.0, 2.0, 4.0]), np.array([1.0, 3.0, 5.0])
    return gae.compute_advantages(
        rewards, values, values + 2.0, terminated, truncated, 0.5, gae_lambda
    )


def surrogate(formula):
    """Return minus the sum of the terms of five samples with clip range 0.2."""
    return -5 * formula(RATIOS, np.array([1.0, 1.0, 1.0, -1.0, -1.0]), 0.2)


def clipped_joint(largest, *gradients):
    """Return the gradients, each of one number, once their joint norm is clipped."""
    arrays = [np.array(gradient) for gradient in gradients]
    return [float(clipped[0]) for clipped in ppo.clip_gradients_by_joint_norm(arrays, largest)]


ON_POLICY = {
    "gamma lambda 1/4": (advantages, [2.03125, 2.125, 2.5]),
    "a termination drops the next value and cuts": (lambda: advantages(MIDDLE), [1.25, -1.0, 2.5]),
    "a truncation keeps it and cuts": (lambda: advantages(RUNNING, MIDDLE), [1.875, 1.5, 2.5]),
    "both is terminal": (lambda: advantages(MIDDLE, MIDDLE), [1.25, -1.0, 2.5]),
    "lambda 0 is one step": (lambda: advantages(gae_lambda=0.0), [1.5, 1.5, 2.5]),
    "0.5 + 1 + 1.2 - 0.8 - 2": (lambda: surrogate(ppo.compute_pessimistic_loss), -0.1),
    "0.5 + 1 + 2 - 0.5 - 2": (lambda: surrogate(ppo.compute_loss_without_clip), 1.0),
    "0.8 + 1 + 1.2 - 0.8 - 1.2": (lambda: surrogate(ppo.compute_loss_without_minimum), 1.0),
    "0.8 + 1 + 2 - 0.5 - 1.2": (lambda: surrogate(ppo.compute_optimistic_loss), 2.1),
    "a mean ratio of 1.2 on every sample": (lambda: surrogate(ppo.compute_loss_of_mean_ratio), 1.2),
    "standardised with divisor n - 1": (lambda: ppo.normalise_advantages(PAIR),
    [-(0.5**0.5), 0.5**0.5]),
    "with n": (lambda: ppo.normalise_advantages(PAIR, ddof=0), [-1.0, 1.0]),
    "with 1 added": (lambda: ppo.normalise_advantages(PAIR, ddof=0, std_epsilon=1.0), [-0.5, 0.5]),
    "with at least 4": (lambda: ppo.normalise_advantages(PAIR, ddof=0, minimum=4.0), [-0.25, 0.25]),
    # V 3, 8; old 0, 5; return 5; range 0.2: clipped values 0.2 and 5.2
    **{
        f"value loss: {clip}": (
            lambda clip=clip: ppo.compute_value_loss(
                np.array([3.0, 8.0]), np.array([0.0, 5.0]), np.array([5.0, 5.0]), 0.2, clip),
            expected)
        for clip, expected in {
            "off": (4 + 9) / 2, "forced": (23.04 + 0.04) / 2, "elementwise_max": (23.04 + 9) / 2,
            "max_of_sums": (23.04 + 0.04) / 2, "thesis_box3": (7.84 + 7.84) / 2,
        }.items()
    },
    "a norm of 5 is clipped to 0.5": (lambda: clipped_joint(0.5, [3.0], [4.0]), [0.3, 0.4]),
    "and stays below 10": (lambda: clipped_joint(10.0, [3.0], [4.0]), [3.0, 4.0]),
    "no gradient stays none": (lambda: clipped_joint(0.5, [0.0]), [0.0]),
    # three rollouts of two updates
    "constant": (lambda: schedules.make_constant_schedule(3, 2), [1.0] * 6),
    "linear by rollout": (
        lambda: schedules.make_linear_schedule_by_rollout(3, 2),
        [1, 1, 2 / 3, 2 / 3, 1 / 3, 1 / 3]),
    "one rollout later": (
        lambda: schedules.make_linear_schedule_by_rollout(3, 2, 1.0),
        [2 / 3, 2 / 3, 1 / 3, 1 / 3, 0, 0]),
    "to zero": (lambda: schedules.make_linear_schedule_to_zero(3, 2), [1, 1, 0.5, 0.5, 0, 0]),
    "linear by update": (
        lambda: schedules.make_linear_schedule_by_update(3, 2),
        [1, 5 / 6, 4 / 6, 3 / 6, 2 / 6, 1 / 6]),
    "divided above its band, multiplied below": (
        lambda: schedules.compute_adaptive_learning_rate_factors(
            np.array([0.03, 0.015, 0.004]), 0.01, 2.0, 2.0), [0.5, 0.5, 1]),
    "never multiplied": (
        lambda: schedules.compute_adaptive_learning_rate_factors(
            np.array([0.03, 0.015, 0.004]), 0.01, 2.0, 2.0, can_rise=False),
        [0.5] * 3),
    "k1, k2, k3 of the ratios 1/2 and 2": (
        lambda: [schedules.estimate_kl(np.array([0.5, 2.0]), name) for name in ("k1", "k2", "k3")],
        [0.0, LOG_2**2 / 2, 0.25]),
    # steps and evaluations of three epochs of two minibatches
    **{
        f"stopped {place}": (
            lambda place=place: [schedules.count_updates_until_early_stop(s, 3, 2,
            place) for s in (True, False)],
            [expected, (6, 6)])
        for place, expected in {
            "before_step": (0, 1), "before_step_this_epoch": (0, 3), "after_step": (1, 1),
            "after_epoch": (2, 2), "never": (6, 6),
        }.items()
    },
}  # fmt: skip

X = np.array([1.0, 2.0, 3.0, 10.0])
MOMENTS = normalisation.Statistics(np.array([4.0]), np.array([3.0]))
ENDS = np.array([0.0, 1.0, 0.0])
NORMALISATION = {
    "means of 1, 2, 3, 10": (
        lambda: normalisation.compute_cumulative_statistics(X, prior_count=0.0).mean,
                             [1.0, 1.5, 2.0, 4.0]),
    "squares 9 + 4 + 1 + 36": (
        lambda: normalisation.compute_cumulative_statistics(X, prior_count=0.0).variance[[0, -1]],
        [0.0, 12.5]),
    "divided by one less": (
        lambda: normalisation.compute_cumulative_statistics(X, prior_count=0.0,
        ddof=1).variance[-1], 50.0 / 3.0),
    "decay 1/2: weights 1/4, 1/2, 1": (
        lambda: [moments[2] for moments in normalisation.compute_decayed_statistics(X, 0.5)],
        [4.25 / 1.75, 11.25 / 1.75 - (4.25 / 1.75) ** 2]),
    "uncorrected, of one number: x^2 - 0.1 x^2": (
        lambda: normalisation.compute_statistics_without_bias_correction(X, 0.9).variance[0], 0.9),
    "(6 - 4) / sqrt(3 + 1)": (
        lambda: normalisation.standardise_by_statistics([6.0], MOMENTS, epsilon=1.0), [1]),
    "a variance of at least 16": (lambda: normalisation.standardise_by_statistics(
        [6.0], MOMENTS, epsilon=0.0, min_variance=16.0), [0.5]),
    "a deviation of at least 4": (lambda: normalisation.standardise_by_statistics(
        [6.0], MOMENTS, epsilon=0.0, min_deviation=4.0), [0.5]),
    "scaled, not centred: 6 / sqrt(3 + 1)": (
        lambda: normalisation.divide_by_deviation([6.0], MOMENTS, epsilon=1.0), [3.0]),
    "the least so far is 0, the largest 1": (
        lambda: normalisation.scale_to_running_range([2.0, 4.0, 3.0, 0.0]), [0.0, 1.0, 0.5, 0.0]),
    "a return looks backwards": (
        lambda: normalisation.compute_rolling_return(X[:3], 0.5), [1.0, 2.5, 4.25]),
    "dropped before the second reward": (
        lambda: normalisation.compute_rolling_return(X[:3], 0.5, keep_before=1.0 - ENDS),
        [1, 2, 4]),
    "dropped after it": (
        lambda: normalisation.compute_rolling_return(X[:3], 0.5, keep_after=1.0 - ENDS),
        [1, 2.5, 3]),
    "before 3, after 1: mean 1 and variance 0": (
        lambda: normalisation.delay_statistics_by_one(
            normalisation.compute_cumulative_statistics([1.0, 3.0], 0.0)), [[0, 1], [1, 0]]),
    "standardised by these, 0.01 added": (
        lambda: normalisation.standardise_by_statistics(
            [1.0, 3.0],
            normalisation.delay_statistics_by_one(
                normalisation.compute_cumulative_statistics([1.0, 3.0], 0.0)
            ),
            epsilon=0.0, std_epsilon=0.01),
        [1.0 / 1.01, 200.0]),
    "a prior is a row of mean 0 and variance 1: (1 + 4.5) / 2": (
        lambda: normaliser.make_prior_statistics(1.0).merge_batch([3.0]), (1.5, 2.75, 2.0)),
    "a sample variance of 2 is merged: (1 + 2 * 2 + 4 * 2 / 3) / 3": (
        lambda: normaliser.make_prior_statistics(1.0).merge_batch([1.0, 3.0], ddof=1).variance,
        (1.0 + 4.0 + 8.0 / 3.0) / 3.0),
    "mean 1, deviation 2": (
        lambda: normaliser.Statistics(1.0, 4.0, 10.0).standardise([4.0, 1.0]), [1.5, 0.0]),
}  # fmt: skip

STILL, WIDE = np.array([[0.0], [1.0]]), np.array([[1.0], [2.0]])
SAMPLES = np.array([[6.0, 1.0, 5.0], [2.0, 4.0, 3.0]])
LOGITS = np.log([1.0, 3.0, 4.0])
VALUES = np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 9.0]])
LAWS = {
    "a mean that moved by 0.8 has half its square, both ways": (
        lambda: [gaussians.compute_kl_divergence(*pair)[0] for pair in ((STILL + [[0.8], [0.0]],
        STILL),
                                                             (STILL, STILL + [[0.8], [0.0]]))],
        [0.32, 0.32]),
    "equal ones": (lambda: gaussians.compute_kl_divergence(STILL, STILL), [0.0]),
    "N(1, 2) from N(0, 1)": (lambda: gaussians.compute_kl_divergence(WIDE, STILL), [2.0 - LOG_2]),
    "N(0, 1) from N(1, 2)": (lambda: gaussians.compute_kl_divergence(STILL, WIDE), [LOG_2 - 0.25]),
    "what is allowed shares the probability": (
        lambda: maskable.compute_masked_softmax(LOGITS, [1, 1, 0]), [0.25, 0.75, 0.0]),
    "all are allowed": (
        lambda: maskable.compute_masked_softmax(LOGITS, [1, 1, 1]), [0.125, 0.375, 0.5]),
    "two of the same probability": (lambda: maskable.compute_entropy([0.5, 0.5, 0.0]), LOG_2),
    "Huber with threshold 2": (lambda: quantiles.compute_huber([1.0, -2.0, 3.0], 2.0),
    [0.5, 2.0, 4.0]),
    "midpoints of two quantiles": (lambda: quantiles.compute_quantile_fractions(2), [0.25, 0.75]),
    "their upper ends": (lambda: quantiles.compute_quantile_fractions(2, 1.0), [0.5, 1.0]),
    "one of each is left out, among all": (lambda: quantiles.drop_extreme_quantiles(SAMPLES, 1),
    [1, 2, 3, 4]),
    "within each": (lambda: quantiles.drop_extreme_quantiles(SAMPLES, 1, pooled=False),
    [1, 2, 3, 5]),
    "the lowest ones": (lambda: quantiles.drop_extreme_quantiles(SAMPLES, 1, top=False),
    [3, 4, 5, 6]),
    "none": (lambda: quantiles.drop_extreme_quantiles(SAMPLES, 0), [1, 2, 3, 4, 5, 6]),
    "the action of the larger median": (lambda: quantiles.choose_greedy_action(VALUES, np.median),
    0),
    "the action of the larger mean": (lambda: quantiles.choose_greedy_action(VALUES, np.mean), 1),
    "TRPO at action 2": (lambda: trpo.compute_gaussian_log_prob_gradient(2.0), [2.0, 3.0]),
    "damping of a tenth": (lambda: trpo.compute_divergence_share_of_damped_step(0.1), 10.0 / 11.0),
    "no damping": (lambda: trpo.compute_divergence_share_of_damped_step(0.0), 1.0),
}  # fmt: skip
TABLES = {
    "critics": CRITICS, "agents": SAC_AND_TD3, "actions": ACTIONS, "on-policy": ON_POLICY,
    "normalisation": NORMALISATION, "laws": LAWS,
}  # fmt: skip


@pytest.mark.parametrize("table", TABLES)
def test_formulas_give_the_numbers_worked_by_hand(table):
    """Every variant has its numbers to nine digits."""
    for words, (formula, expected) in TABLES[table].items():
        np.testing.assert_allclose(formula(), expected, rtol=1e-9, atol=1e-9, err_msg=words)


def test_an_unknown_value_clip_is_an_error():
    """No silent default."""
    with pytest.raises(ValueError, match="unknown value clip 'sideways'"):
        ppo.compute_value_loss(np.ones(1), np.ones(1), np.ones(1), 0.2, "sideways")
