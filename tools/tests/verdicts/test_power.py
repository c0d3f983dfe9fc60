"""The gate detects the stated drops with the stated power."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rlregress.verdicts import ceiling
from rlregress.verdicts import power as verdicts_power
from rlregress.verdicts.looks import SEQUENTIAL_LOOKS, make_single_look
from rlregress.verdicts.permutation import compute_permutation_p_values, enumerate_arrangements
from rlregress.verdicts.power import estimate_smallest_drop, estimate_smallest_group_drop
from tools.tests.simulations.simulate_gates import evidence_of, judge_sessions

#: of each look its runs, its share of the error, and the p-value from which it accepts
THREE_LOOKS = (*zip(SEQUENTIAL_LOOKS.run_counts, SEQUENTIAL_LOOKS.weights,
                    (*SEQUENTIAL_LOOKS.accept_cell, 1.0), strict=True),)  # fmt: skip


@pytest.mark.parametrize(
    ("m", "n", "hypotheses", "drop"),
    [(5, 5, 1, 1.78), (10, 5, 8, 2.10), (20, 5, 81, 2.42), (10, 10, 8, 1.62), (20, 20, 8, 1.10)],
)
def test_the_table_of_the_documentation_is_reproduced(m, n, hypotheses, drop):
    """The printed drops come out again within four Monte Carlo errors."""
    detected = estimate_smallest_drop(m, make_single_look(n), hypotheses, seed=1)
    assert detected.mc_error < 0.07
    assert detected.drop == pytest.approx(drop, abs=4 * math.hypot(detected.mc_error, 0.02))


def test_three_looks_detect_nearly_what_twelve_new_seeds_at_once_detect():
    """Printed drops are 0 to 0.2 sd above those of one look, 0.5 for a single hypothesis."""
    m = 10
    for hypotheses, drop in ((1, 1.5), (8, 1.6), (24, 1.8), (81, 2.1)):
        detected = estimate_smallest_drop(m, SEQUENTIAL_LOOKS, hypotheses, seed=1)
        assert detected.drop == pytest.approx(drop, abs=0.05 + 4 * detected.mc_error)
        look = make_single_look(SEQUENTIAL_LOOKS.max_runs)
        at_once = estimate_smallest_drop(m, look, hypotheses, repetitions=500).drop
        assert -0.07 < drop - at_once < (0.5 if hypotheses == 1 else 0.2)


def test_the_drop_of_three_looks_has_80_per_cent_power():
    """The gate's own looks reject the stated drop in 80 % of fresh simulations, half of it not."""
    rng = np.random.default_rng(18)
    m, hypotheses, size = 10, 9, 1_000
    drop = estimate_smallest_drop(m, SEQUENTIAL_LOOKS, hypotheses, repetitions=4_000).drop
    stored, new = rng.standard_normal((size, m)), rng.standard_normal((size, 20))

    def power(loss):
        undecided, rejected = np.ones(size, dtype=bool), np.zeros(size, dtype=bool)
        for n, weight, accept in THREE_LOOKS:
            p = compute_permutation_p_values(stored, new[:, :n] - loss, rng, max_exact=20_000).drop
            rejected |= undecided & (p < weight * 0.05 / hypotheses)
            undecided &= p <= accept
        return rejected.mean()

    assert power(drop) == pytest.approx(0.8, abs=4 * math.sqrt(0.16 / size + 0.16 / 4_000))
    assert power(drop / 2) < 0.5


def test_the_common_drop_of_three_looks_has_80_per_cent_power():
    """Sessions of one group reject the stated common drop in 80 %, and use few runs without it."""
    rng = np.random.default_rng(19)
    size, k, m, sd = 400, 4, 10, 0.3
    drop = estimate_smallest_group_drop([m] * k, SEQUENTIAL_LOOKS, [sd] * k, k + 1)
    stored = 1 + sd * rng.standard_normal((size, 1, k, m))
    same = 1 + sd * rng.standard_normal((size, 1, k, 20))
    detected, healthy = (
        judge_sessions(evidence_of(stored, new, SEQUENTIAL_LOOKS.run_counts, rng), SEQUENTIAL_LOOKS)
        for new in (same - drop, same)
    )
    power = detected.group_drop.mean()
    assert power == pytest.approx(0.8, abs=4 * math.sqrt(0.16 / size + 0.16 / 2_000))
    error = healthy.runs.mean(axis=(1, 2)).std() / math.sqrt(size)
    expected = verdicts_power.estimate_runs_if_unchanged([m] * k, SEQUENTIAL_LOOKS, k + 1)
    assert healthy.runs.mean() == pytest.approx(expected, abs=5 * error)


def test_each_comparison_is_rejected_from_its_own_drop_on():
    """The order statistic is the exact switching point of the permutation test."""
    rng = np.random.default_rng(7)
    returns, level = rng.standard_normal((20, 9)), 0.05
    drops = verdicts_power.compute_smallest_rejected_drops(
        returns, 4, level, enumerate_arrangements(5, 4)
    )
    for shift, rejected in ((-1e-4, False), (1e-4, True)):
        new = returns[:, 5:] - (drops + shift)[:, None]
        p = compute_permutation_p_values(returns[:, :5], new, rng).drop
        assert np.all((p < level) == rejected)


def test_what_cannot_fail_detects_nothing():
    """A group of ceilings foretells nothing; a ceiling is known by its ties."""
    assert math.isinf(estimate_smallest_drop(3, make_single_look(3)).drop)
    assert math.isinf(estimate_smallest_drop(5, make_single_look(5), 24).drop)
    assert math.isfinite(estimate_smallest_drop(5, make_single_look(5), 8).drop)
    look = make_single_look(5)
    assert math.isinf(
        estimate_smallest_group_drop([10] * 3, look, [0.2] * 3, 4, ceilings=[True] * 3)
    )
    spread = estimate_smallest_group_drop([10] * 2, look, [0.2, 0.2], 3, ceilings=[False, True])
    assert spread > estimate_smallest_group_drop([10] * 2, look, [0.2, 0.2], 3)
    assert ceiling.are_returns_at_ceiling([1000.0] * 4 + [193.0])
    assert ceiling.are_returns_at_ceiling([1000.0, 1000.0])
    assert not ceiling.are_returns_at_ceiling([999.0, 998.0, 1000.0])
    assert not ceiling.are_returns_at_ceiling([1000.0, 1000.0, 1.0, 2.0, 3.0])


def test_half_of_the_seeds_collapsing_needs_ten_and_ten():
    """At 0.05, 10 and 10 seeds detect a collapse of half; 5 and 5 do not."""
    assert ceiling.find_smallest_rejecting_count(0, 10, 10, 0.05) == 4
    share = ceiling.find_smallest_detected_failing_share(0, 10, make_single_look(10), 0.05)
    assert share == pytest.approx(0.5, abs=0.03)
    assert ceiling.find_smallest_detected_failing_share(0, 5, make_single_look(5), 0.05) > 0.8
    assert ceiling.find_smallest_detected_failing_share(0, 3, make_single_look(3), 0.05) is None
    for failed, n, level in ((0, 10, 0.05), (2, 20, 0.01), (1, 5, 0.2)):
        rejecting = [
            ceiling.compute_fisher_p(failed, 10, count, n) < level for count in range(n + 1)
        ]
        assert ceiling.find_smallest_rejecting_count(failed, 10, n, level) == rejecting.index(True)


@pytest.mark.parametrize(("share", "power"), [(0.5, 0.83), (0.2, 0.2)])
def test_a_collapse_of_some_seeds_is_hard_to_see(share, power):
    """Three looks detect a collapse of half of the seeds in 83 %, of a fifth in 20 %."""
    rng, size = np.random.default_rng(20), 2_000
    failed = (rng.random((size, 20)) < share).cumsum(axis=1)
    undecided, rejected = np.ones(size, dtype=bool), np.zeros(size, dtype=bool)
    for n, weight, accept in THREE_LOOKS:
        p = np.array([ceiling.compute_fisher_p(0, 20, count, n) for count in range(n + 1)])
        rejected |= undecided & (p[failed[:, n - 1]] < weight * 0.05)
        undecided &= p[failed[:, n - 1]] <= accept
    assert rejected.mean() == pytest.approx(power, abs=0.03 + 4 * math.sqrt(0.25 / size))
    power = float(rejected.mean())
    detected = ceiling.find_smallest_detected_failing_share(
        0, 20, SEQUENTIAL_LOOKS, 0.05, power=power
    )
    assert detected == pytest.approx(share, abs=0.05)


def test_a_drop_beyond_a_floor_is_rejected_and_observed_with_the_stated_power():
    """80 % of 2000 comparisons of 10 with 5 runs are rejected and lose more than the floor."""
    floor = 1.0
    detected = estimate_smallest_drop(10, make_single_look(5), 1, floor=floor).drop
    rng = np.random.default_rng(1)
    stored, new = rng.normal(size=(2000, 10)), rng.normal(size=(2000, 5)) - detected
    rejected = compute_permutation_p_values(stored, new, rng).drop < 0.05
    beyond = stored.mean(axis=1) - new.mean(axis=1) > floor
    assert np.mean(rejected & beyond) == pytest.approx(0.8, abs=0.05)


def test_the_noise_of_a_cell_at_its_ceiling_counts_in_the_mean_of_its_group():
    """The group's drop is observed with it, so a drop just beyond the floor is not seen."""
    look, at_ceiling = make_single_look(20), [False, True]
    both = estimate_smallest_group_drop([20] * 2, look, [0.01] * 2, 3, floor=0.05)
    mixed = estimate_smallest_group_drop(
        [20] * 2, look, [0.01, 0.4], 3, floor=0.05, ceilings=at_ceiling
    )
    assert both < 0.06
    assert mixed == pytest.approx(0.05 + 0.84 * 0.4 / 2 * math.sqrt(2 / 20), rel=0.1)
