"""References of SAC, TD3, actions and target networks: numbers worked by hand, and reductions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, stats

from rlregress.formulas import action_transforms, critics, sac, td3

RNG = np.random.default_rng(0)


def test_the_critic_loss_of_two_networks_is_the_sum_of_their_mean_squared_errors() -> None:
    """Errors 2, 0 of one network and 1, 1 of the other give 2 + 1; the half of it is 1.5."""
    q = np.array([[2.0, 0.0], [1.0, -1.0]])
    assert critics.critic_loss(q, np.zeros(2)) == 3.0
    assert critics.critic_loss(q, np.zeros(2), factor=0.5) == 1.5
    assert critics.critic_loss(q, np.zeros(2), networks="mean") == 1.5
    assert critics.critic_loss(q, np.zeros(2), networks="max") == 2.0
    assert critics.critic_loss(q, np.zeros(2), samples="sum") == 6.0


def test_the_huber_distance_is_half_of_the_squared_one_below_one_and_linear_above() -> None:
    """0.5 gives 0.125 as 0.25 / 2 does; 3 gives 2.5, not 4.5."""
    errors = np.array([0.5, -1.0, 3.0])
    np.testing.assert_allclose(critics.smooth_l1(errors), [0.125, 0.5, 2.5])
    np.testing.assert_allclose(critics.squared(errors), [0.25, 1.0, 9.0])


@pytest.mark.parametrize(
    ("mask", "expected"),
    [
        ("terminated", [2.0, 1.0, 2.0]),
        ("done", [2.0, 1.0, 1.0]),
        ("nothing", [2.0, 2.0, 2.0]),
        ("everything", [1.0, 1.0, 1.0]),
        ("truncated", [2.0, 2.0, 1.0]),
    ],
)
def test_a_target_keeps_the_reward_and_adds_the_next_value_where_it_bootstraps(
    mask: str, expected: list[float]
) -> None:
    """Reward 1, next value 2, discount 0.5, for a running, a terminated and a truncated step."""
    y = critics.td_target(np.ones(3), np.full(3, 2.0), 0.5, [0, 1, 0], [0, 0, 1], mask)
    np.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize(
    ("reduction", "expected"),
    [("min", [1, 0]), ("max", [3, 5]), ("mean", [2, 2.5]), ("first", [3, 0]), ("second", [1, 5])],
)
def test_networks_are_combined_sample_by_sample(reduction: str, expected: list[float]) -> None:
    """Two networks, two samples."""
    found = critics.over_networks(np.array([[3.0, 0.0], [1.0, 5.0]]), reduction)
    np.testing.assert_array_equal(found, expected)


def test_the_entropy_term_is_discounted_only_inside() -> None:
    """r 1, Q 4, log pi -2, alpha 0.5, gamma 0.5: 1 + 0.5 (4 + 1) and 1 + 2 + 1."""
    assert sac.target_entropy_inside(1.0, 4.0, -2.0, 0.5, 0.5) == 3.5
    assert sac.target_entropy_outside(1.0, 4.0, -2.0, 0.5, 0.5) == 4.0


def test_both_targets_agree_without_discounting() -> None:
    """With gamma 1 it does not matter where the entropy stands."""
    inside = sac.target_entropy_inside(1.0, 4.0, -2.0, 0.5, 1.0)
    assert inside == sac.target_entropy_outside(1.0, 4.0, -2.0, 0.5, 1.0)


@pytest.mark.parametrize("form", ["log_alpha", "alpha"])
def test_the_temperature_gradient_is_the_derivative_of_its_loss(form: str) -> None:
    """Central differences in log alpha."""
    log_probs, step = np.array([0.5, 3.0]), 1e-6
    above, below = (sac.temperature_loss(0.4 + s, log_probs, -2.0, form) for s in (step, -step))
    gradient = sac.temperature_gradient(0.4, log_probs, -2.0, form)
    assert gradient == pytest.approx((above - below) / (2 * step), rel=1e-6)


def test_the_temperature_rises_while_the_entropy_is_too_low() -> None:
    """log pi 3 against target entropy -1 means entropy -3 < -1: descent raises log alpha by 2."""
    assert sac.temperature_gradient(0.0, np.array([3.0]), -1.0, "log_alpha") == -2.0


def test_the_actor_loss_is_the_temperature_times_log_prob_minus_q() -> None:
    """0.5 * 2 - min(3, 1) = 0; with the first network 1 - 3 = -2."""
    q = np.array([[3.0], [1.0]])
    assert sac.actor_loss(q, np.array([2.0]), 0.5) == 0.0
    assert sac.actor_loss(q, np.array([2.0]), 0.5, "first") == -2.0


def test_log_std_clamps_and_rescalings_keep_their_bounds() -> None:
    """The clamp is the identity inside; the tanh reaches the midpoint -1.5 at 0."""
    head = np.array([-100.0, 0.0, 100.0])
    np.testing.assert_allclose(sac.log_std_clamp(head), [-20.0, 0.0, 2.0])
    np.testing.assert_allclose(sac.log_std_tanh_rescale(head), [-5.0, -1.5, 2.0])


def test_the_biased_softplus_is_one_at_zero_and_never_below_its_floor() -> None:
    """sigma(0) = 1; sigma(-100) = 0.01; far up it grows linearly."""
    log_std = sac.log_std_softplus(np.array([-100.0, 0.0, 50.0]), bias_for_one=True, floor=0.01)
    bias = np.log(np.exp(0.99) - 1.0)
    np.testing.assert_allclose(np.exp(log_std), [0.01, 1.0, 50.0 + bias + 0.01], rtol=1e-12)


def test_the_plain_softplus_is_log_two_at_zero_and_clamped_below() -> None:
    """softplus(0) = log 2; softplus(-100) is below the clamp of 1e-4."""
    log_std = sac.log_std_softplus(np.array([0.0, -100.0]), bias_for_one=False, floor=0.0)
    np.testing.assert_allclose(np.exp(log_std), [np.log(2.0), 1e-4])


def test_the_exact_tanh_correction_is_the_textbook_one_where_that_does_not_cancel() -> None:
    """log(1 - tanh(x)^2) at moderate x; at 10 it is 2 (log 2 - 10) + 2 (log 2), up to e^-20."""
    x = np.array([-2.0, 0.0, 0.5])
    np.testing.assert_allclose(sac.tanh_correction_exact(x), np.log(1 - np.tanh(x) ** 2))
    assert sac.tanh_correction_exact(np.array(10.0)) == pytest.approx(2 * np.log(2.0) - 20.0)


def test_a_squashed_gaussian_integrates_to_one_only_with_the_exact_correction() -> None:
    """The density over actions, with the correction in the exponent, is a density."""

    def mass(correction) -> float:
        def density(a: float) -> float:
            x = np.arctanh(a)
            return float(np.exp(stats.norm.logpdf(x) - correction(x)))

        return float(integrate.quad(density, -1, 1)[0])

    assert mass(sac.tanh_correction_exact) == pytest.approx(1.0, abs=1e-6)
    assert mass(lambda x: -sac.tanh_correction_exact(x)) < 0.9


def test_an_epsilon_inside_saturates_and_outside_only_shifts() -> None:
    """At x = 20 the correction is log(1e-6) inside, and 1e-6 beside the exact one outside."""
    x = np.array([20.0])
    assert sac.tanh_correction_epsilon_inside(x)[0] == pytest.approx(np.log(1e-6), abs=1e-9)
    shift = sac.tanh_correction_epsilon_outside(x) - sac.tanh_correction_exact(x)
    np.testing.assert_allclose(shift, 1e-6, rtol=1e-6)


def test_the_action_scale_enters_as_the_logarithm_of_half_the_range() -> None:
    """Ranges 8 and 2 give -log 4 - log 1; the unit interval gives nothing."""
    found = sac.log_prob_scale_term(np.array([-2.0, -1.0]), np.array([6.0, 1.0]))
    assert found == pytest.approx(-np.log(4.0))
    assert sac.log_prob_scale_term(np.array([-1.0]), np.array([1.0])) == 0.0


def test_scaling_and_unscaling_are_inverse_and_map_the_bounds() -> None:
    """On [-2, 6] the centre is 2; unscaling 0.5 gives 4."""
    np.testing.assert_allclose(
        action_transforms.unscale([-1.0, 0.0, 0.5, 1.0], -2.0, 6.0), [-2, 2, 4, 6]
    )
    a = RNG.uniform(-2, 6, 20)
    np.testing.assert_allclose(
        action_transforms.unscale(action_transforms.scale(a, -2.0, 6.0), -2.0, 6.0), a
    )


def test_the_two_ways_to_bound_agree_far_out_and_differ_inside() -> None:
    """x = 100 is the upper bound for both; x = 0 is the centre for tanh, and 0 for the clip."""
    np.testing.assert_allclose(action_transforms.tanh_unscale([100.0, 0.0], -2.0, 6.0), [6.0, 2.0])
    np.testing.assert_allclose(action_transforms.hard_clip([100.0, 0.0], -2.0, 6.0), [6.0, 0.0])


def test_a_centre_inside_the_tanh_changes_nothing_on_symmetric_bounds() -> None:
    """On [-2, 2] the centre is 0; on [-2, 6] the fault moves the action of 0 from 2 to 5.9."""
    x = np.array([-0.3, 0.0, 2.0])
    np.testing.assert_array_equal(
        action_transforms.centre_inside_tanh(x, -2.0, 2.0),
        action_transforms.tanh_unscale(x, -2.0, 2.0),
    )
    assert action_transforms.centre_inside_tanh(0.0, -2.0, 6.0) == pytest.approx(5.856, abs=1e-3)


def test_noise_means_the_same_in_both_units_only_when_half_the_range_is_one() -> None:
    """0.25 moves the action by 1 on a range of 8 if scaled, by 0.25 if not; on [-1, 1] alike."""
    assert action_transforms.explore_scaled(0.0, 0.25, -2.0, 6.0) == 3.0
    assert action_transforms.explore_environment(0.0, 0.25, -2.0, 6.0) == 2.25
    assert action_transforms.explore_scaled(0.0, 0.25, -1.0, 1.0) == 0.25
    assert action_transforms.explore_environment(0.0, 0.25, -1.0, 1.0) == 0.25
    assert action_transforms.explore_scaled(0.0, 5.0, -2.0, 6.0) == 6.0
    assert action_transforms.explore_scaled(0.0, 5.0, -2.0, 6.0, clip=False) == 22.0
    assert action_transforms.explore_environment(0.0, 5.0, -2.0, 6.0, clip=False) == 7.0


def test_the_standard_deviation_of_clipped_noise_is_that_of_its_integral() -> None:
    """Numerical integration of min(z^2, bound^2) at sigma 0.2 and bound 0.5."""
    integral, _ = integrate.quad(
        lambda z: min(z**2, 0.25) * stats.norm.pdf(z, scale=0.2), -3, 3, points=[-0.5, 0.5]
    )
    assert td3.clipped_gaussian_std(0.2, 0.5) == pytest.approx(np.sqrt(integral), rel=1e-8)


@pytest.mark.parametrize(("sigma", "bound"), [(0.2, 0.5), (0.2, np.inf), (1.0, 0.5), (0.0, 0.5)])
def test_the_law_of_the_noise_is_that_of_a_large_sample(sigma: float, bound: float) -> None:
    """400 000 draws: within 2 %, more than four standard errors of the quantile (0.43 %)."""
    sample = np.clip(np.random.default_rng(1).normal(0, sigma, 400_000), -bound, bound)
    std = np.sqrt(np.mean(sample**2))
    found = [std, np.quantile(np.abs(sample), 0.999) / std] if sigma else [0.0, 0.0]
    np.testing.assert_allclose(found, td3.noise_statistics(sigma, bound), rtol=0.02)


def test_the_policy_maximises_the_first_network_by_default() -> None:
    """Q values 3 and 1: -3 for the first, -1 for the smaller."""
    q = np.array([[3.0], [1.0]])
    assert td3.actor_loss(q) == -3.0
    assert td3.actor_loss(q, "min") == -1.0


def test_a_delayed_part_moves_at_multiples_of_the_delay() -> None:
    """Delay 2 moves at 2 and 4, or from the first on at 1 and 3; delay 1 moves always."""
    np.testing.assert_array_equal(td3.delayed(4, 2), [0, 1, 0, 1])
    np.testing.assert_array_equal(td3.delayed(4, 2, 1), [1, 0, 1, 0])
    np.testing.assert_array_equal(td3.delayed(3, 1), [1, 1, 1])


def test_the_target_moves_by_the_fraction_tau() -> None:
    """From -1 towards 3 by 0.25 is 0; flipped it is 2."""
    assert critics.polyak(3.0, -1.0, 0.25) == 0.0
    assert critics.polyak_flipped(3.0, -1.0, 0.25) == 2.0


def test_tau_one_copies_and_tau_zero_keeps() -> None:
    """Reductions of the Polyak average, and the other way round for the flipped one."""
    source, target = RNG.normal(size=5), RNG.normal(size=5)
    np.testing.assert_array_equal(critics.polyak(source, target, 1.0), source)
    np.testing.assert_array_equal(critics.polyak(source, target, 0.0), target)
    np.testing.assert_array_equal(critics.polyak_flipped(source, target, 1.0), target)
