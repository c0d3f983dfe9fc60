"""References of normalisation: numbers worked by hand, and reductions."""

from __future__ import annotations

import numpy as np
import pytest

from rlregress.formulas import normalisation

X = np.array([1.0, 2.0, 3.0, 10.0])


def test_cumulative_statistics_by_hand() -> None:
    """Of 1, 2, 3, 10: mean 4, squares 9 + 4 + 1 + 36 = 50, variance 12.5."""
    found = normalisation.cumulative(X, prior_count=0.0)
    np.testing.assert_allclose(found.mean, [1.0, 1.5, 2.0, 4.0])
    np.testing.assert_allclose(found.variance[[0, -1]], [0.0, 12.5], atol=1e-12)


def test_a_sample_variance_divides_by_one_less() -> None:
    """50 / 3."""
    found = normalisation.cumulative(X, prior_count=0.0, freedom=1)
    assert found.variance[-1] == pytest.approx(50.0 / 3.0)


def test_a_prior_is_samples_of_mean_0_and_variance_1() -> None:
    """Two samples more, -1 and 1, give the same as a prior of weight 2."""
    with_prior = normalisation.cumulative(X, prior_count=2.0).at(-1)
    more = np.concatenate([[-1.0, 1.0], X])
    assert with_prior.mean == pytest.approx(np.mean(more))
    assert with_prior.variance == pytest.approx(np.var(more))


def test_merging_batches_gives_the_cumulative_statistics() -> None:
    """Chan et al. 1982: two batches, one after the other, next to the prior."""
    mean, variance, count = 0.0, 1.0, normalisation.PRIOR_COUNT
    for batch in (X[:1], X[1:]):
        delta, total = np.mean(batch) - mean, count + len(batch)
        squares = variance * count + np.var(batch) * len(batch)
        squares += delta**2 * count * len(batch) / total
        mean, variance, count = mean + delta * len(batch) / total, squares / total, total
    found = normalisation.cumulative(X).at(-1)
    assert (found.mean, found.variance) == (pytest.approx(mean), pytest.approx(variance))


def test_decayed_statistics_by_hand() -> None:
    """With decay 1/2, of 1, 2, 3: weights 1/4, 1/2, 1; mean 4.25 / 1.75."""
    found = normalisation.decayed(X, 0.5)
    assert found.mean[2] == pytest.approx(4.25 / 1.75)
    assert found.variance[2] == pytest.approx(11.25 / 1.75 - (4.25 / 1.75) ** 2)


def test_without_decay_everything_counts_the_same() -> None:
    """Decay 1 is no decay."""
    found, expected = normalisation.decayed(X, 1.0), normalisation.cumulative(X, 0.0)
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_an_uncorrected_variance_begins_as_the_mean_square() -> None:
    """Of one number x with decay 0.9: x^2 - 0.1 x^2; late it is the variance."""
    assert normalisation.uncorrected(X, 0.9).variance[0] == pytest.approx(0.9)
    late = np.tile([4.0, 6.0], 200)
    assert normalisation.uncorrected(late, 0.9).variance[-1] == pytest.approx(
        normalisation.decayed(late, 0.9).variance[-1]
    )


def test_standardised_numbers_by_hand() -> None:
    """(6 - 4) / sqrt(3 + 1); floors lift the variance 3 to 16 and the deviation to 4."""
    statistics = normalisation.Statistics(np.array([4.0]), np.array([3.0]))
    assert normalisation.standardise([6.0], statistics, epsilon=1.0) == pytest.approx(1.0)
    floors = {"least_variance": 16.0}, {"least_deviation": 4.0}
    for floor in floors:
        found = normalisation.standardise([6.0], statistics, epsilon=0.0, **floor)
        assert found == pytest.approx(0.5)


def test_scaling_does_not_centre() -> None:
    """6 / sqrt(3 + 1)."""
    statistics = normalisation.Statistics(np.array([4.0]), np.array([3.0]))
    assert normalisation.scale([6.0], statistics, epsilon=1.0) == pytest.approx(3.0)


def test_the_running_range_maps_to_0_and_1() -> None:
    """The first number, and whatever is the least so far, is 0; the largest so far 1."""
    found = normalisation.running_range([2.0, 4.0, 3.0, 0.0])
    np.testing.assert_allclose(found, [0.0, 1.0, 0.5, 0.0])


def test_a_rolling_return_looks_backwards() -> None:
    """With gamma 1/2, of 1, 2, 3: 1, 2.5, 4.25."""
    np.testing.assert_allclose(normalisation.rolling_return(X[:3], 0.5), [1.0, 2.5, 4.25])


def test_what_is_dropped_before_a_reward_keeps_the_reward() -> None:
    """Dropped before the second reward: 1, 2, 4; after it: 1, 2.5, 3."""
    ends = np.array([0.0, 1.0, 0.0])
    before = normalisation.rolling_return(X[:3], 0.5, keep_before=1.0 - ends)
    after = normalisation.rolling_return(X[:3], 0.5, keep_after=1.0 - ends)
    np.testing.assert_allclose([before, after], [[1.0, 2.0, 4.0], [1.0, 2.5, 3.0]])
