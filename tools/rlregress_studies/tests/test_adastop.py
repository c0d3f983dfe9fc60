"""AdaStop: brute force on tiny cells, simulated error rates, and the plans that it refuses."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from rlregress.errors import UserError
from rlregress_studies.rank.adastop import (
    GREATER,
    NOT_SEPARATED,
    SMALLER,
    UNDECIDED,
    AdastopPlan,
    compare_samples,
)

TWO = [(0, 1)]


def decisions(samples, plan):
    """Return the decisions about all pairs, in order."""
    pairs = list(itertools.combinations(range(len(samples)), 2))
    return [pair.decision for pair in compare_samples(samples, pairs, plan).pairs]


def brute_force(first, second, plan):
    """(decision, look, upper boundaries) of two samples, by loops over all arrangements.

    Every way to deal each block, kept while no look has rejected it; the boundary of a look is the
    smallest statistic that few enough of the kept ones exceed.
    """
    n = plan.runs
    choices = list(itertools.combinations(range(2 * n), n))
    possible = list(itertools.product(choices, repeat=plan.looks))
    count, spent, boundaries = len(possible), 0, []
    for look in range(1, plan.looks + 1):

        def statistic(ways, look=look):
            total = 0.0
            for block, places in enumerate(ways[:look]):
                at = slice(block * n, (block + 1) * n)
                pooled = [*first[at], *second[at]]
                total += sum(x if place in places else -x for place, x in enumerate(pooled))
            return round(abs(total) / np.std([*first[: look * n], *second[: look * n]]), 6)

        statistics = [statistic(ways) for ways in possible]
        allowed = plan.alpha * look / plan.looks * count - spent
        boundary = min(b for b in statistics if sum(t > b for t in statistics) <= allowed + 1e-9)
        boundaries.append(boundary)
        own = (tuple(range(n)),) * plan.looks
        if statistic(own) > boundary:
            greater = sum(first[: look * n]) > sum(second[: look * n])
            return GREATER if greater else SMALLER, look, boundaries
        spent += sum(t > boundary for t in statistics)
        possible = [ways for ways, t in zip(possible, statistics, strict=True) if t <= boundary]
    return NOT_SEPARATED, plan.looks, boundaries


@pytest.mark.parametrize(
    "plan",
    [AdastopPlan(runs=4, looks=1, alpha=0.1), AdastopPlan(runs=3, looks=2, alpha=0.1),
     AdastopPlan(runs=2, looks=3, alpha=0.2)],
)  # fmt: skip
@pytest.mark.parametrize("shift", [0.0, 2.0])
def test_small_cells_are_decided_as_by_brute_force(plan, shift):
    """Decision, look and every boundary are those of a loop over all arrangements."""
    for seed in range(4):
        rng = np.random.default_rng([seed, plan.runs])
        first, second = np.round(rng.normal(0, 1, (2, plan.runs * plan.looks)), 3)
        result = compare_samples([first + shift, second], TWO, plan)
        decision, look, boundaries = brute_force(first + shift, second, plan)
        assert (result.pairs[0].decision, result.pairs[0].look) == (decision, look)
        assert [look_.upper for look_ in result.looks] == pytest.approx(boundaries, abs=1e-5)


@pytest.mark.parametrize("runs", [3, 6])
def test_the_observed_arrangement_is_among_those_that_are_drawn(runs):
    """If no arrangement may be rejected yet, nothing is separated, however few are drawn."""
    clear = [np.arange(2.0 * runs) + 100, np.arange(2.0 * runs)]
    for seed in range(60):
        # 0.025 of 30 arrangements may be beyond the boundary of the first look: none
        result = compare_samples(clear, TWO, AdastopPlan(runs=runs, looks=2, draws=30, seed=seed))
        assert result.looks[0].statistics[0, 1] <= result.looks[0].upper + 1e-9
        assert result.pairs[0].look == 2


def test_a_decision_that_has_fallen_is_not_changed_by_later_runs():
    """A sample whose pairs are decided needs no more."""
    rng = np.random.default_rng(2)
    samples = [rng.normal(mean, 1, 25) for mean in (0.0, 0.2, 3.0)]
    pairs = [(0, 1), (0, 2), (1, 2)]
    few = compare_samples([sample[:10] for sample in samples], pairs, AdastopPlan()).pairs
    many = compare_samples(samples, pairs, AdastopPlan()).pairs
    assert [pair.decision for pair in few] == [UNDECIDED, SMALLER, SMALLER]
    assert few[1:] == many[1:]
    assert many[0].decision == NOT_SEPARATED
    rng = np.random.default_rng(2)
    long = [rng.normal(0, 1, 25), rng.normal(0.2, 1, 25)]
    short = rng.normal(9, 1, 5)
    result = compare_samples([*long, short], [(0, 1), (0, 2), (1, 2)], AdastopPlan())
    assert [(pair.decision, pair.look) for pair in result.pairs] == [
        (NOT_SEPARATED, 5), (SMALLER, 1), (SMALLER, 1),
    ]  # fmt: skip


def test_step_down_sees_what_one_boundary_for_all_pairs_hides():
    """Once a clear pair is separated, the boundary is that of the other pair alone."""
    rng = np.random.default_rng(2)
    near = [rng.normal(0, 1, 8), rng.normal(1.2, 1, 8)]
    far = [rng.normal(0, 1, 8), rng.normal(9, 1, 8)]
    pairs, plan = [(0, 1), (2, 3)], AdastopPlan(runs=8, looks=1)
    both = compare_samples([*near, *far], pairs, plan)
    assert [pair.decision for pair in both.pairs] == [SMALLER, SMALLER]
    # beside a pair that stays in the family the boundary is that of both
    with_near_pair = compare_samples([*near, far[0], far[0][::-1]], pairs, plan)
    assert [pair.decision for pair in with_near_pair.pairs] == [NOT_SEPARATED, NOT_SEPARATED]
    assert both.looks[0].upper < both.looks[0].statistics[0, 1] < with_near_pair.looks[0].upper


def test_a_diverged_sample_hides_no_difference_of_others():
    """The decision about two samples that tie depends on these two alone.

    The same holds if it stays undecided, with returns of 1e11 and a spread of 1.
    """
    far = -1e11
    noise = np.random.default_rng(4).normal(0, 1, (4, 10))
    samples = [noise[0] + 2, noise[1] + 102, noise[2] + far]
    plan = AdastopPlan(runs=5, looks=2)
    assert decisions(samples, plan) == [SMALLER, GREATER, GREATER]
    samples = [noise[0], noise[1] + 9, noise[2] + abs(far), noise[3] + abs(far)]
    pairs = compare_samples(samples, [(0, 1), (2, 3)], plan).pairs
    assert [pair.decision for pair in pairs] == [SMALLER, NOT_SEPARATED]


def test_early_acceptance_leaves_the_boundaries_of_rejection_alone():
    """What an arrangement might have accepted does not lower the boundary of a later look."""
    samples = np.random.default_rng(3).normal(0, 1, (2, 20))
    samples[0] += 0.4
    never, early = (
        compare_samples(samples, TWO, AdastopPlan(runs=5, looks=4, beta=beta)).looks
        for beta in (0.0, 0.4)
    )
    upper = [look.upper for look in early]
    assert upper == [look.upper for look in never][: len(upper)]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((3, 1, 0.05), "1 x 3 runs of each implementation cannot separate any two at alpha 0.05"),
        ((5, 5, 0.05, 0.0, 10), "cannot separate any two at alpha 0.05"),
        ((0, 5), "expected each number to be at least 1"),
        ((5, 10**9), "1000000000 looks are too many: expected 1000 at most"),
        ((5, 5, math.nan), "alpha nan"),
        ((5, 5, 0.05, -0.1), "beta -0.1"),
    ],
)
def test_a_plan_that_can_decide_nothing_is_refused(arguments, sentence):
    """Too few runs, too few arrangements or an invalid level is an error of one sentence."""
    names = ("runs", "looks", "alpha", "beta", "draws")
    with pytest.raises(UserError, match=sentence):
        AdastopPlan(**dict(zip(names, arguments, strict=False)))


def test_small_cells_are_separated_only_if_they_can_be():
    """Two of 70 arrangements are the clearest, a share of 0.029; returns that tie are not
    separated.
    """
    assert AdastopPlan(runs=4, looks=1).smallest_share == pytest.approx(2 / 70)
    assert decisions([[1, 2, 3, 4], [6, 7, 8, 9]], AdastopPlan(runs=4, looks=1)) == [SMALLER]
    assert decisions([np.full(10, 1000.0)] * 3, AdastopPlan(runs=5, looks=2)) == [NOT_SEPARATED] * 3
    tied = [[1000, 1000, 1000, 1000, 193]] * 2
    assert decisions(tied, AdastopPlan(runs=5, looks=1)) == [NOT_SEPARATED]
    with pytest.raises(UserError, match="not a finite number"):
        compare_samples([[1, 2, 3, 4], [1, 2, math.nan, 4]], TWO, AdastopPlan(runs=4, looks=1))


def test_early_acceptance_saves_runs_and_spends_beta():
    """Two equal samples are accepted before the last look in about beta of the comparisons."""
    repetitions, accepted = 300, 0
    rng = np.random.default_rng(11)
    for seed in range(repetitions):
        plan = AdastopPlan(runs=5, looks=4, alpha=0.05, beta=0.4, draws=500, seed=seed)
        pair = compare_samples(rng.normal(0, 1, (2, 20)), TWO, plan).pairs[0]
        accepted += pair.decision == NOT_SEPARATED and pair.look < 4
    # three of four parts of beta are spent before the last look
    error = math.sqrt(0.3 * 0.7 / repetitions)
    assert accepted / repetitions == pytest.approx(0.3, abs=4 * error)
