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
    ppo.compute_pessimistic_loss,
    ppo.compute_loss_without_clip,
    ppo.compute_loss_without_minimum,
    ppo.compute_optimistic_loss,
    ppo.compute_loss_of_mean_ratio,
)


UNIFORM = RNG.uniform(-2, 6, 20)
ADVANTAGES = RNG.normal(size=12)
SOURCE, TARGET = RNG.normal(size=(2, 5))
NEW_VALUES, OLD_VALUES, RETURNS = RNG.normal(size=(3, 6))
LATE = np.tile([4.0, 6.0], 200)
BATCHES = np.array([2.0, 3.0, -1.0, 4.0]), np.array([0.5, 6.0])
ROWS = np.concatenate(BATCHES)


def value_loss(clip_range: float, clip: str) -> float:
    """Return PPO's value loss on random values."""
    return ppo.compute_value_loss(NEW_VALUES, OLD_VALUES, RETURNS, clip_range, clip)


def sample_statistics(sigma: float, bound: float) -> list[float]:
    """Return the statistics of 400 000 draws of clipped noise; the quantile has 0.43 % error."""
    sample = np.clip(np.random.default_rng(1).normal(0, sigma, 400_000), -bound, bound)
    std = np.sqrt(np.mean(sample**2))
    return [std, np.quantile(np.abs(sample), 0.999) / std] if sigma else [0.0, 0.0]


def estimated_divergence(name: str) -> float:
    """Return an estimate of KL(N(0, 1), N(0.1, 1)), which is 0.005, from 400 000 samples."""
    x = np.random.default_rng(0).normal(size=400_000)
    return schedules.estimate_kl(np.exp(0.1 * x - 0.005), name)


#: name -> both sides of an equation, and the relative and absolute tolerance
EQUATIONS = {
    "without discounting both targets agree": (
        lambda: sac.compute_target_with_entropy_inside(1.0, 4.0, -2.0, 0.5, 1.0),
        lambda: sac.compute_target_with_entropy_outside(1.0, 4.0, -2.0, 0.5, 1.0), 0, 0),
    "the exact tanh correction is the textbook one at moderate x": (
        lambda: sac.compute_exact_tanh_correction(np.array([-2.0, 0.0, 0.5])),
        lambda: np.log(1 - np.tanh([-2.0, 0.0, 0.5]) ** 2), 1e-7, 0),
    "an epsilon outside only shifts": (
        lambda: sac.compute_tanh_correction_epsilon_outside(np.array([20.0])),
        lambda: sac.compute_exact_tanh_correction(np.array([20.0])) + 1e-6, 0, 1e-12),
    "scaling and unscaling are inverse": (
        lambda: action_transforms.unscale_action_to_bounds(
            action_transforms.scale_action_to_unit(UNIFORM, -2.0, 6.0), -2.0, 6.0),
        lambda: UNIFORM, 1e-7, 0),
    "a centre inside the tanh changes nothing on symmetric bounds": (
        lambda: action_transforms.squash_with_centre_inside(np.array([-0.3, 0.0, 2.0]), -2.0, 2.0),
        lambda: action_transforms.squash_and_unscale(np.array([-0.3, 0.0, 2.0]), -2.0, 2.0), 0, 0),
    "tau one copies": (lambda: critics.update_target_softly(SOURCE, TARGET, 1.0), lambda: SOURCE, 0,
    0),
    "tau zero keeps": (lambda: critics.update_target_softly(SOURCE, TARGET, 0.0), lambda: TARGET, 0,
    0),
    "a flipped tau one keeps": (
        lambda: critics.update_target_with_flipped_tau(SOURCE, TARGET, 1.0), lambda: TARGET, 0, 0),
    **{
        f"with ratio one {surrogate.__name__} is minus the mean advantage": (
            lambda surrogate=surrogate: surrogate(np.ones(12), ADVANTAGES, 0.2),
            lambda: -np.mean(ADVANTAGES), 1e-6, 0)
        for surrogate in SURROGATES
    },
    **{
        f"an infinite range leaves the plain value loss: {clip}": (
            lambda clip=clip: value_loss(np.inf, clip), lambda: value_loss(0.2, "off"), 1e-6, 0)
        for clip in ("forced", "elementwise_max", "max_of_sums", "thesis_box3")
    },
    "a prior is two samples of mean 0 and variance 1": (
        lambda: normalisation.compute_cumulative_statistics(X,
        prior_count=2.0).select_statistics_at(-1),
        lambda: (np.mean([-1.0, 1.0, *X]), np.var([-1.0, 1.0, *X])), 1e-6, 0),
    "decay 1 is no decay": (
        lambda: normalisation.compute_decayed_statistics(X, 1.0),
        lambda: normalisation.compute_cumulative_statistics(X, 0.0), 0, 1e-12),
    "once its beginning has decayed, an uncorrected variance is the variance": (
        lambda: normalisation.compute_uncorrected_statistics(LATE, 0.9).variance[-1],
        lambda: normalisation.compute_decayed_statistics(LATE, 0.9).variance[-1], 1e-6, 0),
    "without a prior batches have the statistics of all rows": (
        lambda: normaliser.Statistics(0.0, 0.0, 0.0).merge_batch(BATCHES[0]).merge_batch(
            BATCHES[1]),
        lambda: (ROWS.mean(), ROWS.var(), 6.0), 1e-6, 0),
    "k1 and k3 agree where ratios average to one": (
        lambda: schedules.estimate_kl(np.array([0.6, 1.4]), "k1"),
        lambda: schedules.estimate_kl(np.array([0.6, 1.4]), "k3"), 1e-6, 0),
    **{
        f"{name} tends to a known divergence": (
            lambda name=name: estimated_divergence(name), lambda: 0.005, 0, 4e-4)
        for name in ("k1", "k2", "k3")
    },
    **{
        f"the law of the noise is that of a large sample: {law}": (
            lambda law=law: sample_statistics(*law),
            lambda law=law: td3.compute_clipped_noise_statistics(*law),
            0.02, 0)
        for law in ((0.2, 0.5), (0.2, np.inf), (1.0, 0.5), (0.0, 0.5))
    },
}  # fmt: skip


@pytest.mark.parametrize("name", EQUATIONS)
def test_an_equation_holds(name: str):
    """Both sides of each equation are equal within its tolerance."""
    first, second, relative, absolute = EQUATIONS[name]
    np.testing.assert_allclose(first(), second(), rtol=relative, atol=absolute)


@pytest.mark.parametrize("form", ["log_alpha", "alpha"])
def test_the_temperature_gradient_is_the_derivative_of_its_loss(form: str):
    """Central differences in log alpha."""
    log_probs, step = np.array([0.5, 3.0]), 1e-6
    above, below = (
        sac.compute_temperature_loss(0.4 + s, log_probs, -2.0, form) for s in (step, -step)
    )
    gradient = sac.compute_temperature_gradient(0.4, log_probs, -2.0, form)
    assert gradient == pytest.approx((above - below) / (2 * step), rel=1e-6)


def test_a_squashed_gaussian_integrates_to_one_only_with_the_exact_correction():
    """The density over actions, with the correction in the exponent, is a density."""

    def mass(correction) -> float:
        def density(a: float) -> float:
            x = np.arctanh(a)
            return float(np.exp(stats.norm.logpdf(x) - correction(x)))

        return float(integrate.quad(density, -1, 1)[0])

    assert mass(sac.compute_exact_tanh_correction) == pytest.approx(1.0, abs=1e-6)
    assert mass(lambda x: -sac.compute_exact_tanh_correction(x)) < 0.9


def test_the_standard_deviation_of_clipped_noise_is_that_of_its_integral():
    """Numerical integration of min(z^2, bound^2) at sigma 0.2 and bound 0.5."""
    integral, _ = integrate.quad(
        lambda z: min(z**2, 0.25) * stats.norm.pdf(z, scale=0.2), -3, 3, points=[-0.5, 0.5]
    )
    assert td3.compute_clipped_gaussian_std(0.2, 0.5) == pytest.approx(np.sqrt(integral), rel=1e-8)


def test_adding_the_discounted_value_to_a_truncated_reward_gives_the_same_advantages():
    """Reward 2 + 0.5 * 5 and a terminal step: the other way to write a truncation."""
    rewards, values, following = RNG.normal(size=(3, 5))
    ends, none = np.eye(5)[2], np.zeros(5)
    advantages = gae.compute_advantages(
        rewards + 0.5 * following * ends, values, following, ends, none, 0.5, 0.5
    )
    truncated = gae.compute_advantages(rewards, values, following, none, ends, 0.5, 0.5)
    np.testing.assert_allclose(advantages, truncated)


def test_lambda_one_is_the_discounted_return_minus_the_value():
    """A random trajectory that ends in a termination; values inside it telescope."""
    rewards, values = RNG.normal(size=9), RNG.normal(size=9)
    following = np.append(values[1:], RNG.normal())
    end = np.eye(9)[8]
    advantages = gae.compute_advantages(rewards, values, following, end, np.zeros(9), 0.9, 1.0)
    returns = [np.sum(rewards[t:] * 0.9 ** np.arange(9 - t)) for t in range(9)]
    np.testing.assert_allclose(advantages, returns - values)


def test_the_pessimistic_loss_bounds_all_others_from_above():
    """It is the largest loss, so the smallest objective, on random ratios."""
    ratios, advantages = np.exp(RNG.normal(size=50)), RNG.normal(size=50)
    loss = ppo.compute_pessimistic_loss(ratios, advantages, 0.2)
    for surrogate in (
        ppo.compute_loss_without_clip,
        ppo.compute_loss_without_minimum,
        ppo.compute_optimistic_loss,
    ):
        assert loss > surrogate(ratios, advantages, 0.2)


def test_the_elementwise_maximum_is_never_below_any_other_clip_against_the_return():
    """The maximum of sums lies between it and the forced clip."""
    values, old, returns = RNG.normal(size=(3, 40))
    loss = {
        clip: ppo.compute_value_loss(values, old, returns, 0.2, clip)
        for clip in ("off", "forced", "elementwise_max", "max_of_sums")
    }
    assert loss["elementwise_max"] > loss["max_of_sums"] >= max(loss["off"], loss["forced"])


def test_an_orthogonal_matrix_times_a_gain_has_the_gain_as_every_singular_value():
    """A tall random orthogonal matrix."""
    orthogonal, _ = np.linalg.qr(RNG.normal(size=(6, 3)))
    singular_values = np.linalg.svd(2.0 * orthogonal, compute_uv=False)
    expected = loops.compute_statistics_of_orthogonal_networks(np.array([2.0]))
    np.testing.assert_allclose([singular_values.min(), singular_values.max(), 0.0], expected)


def test_merging_batches_gives_the_cumulative_statistics():
    """Chan et al. 1982: two batches, one after the other, next to the prior."""
    mean, variance, count = 0.0, 1.0, normalisation.PRIOR_COUNT
    for batch in (X[:1], X[1:]):
        delta, total = np.mean(batch) - mean, count + len(batch)
        squares = variance * count + np.var(batch) * len(batch)
        squares += delta**2 * count * len(batch) / total
        mean, variance, count = mean + delta * len(batch) / total, squares / total, total
    merged = normalisation.compute_cumulative_statistics(X).select_statistics_at(-1)
    assert (merged.mean, merged.variance) == (pytest.approx(mean), pytest.approx(variance))


def test_the_minimum_of_the_weighted_distance_is_the_quantile():
    """The quantile of 1, 2, ..., 9 at 1/4 is 3: its loss is lowest there."""
    samples = np.arange(1.0, 10.0)
    grid = np.linspace(0.0, 10.0, 1001)
    errors = samples[None, :] - grid[:, None]
    losses = (quantiles.compute_quantile_weight(0.25, errors) * np.abs(errors)).mean(axis=1)
    assert grid[np.argmin(losses)] == pytest.approx(3.0)


def test_the_fisher_information_is_the_curvature_of_the_divergence():
    """A mean moved by h has a KL divergence of h^2 / 2, a log deviation moved by h one of h^2."""
    step = 1e-3

    def divergence(mean: float, log_std: float) -> float:
        new = stats.norm(mean, np.exp(log_std))
        value, _ = integrate.quad(
            lambda x: new.pdf(x) * (new.logpdf(x) - stats.norm.logpdf(x)), -12.0, 12.0
        )
        return float(value)

    information = trpo.compute_fisher_information()
    assert divergence(step, 0.0) == pytest.approx(0.5 * information[0, 0] * step**2, rel=1e-2)
    assert divergence(0.0, step) == pytest.approx(0.5 * information[1, 1] * step**2, rel=1e-2)
