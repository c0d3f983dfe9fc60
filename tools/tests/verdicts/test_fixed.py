"""The fixed-size gate: four verdicts, two error rates, and what it refuses to say."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from rlregress.errors import UserError
from rlregress.model.quantities import compute_returns_scale
from rlregress.model.verdict import find_worst_verdict
from rlregress.verdicts.effect import compute_welch_interval
from rlregress.verdicts.looks import make_single_look
from rlregress.verdicts.permutation import compute_permutation_p_values
from rlregress.verdicts.rules import CellSample, Rules
from rlregress.verdicts.sequential import build_verdicts_of_gate, take_possible_looks
from rlregress.verdicts.stability import estimate_false_alarms_of_baseline
from tools.tests.verdicts.three_looks import healthy


def judge_cells(cells, **rules):
    """Verdicts of cells, each by one look at all of its new runs."""
    looks = {
        name: make_single_look(np.size(cell.new) + cell.failed) for name, cell in cells.items()
    }
    return build_verdicts_of_gate(take_possible_looks(cells, looks, Rules(**rules)))


def judge_one(stored, new, **options):
    """Return the verdict of a single cell."""
    sample = {k: options.pop(k) for k in ("failed", "worst") if k in options}
    return judge_cells({"cell": CellSample(stored, new, **sample)}, **options).cells["cell"]


def test_returns_that_did_not_change_hold():
    """So do those that drop less than the floor; a failed run counts as the worst recorded."""
    verdict = judge_one(healthy(1, 10), healthy(2, 5))
    assert verdict.verdict == "holds"
    assert verdict.interval[0] < verdict.effect < verdict.interval[1]
    assert (verdict.stored_seeds, verdict.new_seeds, verdict.alpha) == (10, 5, 0.05)
    assert verdict.visible_drop == pytest.approx(1.47 * verdict.stored_sd, rel=0.05)
    assert "detected with 80 % power" in verdict.reason
    stored, new = healthy(1, 10, sd=1.0), healthy(2, 10, 980.0, 1.0)
    verdict = judge_one(stored, new)
    assert verdict.adjusted_drop < 0.05
    assert verdict.verdict == "holds"
    assert "not more than the floor" in verdict.reason
    assert judge_one(stored, new, floor=0.01).verdict == "regressed"
    stored, finished = healthy(1, 10), healthy(2, 3).tolist()
    verdict = judge_one(stored, finished, failed=2, worst=-50.0)
    assert verdict == judge_one(stored, [*finished, np.nan, np.inf], worst=-50.0)
    assert verdict.new_mean == pytest.approx((sum(finished) - 100.0) / 5)
    assert (verdict.new_seeds, verdict.failed) == (5, 2)
    with pytest.raises(UserError, match="no worst return"):
        judge_one(stored, finished, failed=2)


NORMAL, GOOD = healthy(1, 10), healthy(2, 4) + 100
WIDE = healthy(1, 10, sd=800.0), healthy(2, 5, sd=800.0)
NARROW = np.array([-4.0, -4.2, -3.9, -4.1, -4.0])
#: stored and new returns, options, verdict, and words of its reason
VERDICTS = {
    "five stored seeds": (healthy(1, 5), healthy(2, 10), {}, "holds", ""),
    "four stored seeds": (
        healthy(1, 4), healthy(2, 10), {}, "inconclusive", "4 stored seeds, at least 5"),
    "a wide law": (*WIDE, {}, "inconclusive", "a drop of 50% could be missed"),
    "a wide law, drops of twice the mean": (*WIDE, {"must_detect": 2.0}, "holds", ""),
    "a crash that ruins the mean": (
        NARROW, NARROW[:4], {"failed": 1, "worst": -60.0}, "inconclusive",
        "too few seeds to reject"),
    "one failed run of five": (NORMAL, GOOD, {"failed": 1, "worst": 800.0}, "holds", ""),
    "two failed runs of five": (
        NORMAL, GOOD[:3], {"failed": 2, "worst": 800.0}, "inconclusive",
        "2 of 5 new runs failed"),
    "only failed runs": (NORMAL, [], {"failed": 5, "worst": 0.0}, "regressed", ""),
}  # fmt: skip


@pytest.mark.parametrize("case", VERDICTS)
def test_missing_evidence_is_inconclusive(case):
    """Too few seeds, too wide a law or too many failed runs do not hold."""
    stored, new, options, expected, reason = VERDICTS[case]
    verdict = judge_one(stored, new, **options)
    assert verdict.verdict == expected
    assert reason in verdict.reason


def test_a_test_that_cannot_fail_is_inconclusive_and_not_in_the_family():
    """Three against three seeds decide nothing and cost the other cells nothing."""
    verdicts = judge_cells(
        {
            "few": CellSample(healthy(1, 3), healthy(2, 3)),
            "enough": CellSample(healthy(3, 10), healthy(4, 5)),
            "none": CellSample(healthy(1, 10), []),
        }
    )
    assert verdicts.cells["few"].verdict == verdicts.cells["none"].verdict == "inconclusive"
    assert math.isnan(verdicts.cells["few"].p_drop)
    assert verdicts.hypotheses == 1


def test_at_a_ceiling_the_power_is_a_count_of_seeds():
    """Ten seeds at 1000 against five say nothing of a collapse of half; against ten they do."""
    few = judge_one([1000.0] * 10, [1000.0] * 5)
    assert few.verdict == "inconclusive"
    assert few.interval is None
    enough = judge_one([1000.0] * 10, [1000.0] * 10)
    assert enough.verdict == "holds"
    assert enough.visible_drop == pytest.approx(483, abs=10)
    assert judge_one([1000.0] * 10, [1000.0] * 5 + [20.0] * 5).verdict == "regressed"


def test_negative_and_vanishing_means_have_a_sane_scale():
    """Ceilings leave their group at one half; a single cell is no group."""
    assert compute_returns_scale([-4.0, -4.2, -3.8]) == pytest.approx(4.0)
    verdict = judge_one(healthy(1, 10, -4.0, 0.2), healthy(2, 5, -6.0, 0.2))
    assert verdict.verdict == "regressed"
    assert verdict.effect_fraction == pytest.approx(-0.5, abs=0.1)
    assert compute_returns_scale([-300.0, 300.0, 1.0, -1.0]) == pytest.approx(244.9, abs=0.1)
    assert compute_returns_scale([0.0, 0.0]) == 1.0
    cell = CellSample([1000.0] * 10, [1000.0] * 5, group="g")
    group = judge_cells({"a": cell, "b": cell}).groups["g"]
    assert (group.p_drop, group.p_gain) == (0.5, 0.5)
    assert group.verdict == "inconclusive"
    verdicts = judge_cells(
        {
            "a": CellSample(healthy(1, 10), healthy(2, 5), group="g"),
            "b": CellSample(healthy(3, 2), healthy(4, 2), group="g"),
        }
    )
    assert not verdicts.groups
    assert verdicts.hypotheses == 1


def test_the_worst_verdict_and_the_interval_of_welch():
    """A session has its worst verdict; the interval is that of Welch."""
    assert find_worst_verdict(["holds", "improved", "inconclusive", "regressed"]) == "regressed"
    assert find_worst_verdict(["holds", "improved"]) == "improved"
    assert find_worst_verdict(["inconclusive", "improved"]) == "inconclusive"
    assert find_worst_verdict([]) == judge_cells({}).verdict == "inconclusive"
    stored, new = healthy(1, 10), healthy(2, 5, sd=300.0)
    welch = stats.ttest_ind(new, stored, equal_var=False).confidence_interval(0.95)
    assert compute_welch_interval(stored, new) == pytest.approx((welch.low, welch.high))


@pytest.mark.parametrize(("options", "message"), [
    ({"alpha": 0.0}, "must lie between 0 and 1"),
    ({"failed": -1}, "expected a count of at least 0"),
    ({"worst": math.nan}, "a finite return"),
])  # fmt: skip
def test_bad_input_is_named(options, message):
    """Levels, counts and worst returns outside their range are user errors."""
    with pytest.raises(UserError, match=message):
        judge_one(healthy(1, 10), healthy(2, 5), **options)


def test_the_admission_check_bounds_an_unlucky_baseline():
    """It says so."""
    rng, exceeds, unlucky = np.random.default_rng(16), [], []
    for _ in range(100):
        baseline = rng.standard_normal(10)
        check = estimate_false_alarms_of_baseline(baseline, 10, repetitions=200)
        nights = rng.standard_normal((200, 10))
        p = compute_permutation_p_values(
            np.tile(baseline, (200, 1)), nights, rng, 2_000, 2_000
        ).drop
        exceeds.append(np.mean(p < 0.05) > check.unlucky)
        unlucky.append(check.unlucky)
        assert check.expected < check.unlucky
    assert np.mean(exceeds) < 0.05 + 3 * math.sqrt(0.05 * 0.95 / 100)
    assert 0.15 < np.mean(unlucky) < 0.45
    assert "as in 1 of 20 baselines" in str(
        estimate_false_alarms_of_baseline(healthy(1, 10), 5, repetitions=100)
    )
    with pytest.raises(UserError, match="at least 2 finite stored returns"):
        estimate_false_alarms_of_baseline([1.0], 5)
