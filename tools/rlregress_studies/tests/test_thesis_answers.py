"""Two published summaries: the t-test that their two numbers allow."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from rlregress.verdicts.bands import recover_band_from_printed_numbers
from rlregress_studies.thesis.thesis_answers import compare_pairs_of_bands, count_needed_seeds


def band(returns, decimals=9):
    """Return the summary that the thesis would print of returns."""
    return recover_band_from_printed_numbers(
        float(np.mean(returns)), 1.96 * float(np.std(returns)) / math.sqrt(len(returns)),
        len(returns), decimals,
    )  # fmt: skip


def test_the_p_values_are_those_of_the_returns_themselves():
    """With many decimals, pooled and Welch's p are those of t-tests of the five returns."""
    first, second = [1000.0, 900, 950, 1010, 700], [600.0, 650, 500, 720, 610]
    difference = compare_pairs_of_bands({"pair": (band(first), band(second))})["pair"]
    assert difference.p == pytest.approx(stats.ttest_ind(first, second).pvalue, rel=1e-6)
    welch = stats.ttest_ind(first, second, equal_var=False)
    assert difference.welch == pytest.approx(welch.pvalue, rel=1e-6)
    assert difference.effect == pytest.approx(np.mean(first) - np.mean(second))
    assert difference.adjusted_p == difference.p
    assert (difference.get_sign(0.05), difference.get_sign(1e-9)) == (1, 0)


def test_holm_counts_what_can_be_tested():
    """A pair without spread has no p-value and is no hypothesis of the family."""
    ceiling, failing = (
        recover_band_from_printed_numbers(1000.0, 0.0),
        recover_band_from_printed_numbers(838.6, 282.9),
    )
    far, near = band([1, 2, 3, 4, 5]), band([11, 12, 13, 14, 16])
    pairs = {"ceiling": (ceiling, failing), "far": (near, far), "near": (far, far)}
    difference = compare_pairs_of_bands(pairs)
    assert not difference["ceiling"].is_tested
    assert difference["ceiling"].get_sign(0.05) == 0
    assert difference["far"].adjusted_p == pytest.approx(2 * difference["far"].p)


def test_one_interval_can_contain_a_mean_that_the_other_does_not():
    """A narrow interval excludes the other's mean, and a wide one contains it."""
    pair = (
        recover_band_from_printed_numbers(100.0, 5.0),
        recover_band_from_printed_numbers(110.0, 20.0),
    )
    assert compare_pairs_of_bands({"pair": pair})["pair"].outside == (True, False)


@pytest.mark.parametrize(("hypotheses", "seeds"), [(1, 4), (255, 8), (81, 7)])
def test_seeds_that_a_permutation_test_needs(hypotheses, seeds):
    """The smallest n with 2 / comb(2n, n) below the level of one hypothesis."""
    assert count_needed_seeds(hypotheses) == seeds
    assert 2 / math.comb(2 * seeds, seeds) < 0.05 / hypotheses
    assert 2 / math.comb(2 * seeds - 2, seeds - 1) >= 0.05 / hypotheses
