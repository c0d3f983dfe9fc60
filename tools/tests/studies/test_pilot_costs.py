"""The pilot study: what runs are summed up to, and after how many minutes a fault is told."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from rlregress.model.quantities import CRITIC
from rlregress.studies.pilot.pilot_costs import Curve, measured, prices, runs_for_drop, runs_needed
from rlregress.verdicts.permutation import permutation_p

#: nine evaluations of two CPU minutes, after ten CPU minutes of training each; five episodes
CURVE = Curve(
    evaluated=np.arange(100.0, 1000.0, 100.0),
    evaluations=np.arange(1.0, 10.0),
    training_minutes=np.arange(10.0, 100.0, 10.0),
    evaluation_minutes=np.full(9, 2.0),
    ended=np.array([100.0, 400.0, 500.0, 700.0, 900.0]),
    episodes=np.array([1.0, 2.0, 3.0, 4.0, 8.0]),
)


@pytest.mark.parametrize(
    ("measure", "last", "number", "minutes"),
    [
        ("final", 8, 9.0, 92.0),
        ("final", 2, 3.0, 32.0),
        ("late", 8, 8.0, 96.0),  # evaluations at 700, 800 and 900 steps
        ("area", 8, 5.0, 108.0),
        ("training", 8, 6.0, 90.0),  # episodes that ended at 700 and 900
        ("training area", 8, (1 * 1 + 2 * 3 + 3 * 1 + 4 * 2 + 8 * 2) / 9, 90.0),
        ("training", 4, 2.5, 50.0),  # after 500 steps: those that ended at 400 and 500
    ],
)
def test_a_run_is_summed_up(measure, last, number, minutes):
    """Only what was there when the training ended counts, and only what was needed is paid."""
    found, paid = measured(CURVE, measure, last)
    assert found == pytest.approx(number)
    assert paid == pytest.approx(minutes)


def test_the_critic_is_asked_at_the_end_of_a_run_alone():
    """Its error is that after the training, without evaluations; a shorter run has none."""
    curve = replace(CURVE, critic=0.5)
    assert measured(curve, "critic", 8) == (0.5, 90.0)
    assert math.isnan(measured(curve, "critic", 7)[0])
    assert math.isnan(measured(CURVE, "critic", 8)[0])


def test_no_episode_in_time_is_no_number():
    """A training that ends before its first episode has no return of training episodes."""
    curve = Curve(
        *(np.array([x]) for x in (10.0, 1.0, 1.0, 1.0)), np.array([50.0]), np.array([3.0])
    )
    found, _ = measured(curve, "training", 0)
    assert math.isnan(found)


def test_runs_follow_from_the_difference_in_deviations():
    """Beside 20 stored runs 5 new ones see 1.3 deviations, and 10 see 0.99."""
    before = np.tile([-1.0, 1.0], 50)
    assert runs_needed(before, before - 1.36, stored=20, level=0.05) == 5
    assert 9 <= runs_needed(before, before - 1.01, stored=20, level=0.05) <= 10
    assert runs_needed(before, before, stored=20, level=0.05) == math.inf
    assert runs_needed(before, before + 1.36, stored=20, level=0.05) == math.inf  # a gain


def test_a_small_difference_is_not_seen_beside_few_stored_runs():
    """Half a deviation is lost in the error of 20 stored runs; beside 100 it is seen."""
    before = np.tile([-1.0, 1.0], 10)
    assert runs_needed(before, before - 0.5, stored=20, level=0.05) == math.inf
    assert runs_needed(before, before - 0.6, stored=100, level=0.05) <= 40


def test_fewer_runs_than_a_permutation_test_can_reject_with_are_not_enough():
    """One against 20 runs has 21 arrangements, none of which is below 0.01; two have 231."""
    assert runs_needed([1000.0, 1001.0], [0.0, 1.0], stored=20, level=0.01) == 2
    assert runs_needed([1000.0, 1001.0], [0.0, 1.0], stored=20, level=0.06) == 1
    assert runs_needed([1.0, 1.0], [0.0, 0.0], stored=20, level=0.01) == 2


def test_the_price_of_a_drop_is_of_the_mean():
    """20 % of a mean of 100 at a deviation of 10 is a difference of two deviations."""
    before = 100 + 10 * np.tile([-1.0, 1.0], 10)
    assert runs_for_drop(before, 0.2, 20, 0.05) == runs_needed(before, before - 20, 20, 0.05)
    logarithms = 0.1 * np.tile([-1.0, 1.0], 10)
    worse = logarithms - math.log(1.2)
    assert runs_for_drop(logarithms, 0.2, 20, 0.05, CRITIC) == runs_needed(
        logarithms, worse, 20, 0.05, CRITIC
    )


def test_a_loss_within_the_floor_is_not_seen_however_sure_it_is():
    """Of a mean of 100, 4.9 are within the floor; 5.5 are beyond it at a small deviation."""
    before = 100 + 0.1 * np.tile([-1.0, 1.0], 10)
    assert runs_needed(before, before - 4.9, stored=20, level=0.05) == math.inf
    assert runs_needed(before, before - 5.5, stored=20, level=0.05) == 1
    # a factor of 1.04 of a critic's error is within the floor, 1.06 is not
    logarithms = 0.001 * np.tile([-1.0, 1.0], 10)
    assert runs_for_drop(logarithms, 0.04, 20, 0.05, CRITIC) == math.inf
    assert runs_for_drop(logarithms, 0.06, 20, 0.05, CRITIC) == 1


@pytest.mark.parametrize("difference", [1.6, 2.4])
def test_the_permutation_test_sees_after_so_many_runs(difference):
    """Measured on normal runs the power lies within 0.7 and 0.97: it was computed for 0.8."""
    rng = np.random.default_rng(0)
    spread = np.tile([-1.0, 1.0], 50)
    runs = int(runs_needed(spread, spread - difference, stored=20, level=0.01))
    found = 0
    for _ in range(200):
        stored, new = rng.normal(size=20), rng.normal(size=runs) - difference
        found += permutation_p(stored, new, rng, more=0).drop < 0.01
    assert 0.7 <= found / 200 <= 0.97, f"{runs} runs, power {found / 200}"


def _runs(final: float, rng: np.random.Generator) -> list[Curve]:
    """Six runs that all begin alike and end at ``final``, with a deviation of one."""
    made = []
    for _ in range(6):
        evaluations = np.linspace(0.0, final, 9) + rng.normal(size=9)
        minutes = CURVE.training_minutes / 100, CURVE.evaluation_minutes / 100
        made.append(Curve(CURVE.evaluated, evaluations, *minutes, CURVE.ended, CURVE.episodes))
    return made


def test_the_measure_that_tells_the_fault_for_the_fewest_minutes_comes_first():
    """A fault that shows in evaluations alone is not told by training episodes, at any length."""
    rng = np.random.default_rng(0)
    table = prices(_runs(100.0, rng), {"slower": _runs(50.0, rng)})
    best, worst = table[0], table[-1]
    assert best.measure in ("final", "late", "area")
    assert best.faults["slower"] <= 5 * best.minutes
    assert worst.measure.startswith("training")
    assert worst.faults == {"slower": math.inf}
    early = next(p for p in table if p.measure == "final" and p.steps == 100)
    assert early.faults["slower"] > best.faults["slower"]


def test_a_fault_that_helps_is_a_gain_and_no_loss():
    """What trains faster with a fault is told after as few minutes, but a gate lets it pass."""
    rng = np.random.default_rng(0)
    unchanged, changed = _runs(100.0, rng), _runs(50.0, rng)
    slower, faster = prices(unchanged, {"one": changed}), prices(changed, {"one": unchanged})
    final = [price for price in slower if price.measure == "final" and price.steps == 900]
    other = [price for price in faster if price.measure == "final" and price.steps == 900]
    assert final[0].faults == pytest.approx(other[0].gains)
    assert final[0].gains == other[0].faults == {"one": math.inf}
    assert final[0].faults["one"] <= 30


def test_without_faults_the_drop_decides():
    """A table of unchanged runs alone is ordered by what a common drop of 20 % costs."""
    table = prices(_runs(100.0, np.random.default_rng(1)), {})
    costs = [price.drop for price in table if price.drop <= 30]
    assert costs == sorted(costs)
