"""Tests of exploration detect environments that share decisions or draws."""

from __future__ import annotations

import numpy as np
import pytest

from tests_behavior import choices


def _actions(*environments: list[int]) -> np.ndarray:
    return np.array(environments).T[:, :, None]


def test_own_decisions_and_own_draws_are_let_through():
    """Two environments pass that both explore in one of four steps, with different actions."""
    choices.assert_independent_draws("A", _actions([7, 0, 3, 0], [0, 5, 4, 0]), 0.75)


def test_shared_decisions_are_detected():
    """Two that explore in the same steps, with draws of their own, decide together."""
    with pytest.raises(
        AssertionError, match="whose decisions to explore have the correlation 1.00"
    ):
        choices.assert_independent_draws("A", _actions([7, 0, 3, 0], [8, 0, 4, 0]), 0.75)


def test_shared_draws_are_detected():
    """Two that decide by themselves, and draw the same action where both explore."""
    with pytest.raises(AssertionError, match="whose random actions are the same in 100% of steps"):
        choices.assert_independent_draws("A", _actions([7, 0, 3, 0], [0, 5, 3, 0]), 0.75)
