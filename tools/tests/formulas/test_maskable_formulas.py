"""References of masked policies: numbers worked by hand."""

from __future__ import annotations

import numpy as np
import pytest

from rlregress.formulas import maskable


def test_what_is_allowed_shares_the_whole_probability() -> None:
    """Weights 1, 3 and 4: without the last one 1/4 and 3/4; with all 1/8, 3/8 and 1/2."""
    logits = np.log([1.0, 3.0, 4.0])
    np.testing.assert_allclose(maskable.probabilities(logits, [1, 1, 0]), [0.25, 0.75, 0.0])
    np.testing.assert_allclose(maskable.probabilities(logits, [1, 1, 1]), [0.125, 0.375, 0.5])


def test_the_entropy_leaves_out_what_cannot_happen() -> None:
    """Two actions of the same probability have log 2, beside others of none."""
    assert maskable.entropy([0.5, 0.5, 0.0]) == pytest.approx(np.log(2.0))
