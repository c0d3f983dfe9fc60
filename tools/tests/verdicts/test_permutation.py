"""The permutation test: exact counts, ties, Monte Carlo, and when it cannot fail at all."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from rlregress.errors import UserError
from rlregress.verdicts.family import adjust_by_holm_with_names, combine_mid_p_values
from rlregress.verdicts.permutation import (
    FEW_DRAWS,
    FEW_EXTREME,
    MORE_DRAWS,
    can_reject_at_level,
    compute_p_values_of_one_comparison,
    compute_permutation_p_values,
    compute_smallest_p_value,
    make_generator_from_values,
)


def count_shares(stored, new):
    """Shares (drop, gain, drop mid) of all arrangements, one Python loop."""
    pooled = [*stored, *new]
    observed = sum(new)
    sums = [sum(choice) for choice in itertools.combinations(pooled, len(new))]
    below, above = sum(s < observed for s in sums), sum(s > observed for s in sums)
    ties = len(sums) - below - above
    return (below + ties) / len(sums), (above + ties) / len(sums), (below + ties / 2) / len(sums)


def test_three_against_three_seeds_cannot_fail_at_five_per_cent():
    """Before any verdict the test knows whether it could fail at this number of seeds."""
    assert compute_smallest_p_value(3, 3) == 1 / 20
    assert not can_reject_at_level(3, 3, 0.05)
    assert can_reject_at_level(4, 3, 0.05)
    assert (
        compute_p_values_of_one_comparison([4, 5, 6], [1, 2, 3], np.random.default_rng(0)).drop
        == 1 / 20
    )


def test_a_monte_carlo_p_value_is_never_below_one_draw():
    """The observed arrangement is one of the draws, so no p-value is zero."""
    returns = np.arange(20) + 1e6, np.arange(20)
    far = compute_p_values_of_one_comparison(
        *returns, np.random.default_rng(0), draws=99, more_draws=999
    )
    assert not far.exact
    assert far.drop == 1 / 1000 == compute_smallest_p_value(20, 20, draws=999)
    assert (
        compute_p_values_of_one_comparison(*returns, np.random.default_rng(0)).drop
        == compute_smallest_p_value(20, 20)
        < 1e-5
    )


def test_a_small_p_value_is_drawn_again_with_more():
    """A share of one or two in 20 000 draws is drawn again, to a tenth of its size."""
    rng = np.random.default_rng(5)
    stored, new = rng.normal(0, 1, 20), rng.normal(-0.8, 1, 20)
    p = compute_p_values_of_one_comparison(stored, new, np.random.default_rng(6))
    assert p.arrangements == MORE_DRAWS + 1
    true = compute_permutation_p_values([stored], [new], np.random.default_rng(7), 1_000_000).drop[
        0
    ]
    assert 1e-5 < true < FEW_EXTREME / FEW_DRAWS
    assert p.drop == pytest.approx(true, abs=4 * (true / MORE_DRAWS) ** 0.5)
    large = compute_p_values_of_one_comparison(stored, new + 1.2, np.random.default_rng(6))
    assert large.arrangements == FEW_DRAWS + 1


def test_drawing_again_keeps_the_level():
    """Without a difference, at most a share of p has a p-value of at most p."""
    rng = np.random.default_rng(8)
    returns = rng.normal(0, 1, (1000, 30))
    # at 80 draws every p-value up to one in eight is drawn again
    p = np.array(
        [
            compute_p_values_of_one_comparison(r[:15], r[15:], rng, draws=80, more_draws=800).drop
            for r in returns
        ]
    )
    for level in (0.005, 0.05, 0.125, 0.2):
        assert np.mean(p <= level) < level + 3 * (level * (1 - level) / len(p)) ** 0.5


@pytest.mark.parametrize(
    ("stored", "new"),
    [
        ([5.0, 3.0, 9.0, 4.0], [2.0, 6.0, 1.0]),
        ([1000.0] * 5, [1000.0, 1000.0, 193.0]),
        ([-4.0, -6.0, -5.0], [-4.0, -3.0, -5.0, -9.0]),
    ],
)
def test_exact_p_values_are_the_counted_shares(stored, new):
    """P-values of both sides and the mid-p value equal a count over all arrangements."""
    p = compute_p_values_of_one_comparison(stored, new, np.random.default_rng(0))
    assert p.exact
    assert (p.drop, p.gain, p.drop_mid) == pytest.approx(count_shares(stored, new), abs=1e-12)
    assert p.drop_mid + p.gain_mid == pytest.approx(1.0)


def test_monte_carlo_agrees_with_enumeration():
    """20 000 draws give the exact p-value within four standard errors."""
    rng = np.random.default_rng(1)
    stored, new = rng.normal(1.0, 1, (30, 8)), rng.normal(0.4, 1, (30, 6))
    exact = compute_permutation_p_values(stored, new, rng).drop
    estimated = compute_permutation_p_values(stored, new, rng, max_exact=0).drop
    error = np.sqrt(exact * (1 - exact) / 20_000) + 1 / 20_000
    assert np.all(np.abs(estimated - exact) < 4 * error)


def test_the_content_seeds_the_generator_whatever_the_order():
    """Returns that are not finite are refused."""
    with pytest.raises(UserError, match="not a finite number"):
        compute_p_values_of_one_comparison([1.0, np.nan], [1.0], np.random.default_rng(0))
    first = make_generator_from_values([1.0, 2.0, 0.0], [3.0]).random()
    assert first == make_generator_from_values([-0.0, 2.0, 1.0], [3.0]).random()
    assert first != make_generator_from_values([0.0, 1.0], [2.0, 3.0]).random()
    assert first != make_generator_from_values([1.0, 2.0, 0.0], [3.0], seed=1).random()


def test_holm_steps_down_and_stouffer_adds_up():
    """Over names; of small evidence."""
    assert adjust_by_holm_with_names({"a": 0.01, "b": 0.04, "c": 0.03}) == pytest.approx(
        {"a": 0.03, "b": 0.06, "c": 0.06}
    )
    assert adjust_by_holm_with_names({}) == {}
    assert combine_mid_p_values([0.2] * 8) == pytest.approx(0.00863, abs=5e-5)
    assert combine_mid_p_values([0.5] * 8) == pytest.approx(0.5)
    combined = stats.combine_pvalues([0.1, 0.7, 0.03], method="stouffer").pvalue
    assert combine_mid_p_values([0.1, 0.7, 0.03]) == pytest.approx(combined)
