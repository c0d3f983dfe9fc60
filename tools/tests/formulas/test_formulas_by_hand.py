"""Formulas: numbers worked by hand, where no test of ``tests_unit`` states them."""

from __future__ import annotations

import numpy as np
import pytest

from rlregress.formulas import action_transforms as actions
from rlregress.formulas import (
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
X = np.array([1.0, 2.0, 3.0, 10.0])
MOMENTS = normalisation.Statistics(np.array([4.0]), np.array([3.0]))
STILL, WIDE = np.array([[0.0], [1.0]]), np.array([[1.0], [2.0]])
LOGITS = np.log([1.0, 3.0, 4.0])
VALUES = np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 9.0]])


def clipped_joint(largest, *gradients):
    """Return the gradients, each of one number, once their joint norm is clipped."""
    arrays = [np.array(gradient) for gradient in gradients]
    return [float(clipped[0]) for clipped in ppo.clip_gradients_by_joint_norm(arrays, largest)]


FORMULAS = {
    "in units of half the range, from the centre": (
        lambda: actions.scale_action_to_unit([-2.0, 2.0, 4.0], -2.0, 6.0), [-1.0, 0.0, 0.5]),
    "a centre inside of the tanh moves 0 from 2": (
        lambda: actions.squash_with_centre_added_twice(0.0, -2.0, 6.0), 2.0 + 4.0 * np.tanh(2.0)),
    "plain softplus: log 2 at 0, clamped at 1e-4": (
        lambda: np.exp(sac.compute_log_std_by_softplus(
            np.array([0.0, -100.0]), bias_for_one=False, floor=0.0)),
        [LOG_2, 1e-4]),
    "delay 2 from the first on": (lambda: td3.mark_delayed_updates(4, 2, 1), [1, 0, 1, 0]),
    "a norm of 5 stays below 10": (lambda: clipped_joint(10.0, [3.0], [4.0]), [3.0, 4.0]),
    "no gradient stays none": (lambda: clipped_joint(0.5, [0.0]), [0.0]),
    # steps and evaluations of three epochs of two minibatches
    "stopped after a step": (
        lambda: [schedules.count_steps_and_minibatches(s, 3, 2, "after_step")
                 for s in (True, False)],
        [(1, 1), (6, 6)]),
    "divided by one less": (
        lambda: normalisation.compute_cumulative_statistics(X, prior_count=0.0,
        ddof=1).variance[-1], 50.0 / 3.0),
    "decay 1/2: weights 1/4, 1/2, 1": (
        lambda: [moments[2] for moments in normalisation.compute_decayed_statistics(X, 0.5)],
        [4.25 / 1.75, 11.25 / 1.75 - (4.25 / 1.75) ** 2]),
    "uncorrected, of one number: x^2 - 0.1 x^2": (
        lambda: normalisation.compute_statistics_without_bias_correction(X, 0.9).variance[0], 0.9),
    "scaled, not centred: 6 / sqrt(3 + 1)": (
        lambda: normalisation.divide_by_deviation([6.0], MOMENTS, epsilon=1.0), [3.0]),
    "the least so far is 0, the largest 1": (
        lambda: normalisation.scale_to_running_range([2.0, 4.0, 3.0, 0.0]), [0.0, 1.0, 0.5, 0.0]),
    "standardised by those before, 0.01 added": (
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
    "N(1, 2) from N(0, 1)": (lambda: gaussians.compute_kl_divergence(WIDE, STILL), [2.0 - LOG_2]),
    "N(0, 1) from N(1, 2)": (lambda: gaussians.compute_kl_divergence(STILL, WIDE), [LOG_2 - 0.25]),
    "what is allowed shares the probability": (
        lambda: maskable.compute_masked_softmax(LOGITS, [1, 1, 0]), [0.25, 0.75, 0.0]),
    "all are allowed": (
        lambda: maskable.compute_masked_softmax(LOGITS, [1, 1, 1]), [0.125, 0.375, 0.5]),
    "two of the same probability": (lambda: maskable.compute_entropy([0.5, 0.5, 0.0]), LOG_2),
    "Huber with threshold 2": (
        lambda: quantiles.compute_huber([1.0, -2.0, 3.0], 2.0), [0.5, 2.0, 4.0]),
    "upper ends of two quantiles": (
        lambda: quantiles.compute_quantile_fractions(2, 1.0), [0.5, 1.0]),
    "the action of the larger median": (
        lambda: quantiles.choose_greedy_action(VALUES, np.median), 0),
    "TRPO at action 2": (lambda: trpo.compute_gaussian_log_prob_gradient(2.0), [2.0, 3.0]),
    "damping of a tenth": (lambda: trpo.compute_divergence_share_of_damped_step(0.1), 10.0 / 11.0),
}  # fmt: skip


def test_formulas_give_the_numbers_worked_by_hand():
    """An unknown value clip is an error."""
    for words, (formula, expected) in FORMULAS.items():
        np.testing.assert_allclose(formula(), expected, rtol=1e-9, atol=1e-9, err_msg=words)
    with pytest.raises(ValueError, match="unknown value clip 'sideways'"):
        ppo.compute_value_loss(np.ones(1), np.ones(1), np.ones(1), 0.2, "sideways")
