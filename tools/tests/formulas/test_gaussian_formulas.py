"""Divergences of Gaussians, and statistics before an update: numbers worked by hand."""

from __future__ import annotations

import numpy as np
import pytest

from rlregress.formulas import gaussians, normalisation


def test_a_mean_that_moved_by_h_has_half_its_square() -> None:
    """KL of N(0.8, 1) and N(0, 1) is 0.32, in both directions; of equal ones it is 0."""
    moved, still = np.array([[0.8], [1.0]]), np.array([[0.0], [1.0]])
    assert gaussians.divergence(moved, still) == pytest.approx([0.32])
    assert gaussians.divergence(still, moved) == pytest.approx([0.32])
    assert gaussians.divergence(still, still).tolist() == [0.0]


def test_deviations_have_a_direction() -> None:
    """KL of N(1, 2) and N(0, 1) is 2 - log 2; the other one log 2 - 1/4."""
    wide, narrow = np.array([[1.0], [2.0]]), np.array([[0.0], [1.0]])
    assert gaussians.divergence(wide, narrow) == pytest.approx([2.0 - np.log(2.0)])
    assert gaussians.divergence(narrow, wide) == pytest.approx([np.log(2.0) - 0.25])


def test_statistics_before_a_number_lack_it() -> None:
    """Before 3, after 1: mean 1 and variance 0; before 1, mean 0 and variance 1. 0.01 is added."""
    numbers = [1.0, 3.0]
    moments = normalisation.before(normalisation.cumulative(numbers, 0.0))
    assert moments.mean.tolist() == [0.0, 1.0]
    assert moments.variance.tolist() == [1.0, 0.0]
    made = normalisation.standardise(numbers, moments, epsilon=0.0, added=0.01)
    assert made == pytest.approx([1.0 / 1.01, 200.0])
