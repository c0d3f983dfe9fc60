"""Published bands are recovered from printed numbers, and judged as coarse checks."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from rlregress.errors import UserError
from rlregress.verdicts import bands
from rlregress.verdicts.bands import (
    BandSample,
    compute_band_p_value,
    judge_bands,
    recover_band_from_printed_numbers,
)


@pytest.mark.parametrize(
    ("failing", "printed_mean", "printed_half"),
    [(193.0, 838.6, 282.9), (3.0, 800.6, 349.6), (297.5, 859.5, 246.3), (301.0, 860.2, 245.1)],
)
def test_four_returns_of_1000_and_one_failure_are_the_printed_rows(
    failing, printed_mean, printed_half
):
    """The standard deviation of the seeds lies in the range recovered from the printed row."""
    returns = np.array([1000.0] * 4 + [failing])
    assert round(returns.mean(), 1) == printed_mean
    band = recover_band_from_printed_numbers(printed_mean, printed_half)
    assert band.sd_low < returns.std(ddof=1) < band.sd_high
    assert band.sd == pytest.approx(returns.std(ddof=1), rel=5e-4)
    assert not band.sd_low < returns.std(ddof=0) < band.sd_high


def test_the_p_value_is_that_of_scipy_where_rounding_is_negligible():
    """Rounding makes it larger."""
    old, new = np.array([1000.0, 900, 950, 1010, 700]), np.array([600.0, 650, 500])
    band = recover_band_from_printed_numbers(old.mean(), 1.96 * old.std() / np.sqrt(5), decimals=9)
    assert compute_band_p_value(band, new) == pytest.approx(
        stats.ttest_ind(old, new).pvalue, rel=1e-6
    )
    coarse, fine = (
        recover_band_from_printed_numbers(8.0, 1.0, decimals=decimals) for decimals in (0, 3)
    )
    new = [6.0, 6.4, 6.2]
    assert compute_band_p_value(coarse, new) > 2 * compute_band_p_value(fine, new)
    assert compute_band_p_value(coarse, [8.4, 8.5, 8.3]) == 1.0


@pytest.mark.parametrize(
    ("n", "hypotheses", "drop"),
    [(5, 1, 2.0), (5, 8, 3.0), (5, 72, 4.2), (20, 1, 1.5), (20, 8, 2.0), (20, 72, 2.4)],
)
def test_a_five_seed_band_is_a_coarse_check(n, hypotheses, drop):
    """The smallest drop detected with 80 % power is the one that STATISTICS states."""
    assert bands.compute_smallest_band_drop(5, n, hypotheses) == pytest.approx(drop, abs=0.06)


def test_a_collapse_is_regressed_and_a_rise_improved():
    """Both directions have a name, and the reason says that the check is coarse."""
    band = recover_band_from_printed_numbers(5000.0, 200.0)
    verdicts = judge_bands(
        {
            "down": BandSample(band, [2500.0, 2600, 2400, 2700, 2550]),
            "up": BandSample(band, [7500.0, 7600, 7400, 7700, 7550]),
            "same": BandSample(band, [5100.0, 4800, 5000, 4950, 5200]),
        }
    )
    assert [v.verdict for v in verdicts.values()] == ["regressed", "improved", "holds"]
    assert all("coarse check" in v.reason for v in verdicts.values())
    assert verdicts["same"].interval[0] < 0 < verdicts["same"].interval[1]
    assert verdicts["down"].adjusted_p > verdicts["down"].p


def test_a_wide_band_is_inconclusive_not_holds():
    """A narrow one detects nothing within the floor."""
    verdict = judge_bands(
        {
            "cell": BandSample(
                recover_band_from_printed_numbers(838.6, 282.9), [1000.0] * 4 + [193.0]
            )
        }
    )
    assert verdict["cell"].verdict == "inconclusive"
    assert verdict["cell"].visible_drop > 0.5 * 838.6
    sample = BandSample(
        recover_band_from_printed_numbers(1000.0, 1.0), [1000.0, 1001, 999, 1000, 1001]
    )
    verdict = judge_bands({"c": sample})
    assert verdict["c"].verdict == "holds"
    assert 50 < verdict["c"].visible_drop < 52


def test_a_band_of_width_zero_is_judged_by_counts_of_failing_seeds():
    """1000.0 +- 0.0 has no variance to test with: Fisher's exact test on the seeds that fail."""
    band = recover_band_from_printed_numbers(1000.0, 0.0)
    down = judge_bands({"c": BandSample(band, [8.0, 9.0, 12.0, 20.0, 1000.0])})["c"]
    assert down.p == pytest.approx(5 / 210)
    assert down.verdict == "regressed"
    pooled = judge_bands({"c": BandSample(band, [8.0, 1000, 1000, 1000, 1000], (9, 180))})["c"]
    assert pooled.p == pytest.approx(stats.fisher_exact([[1, 4], [9, 171]], "greater").pvalue)
    assert pooled.verdict != "regressed"
    above = judge_bands({"c": BandSample(band, [1500.0] * 5)})["c"]
    assert above.verdict != "improved"
    mixed = judge_bands({"c": BandSample(band, [900.0, 900, 900, 900, 9000])})["c"]
    assert mixed.p < 0.05
    assert mixed.verdict != "improved"


@pytest.mark.parametrize(("half", "seeds"), [(-1.0, 5), (1.0, 1), (float("nan"), 5)])
def test_a_band_that_cannot_be_used_is_named(half, seeds):
    """The error names the found values and the expectation."""
    with pytest.raises(UserError, match="cannot be used: it needs finite"):
        recover_band_from_printed_numbers(10.0, half, seeds)


@pytest.mark.parametrize("new", [[1.0], [1.0, float("nan")]])
def test_new_returns_that_cannot_be_judged_are_named(new):
    """A single seed has no variance, and a failed run no value."""
    with pytest.raises(UserError, match="cell c cannot be judged"):
        judge_bands({"c": BandSample(recover_band_from_printed_numbers(10.0, 1.0), new)})
