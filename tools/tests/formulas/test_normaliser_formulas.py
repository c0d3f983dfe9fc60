"""References of statistics that take whole batches: against NumPy, and numbers worked by hand."""

from __future__ import annotations

import numpy as np
import pytest

from rlregress.formulas import normaliser


def test_batches_give_the_statistics_of_all_rows() -> None:
    """Without a prior two batches have the mean and the variance of their rows."""
    first, second = np.array([2.0, 3.0, -1.0, 4.0]), np.array([0.5, 6.0])
    merged = normaliser.Statistics(0.0, 0.0, 0.0).merged(first).merged(second)
    rows = np.concatenate([first, second])
    assert merged == pytest.approx((rows.mean(), rows.var(), 6.0))


def test_a_prior_is_a_row_of_its_own() -> None:
    """A prior of one row of mean 0 and variance 1 next to 3: mean 1.5, variance (1 + 4.5) / 2."""
    assert normaliser.prior(1.0).merged([3.0]) == pytest.approx((1.5, 2.75, 2.0))


def test_the_sample_variance_is_merged_as_the_variance() -> None:
    """A batch of 1 and 3 has variance 1 and sample variance 2: (1 + 2 * 2 + 4 * 2 / 3) / 3."""
    merged = normaliser.prior(1.0).merged([1.0, 3.0], freedom=1)
    assert merged.variance == pytest.approx((1.0 + 4.0 + 8.0 / 3.0) / 3.0)


def test_a_number_is_standardised() -> None:
    """Mean 1, deviation 2: 4 is 1.5 deviations away."""
    assert normaliser.Statistics(1.0, 4.0, 10.0).standardise([4.0, 1.0]).tolist() == [1.5, 0.0]
