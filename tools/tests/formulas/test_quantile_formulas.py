"""References of values as distributions: numbers worked by hand."""

from __future__ import annotations

import numpy as np
import pytest

from rlregress.formulas import quantiles


def test_hubers_distance_is_a_parabola_within_its_threshold_and_a_line_beyond() -> None:
    """With threshold 2: 1 gives 1/2, 2 gives 2, 3 gives 2 (3 - 1) = 4."""
    np.testing.assert_allclose(quantiles.huber([1.0, -2.0, 3.0], 2.0), [0.5, 2.0, 4.0])


def test_midpoints_are_in_the_middle_of_equal_intervals() -> None:
    """Of two quantiles 1/4 and 3/4; at the upper ends 1/2 and 1."""
    np.testing.assert_allclose(quantiles.fractions(2), [0.25, 0.75])
    np.testing.assert_allclose(quantiles.fractions(2, 1.0), [0.5, 1.0])


def test_the_minimum_of_the_weighted_distance_is_the_quantile() -> None:
    """Of 1, 2, ..., 9 the fraction 1/4 is 3: as a line, its loss is lowest there."""
    samples = np.arange(1.0, 10.0)
    grid = np.linspace(0.0, 10.0, 1001)
    errors = samples[None, :] - grid[:, None]
    losses = (quantiles.weight(0.25, errors) * np.abs(errors)).mean(axis=1)
    assert grid[np.argmin(losses)] == pytest.approx(3.0)


def test_what_is_kept_is_ordered_among_all_networks_or_within_each() -> None:
    """Of (1, 5, 6) and (2, 3, 4) one for each is left out."""
    given = np.array([[6.0, 1.0, 5.0], [2.0, 4.0, 3.0]])
    assert quantiles.kept(given, 1).tolist() == [1.0, 2.0, 3.0, 4.0]
    assert quantiles.kept(given, 1, pooled=False).tolist() == [1.0, 2.0, 3.0, 5.0]
    assert quantiles.kept(given, 1, top=False).tolist() == [3.0, 4.0, 5.0, 6.0]
    assert quantiles.kept(given, 0).tolist() == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]


def test_the_chosen_action_depends_on_the_statistic() -> None:
    """Action 0 has the larger median, action 1 the larger mean."""
    values = np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 9.0]])
    assert quantiles.chosen_action(values, np.median) == 0
    assert quantiles.chosen_action(values, np.mean) == 1
