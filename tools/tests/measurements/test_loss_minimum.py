"""Where a loss is lowest, from three of its values."""

from __future__ import annotations

import math

import pytest

from rlregress.measurements.loss_minimum import find_argmin_of_loss


@pytest.mark.parametrize("factor", [0.5, 1.0, 3.0])
def test_the_target_of_a_squared_error(factor):
    """Whatever the factor before it."""
    assert find_argmin_of_loss(lambda q: factor * (q - 0.6) ** 2) == pytest.approx(0.6)


def test_a_straight_line_has_no_lowest_place():
    """An absolute error far from its target: no number, and no error of the measurement."""
    assert math.isnan(find_argmin_of_loss(lambda q: abs(q - 0.6)))
