"""References: what holds for all numbers, and needs none worked by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, stats

from rlregress.formulas import (
    action_transforms,
    critics,
    gae,
    loops,
    normalisation,
    normaliser,
    ppo,
    quantiles,
    sac,
    schedules,
    td3,
    trpo,
)

RNG = np.random.default_rng(0)
X = np.array([1.0, 2.0, 3.0, 10.0])
SURROGATES = (
    ppo.loss_pessimistic,
    ppo.loss_no_clip,
    ppo.loss_clip_without_minimum,
    ppo.loss_optimistic,
    ppo.loss_mean_ratio,
)


def test_both_targets_agree_without_discounting():
    """With gamma 1 it does not matter where the entropy stands."""
    inside = sac.target_entropy_inside(1.0, 4.0, -2.0, 0.5, 1.0)
    assert inside == sac.target_entropy_outside(1.0, 4.0, -2.0, 0.5, 1.0)


@pytest.mark.parametrize("form", ["log_alpha", "alpha"])
def test_the_temperature_gradient_is_the_derivative_of_its_loss(form: str):
    """Central differences in log alpha."""
    log_probs, step = np.array([0.5, 3.0]), 1e-6
    above, below = (sac.temperature_loss(0.4 + s, log_probs, -2.0, form) for s in (step, -step))
    gradient = sac.temperature_gradient(0.4, log_probs, -2.0, form)
    assert gradient == pytest.approx((above - below) / (2 * step), rel=1e-6)


def test_the_exact_tanh_correction_is_the_textbook_one_where_that_does_not_cancel():
    """log(1 - tanh(x)^2) at moderate x."""
    x = np.array([-2.0, 0.0, 0.5])
    np.testing.assert_allclose(sac.tanh_correction_exact(x), np.log(1 - np.tanh(x) ** 2))


def test_a_squashed_gaussian_integrates_to_one_only_with_the_exact_correction():
    """The density over actions, with the correction in the exponent, is a density."""

    def mass(correction) -> float:
        def density(a: float) -> float:
            x = np.arctanh(a)
            return float(np.exp(stats.norm.logpdf(x) - correction(x)))

        return float(integrate.quad(density, -1, 1)[0])

    assert mass(sac.tanh_correction_exact) == pytest.approx(1.0, abs=1e-6)
    assert mass(lambda x: -sac.tanh_correction_exact(x)) < 0.9


def test_an_epsilon_outside_only_shifts():
    """By 1e-6 beside the exact correction."""
    x = np.array([20.0])
    shift = sac.tanh_correction_epsilon_outside(x) - sac.tanh_correction_exact(x)
    np.testing.assert_allclose(shift, 1e-6, rtol=1e-6)


def test_scaling_and_unscaling_are_inverse():
    """On [-2, 6]."""
    a = RNG.uniform(-2, 6, 20)
    np.testing.assert_allclose(
        action_transforms.unscale(action_transforms.scale(a, -2.0, 6.0), -2.0, 6.0), a
    )


def test_a_centre_inside_the_tanh_changes_nothing_on_symmetric_bounds():
    """On [-2, 2] the centre is 0."""
    x = np.array([-0.3, 0.0, 2.0])
    np.testing.assert_array_equal(
        action_transforms.centre_inside_tanh(x, -2.0, 2.0),
        action_transforms.tanh_unscale(x, -2.0, 2.0),
    )


def test_the_standard_deviation_of_clipped_noise_is_that_of_its_integral():
    """Numerical integration of min(z^2, bound^2) at sigma 0.2 and bound 0.5."""
    integral, _ = integrate.quad(
        lambda z: min(z**2, 0.25) * stats.norm.pdf(z, scale=0.2), -3, 3, points=[-0.5, 0.5]
    )
    assert td3.clipped_gaussian_std(0.2, 0.5) == pytest.approx(np.sqrt(integral), rel=1e-8)


@pytest.mark.parametrize(("sigma", "bound"), [(0.2, 0.5), (0.2, np.inf), (1.0, 0.5), (0.0, 0.5)])
def test_the_law_of_the_noise_is_that_of_a_large_sample(sigma: float, bound: float):
    """400 000 draws: within 2 %, more than four standard errors of the quantile (0.43 %)."""
    sample = np.clip(np.random.default_rng(1).normal(0, sigma, 400_000), -bound, bound)
    std = np.sqrt(np.mean(sample**2))
    found = [std, np.quantile(np.abs(sample), 0.999) / std] if sigma else [0.0, 0.0]
    np.testing.assert_allclose(found, td3.noise_statistics(sigma, bound), rtol=0.02)


def test_tau_one_copies_and_tau_zero_keeps():
    """Reductions of the Polyak average, and the other way round for the flipped one."""
    source, target = RNG.normal(size=5), RNG.normal(size=5)
    np.testing.assert_array_equal(critics.polyak(source, target, 1.0), source)
    np.testing.assert_array_equal(critics.polyak(source, target, 0.0), target)
    np.testing.assert_array_equal(critics.polyak_flipped(source, target, 1.0), target)


def test_adding_the_discounted_value_to_a_truncated_reward_gives_the_same_advantages():
    """Reward 2 + 0.5 * 5 and a terminal step: the other way to write a truncation."""
    rewards, values, following = RNG.normal(size=(3, 5))
    ends, none = np.eye(5)[2], np.zeros(5)
    found = gae.advantages(
        rewards + 0.5 * following * ends, values, following, ends, none, 0.5, 0.5
    )
    truncated = gae.advantages(rewards, values, following, none, ends, 0.5, 0.5)
    np.testing.assert_allclose(found, truncated)


def test_lambda_one_is_the_discounted_return_minus_the_value():
    """A random trajectory that ends in a termination; values inside it telescope."""
    rewards, values = RNG.normal(size=9), RNG.normal(size=9)
    following = np.append(values[1:], RNG.normal())
    end = np.eye(9)[8]
    found = gae.advantages(rewards, values, following, end, np.zeros(9), 0.9, 1.0)
    returns = [np.sum(rewards[t:] * 0.9 ** np.arange(9 - t)) for t in range(9)]
    np.testing.assert_allclose(found, returns - values)


@pytest.mark.parametrize("formula", SURROGATES)
def test_with_ratio_one_every_surrogate_is_minus_the_mean_advantage(formula):
    """Before the first step nothing is clipped."""
    advantages = RNG.normal(size=12)
    found = formula(np.ones(12), advantages, 0.2)
    assert found == pytest.approx(-np.mean(advantages))


def test_the_pessimistic_loss_bounds_all_others_from_above():
    """It is the largest loss, so the smallest objective, on random ratios."""
    ratios, advantages = np.exp(RNG.normal(size=50)), RNG.normal(size=50)
    loss = ppo.loss_pessimistic(ratios, advantages, 0.2)
    for other in (ppo.loss_no_clip, ppo.loss_clip_without_minimum, ppo.loss_optimistic):
        assert loss > other(ratios, advantages, 0.2)


def test_the_elementwise_maximum_is_never_below_any_other_clip_against_the_return():
    """On random values; the maximum of sums lies between it and the forced clip."""
    values, old, returns = RNG.normal(size=(3, 40))
    loss = {
        clip: ppo.value_loss(values, old, returns, 0.2, clip)
        for clip in ("off", "forced", "elementwise_max", "max_of_sums")
    }
    assert loss["elementwise_max"] > loss["max_of_sums"] >= max(loss["off"], loss["forced"])


@pytest.mark.parametrize("clip", ["forced", "elementwise_max", "max_of_sums", "thesis_box3"])
def test_a_range_that_never_binds_leaves_the_plain_value_loss(clip: str):
    """With an infinite range the clipped value is the value."""
    values, old, returns = RNG.normal(size=(3, 6))
    plain = ppo.value_loss(values, old, returns, 0.2, "off")
    assert ppo.value_loss(values, old, returns, np.inf, clip) == pytest.approx(plain)


def test_an_orthogonal_matrix_times_a_gain_has_the_gain_as_every_singular_value():
    """A tall random orthogonal matrix."""
    orthogonal, _ = np.linalg.qr(RNG.normal(size=(6, 3)))
    found = np.linalg.svd(2.0 * orthogonal, compute_uv=False)
    expected = loops.orthogonal_singular_values(np.array([2.0]))
    np.testing.assert_allclose([found.min(), found.max(), 0.0], expected)


def test_a_prior_is_samples_of_mean_0_and_variance_1():
    """Two samples more, -1 and 1, give the same as a prior of weight 2."""
    with_prior = normalisation.cumulative(X, prior_count=2.0).at(-1)
    more = np.concatenate([[-1.0, 1.0], X])
    assert with_prior.mean == pytest.approx(np.mean(more))
    assert with_prior.variance == pytest.approx(np.var(more))


def test_merging_batches_gives_the_cumulative_statistics():
    """Chan et al. 1982: two batches, one after the other, next to the prior."""
    mean, variance, count = 0.0, 1.0, normalisation.PRIOR_COUNT
    for batch in (X[:1], X[1:]):
        delta, total = np.mean(batch) - mean, count + len(batch)
        squares = variance * count + np.var(batch) * len(batch)
        squares += delta**2 * count * len(batch) / total
        mean, variance, count = mean + delta * len(batch) / total, squares / total, total
    found = normalisation.cumulative(X).at(-1)
    assert (found.mean, found.variance) == (pytest.approx(mean), pytest.approx(variance))


def test_without_decay_everything_counts_the_same():
    """Decay 1 is no decay."""
    found, expected = normalisation.decayed(X, 1.0), normalisation.cumulative(X, 0.0)
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_an_uncorrected_variance_is_late_the_variance():
    """Once what it began with has decayed."""
    late = np.tile([4.0, 6.0], 200)
    assert normalisation.uncorrected(late, 0.9).variance[-1] == pytest.approx(
        normalisation.decayed(late, 0.9).variance[-1]
    )


def test_batches_give_the_statistics_of_all_rows():
    """Without a prior two batches have the mean and the variance of their rows."""
    first, second = np.array([2.0, 3.0, -1.0, 4.0]), np.array([0.5, 6.0])
    merged = normaliser.Statistics(0.0, 0.0, 0.0).merge(first).merge(second)
    rows = np.concatenate([first, second])
    assert merged == pytest.approx((rows.mean(), rows.var(), 6.0))


def test_the_minimum_of_the_weighted_distance_is_the_quantile():
    """Of 1, 2, ..., 9 the fraction 1/4 is 3: as a line, its loss is lowest there."""
    samples = np.arange(1.0, 10.0)
    grid = np.linspace(0.0, 10.0, 1001)
    errors = samples[None, :] - grid[:, None]
    losses = (quantiles.weight(0.25, errors) * np.abs(errors)).mean(axis=1)
    assert grid[np.argmin(losses)] == pytest.approx(3.0)


def test_estimates_agree_where_ratios_average_to_one():
    """The estimates k1 and k3 differ by the mean of r - 1."""
    ratios = np.array([0.6, 1.4])
    assert schedules.divergence(ratios, "k1") == pytest.approx(schedules.divergence(ratios, "k3"))


def test_estimates_see_a_known_divergence():
    """On samples of N(0, 1) all estimates tend to KL(N(0, 1), N(0.1, 1)) = 0.005."""
    x = np.random.default_rng(0).normal(size=400_000)
    ratios = np.exp(0.1 * x - 0.005)
    for name in ("k1", "k2", "k3"):
        assert schedules.divergence(ratios, name) == pytest.approx(0.005, abs=4e-4)


def test_the_fisher_information_is_the_curvature_of_the_divergence():
    """A mean moved by h has a KL divergence of h^2 / 2, a log deviation moved by h one of h^2."""
    step = 1e-3

    def divergence(mean: float, log_std: float) -> float:
        new = stats.norm(mean, np.exp(log_std))
        value, _ = integrate.quad(
            lambda x: new.pdf(x) * (new.logpdf(x) - stats.norm.logpdf(x)), -12.0, 12.0
        )
        return float(value)

    information = trpo.fisher()
    assert divergence(step, 0.0) == pytest.approx(0.5 * information[0, 0] * step**2, rel=1e-2)
    assert divergence(0.0, step) == pytest.approx(0.5 * information[1, 1] * step**2, rel=1e-2)
