"""How long many runs take: exact where lengths are known, a range where they vary."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from rlregress.check import schedule
from rlregress.check.schedule import bound_makespan_from_below, compute_makespan, predict_makespan


@pytest.mark.parametrize(
    ("lengths", "workers", "seconds"),
    # Graham's example, where 6 is possible, and the longest last
    [([], 2, 0.0), ([5.0], 4, 5.0), ([3.0, 3.0, 2.0, 2.0, 2.0], 2, 7.0),
     ([2.0, 2.0, 2.0, 3.0, 3.0], 2, 7.0), ([1.0, 1.0, 1.0, 3.0], 2, 4.0),
     ([3.0, 1.0, 1.0, 1.0], 2, 3.0)],
)  # fmt: skip
def test_the_next_run_starts_on_the_first_free_worker(lengths, workers, seconds):
    """Runs start in their order, whatever their lengths."""
    assert compute_makespan(lengths, workers) == seconds


def test_no_order_is_faster_than_the_bound():
    """The best of all orders of six runs equals the bound, and so does longest first."""
    lengths = [7.0, 6.0, 5.0, 3.0, 2.0, 1.0]
    ends = [compute_makespan(order, 2) for order in itertools.permutations(lengths)]
    assert bound_makespan_from_below(lengths, 2) == min(ends) == 12.0
    assert compute_makespan(lengths, 2) == 12.0 < max(ends) == 15.0
    assert bound_makespan_from_below(lengths, 100) == 7.0


def test_a_prediction_is_exact_where_lengths_do_not_vary():
    """Longest first, in whatever order they are given."""
    prediction = predict_makespan([1.0, 1.0, 3.0, 1.0], [(1.0,)] * 4, 2)
    assert prediction.seconds == prediction.low == prediction.high == prediction.bound == 3.0


def test_a_prediction_has_the_spread_of_recorded_runs():
    """A single run has the drawn length; the lengths of many average out."""
    ratios = (0.5, 1.5)
    alone = predict_makespan([100.0], [ratios], 1)
    many = predict_makespan([1.0] * 400, [ratios] * 400, 1)
    assert (alone.low, alone.high) == (50.0, 150.0)
    assert 340 < many.low < many.seconds < many.high < 460


@pytest.mark.parametrize("expected", [[], [3.0, 0.0]])
def test_nothing_is_predicted_of_a_run_that_nobody_knows(expected):
    """A length of 0 means that no stored run tells."""
    assert predict_makespan(expected, [(1.0,)] * len(expected), 2) is None


def test_drawn_lengths_have_ratios_of_the_same_cell():
    """Drawn lengths are the expected ones times a ratio, with the right mean."""
    ratios = [(0.5, 1.5), (1.0,)] * 3000
    sample = schedule.draw_run_lengths([10.0, 1.0] * 3000, ratios, np.random.default_rng(1))
    assert set(sample) == {5.0, 15.0, 1.0}
    assert np.mean(sample[::2]) == pytest.approx(10.0, abs=0.5)
