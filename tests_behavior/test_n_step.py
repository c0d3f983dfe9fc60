"""n-step returns: the rewards that a row sums, and the value behind them.

Three rewards, across truncations, terminations, and the place where a full buffer is written on.
"""

from __future__ import annotations

from functools import cache, partial

import numpy as np
import pytest

from rlregress.frameworks.base import Adapter
from rlregress.probing.interface import Minibatch, TrainingVariant
from tests_behavior.clock import Clock, StepRecorder, simulate_steps
from tests_behavior.clock_trainings import load_hyperparameters, read_minibatches
from tests_behavior.limit import LimitIs
from tests_behavior.questions import expect_answer
from tests_behavior.toy_settings import SEEDED, load_setting, skip_unless_trained
from tests_behavior.windows import assert_windows, compute_windows

pytestmark = pytest.mark.without_cells

N, STEPS = 3, 10


@cache
def read_newest_minibatch(
    framework: Adapter, algorithm: str, limit_is: LimitIs, environments: int, size: int
) -> tuple[Minibatch, dict[tuple[float, float], float]]:
    """Train; return the last minibatch, and the reward of every step."""
    paid: dict[tuple[float, float], float] = {}
    make = partial(_make_recorded_clock, paid=paid, limit_is=limit_is)
    three = TrainingVariant(n_steps=N)
    changes = {"replay_size": size * environments}
    rows = read_minibatches(
        framework, algorithm, _Uncached(make), environments, STEPS, three, **changes
    )[-1]
    return rows, paid


class _Uncached:
    """A function that is no key of a cache: each object is another function."""

    def __init__(self, function) -> None:
        self._function = function

    def __call__(self, number: int):
        return self._function(number)


def _make_recorded_clock(number: int, paid: dict, limit_is: LimitIs) -> StepRecorder:
    return StepRecorder(Clock(number, limit_is), paid, {})


def compute_expected_windows(
    framework: Adapter, algorithm: str, limit_is: LimitIs, environments: int, paid, n=N
):
    """Return the expected windows of all steps, with ends as the framework documents them."""
    options = load_hyperparameters(framework, algorithm)
    by_batch = load_setting(framework.name, "minibatches", algorithm).windows_end_with_batches
    return compute_windows(
        simulate_steps(environments, STEPS),
        paid,
        n,
        options["discount"],
        limit_is is LimitIs.TERMINATION,
        options["steps_per_collection"] if by_batch else STEPS,
    )


@pytest.mark.parametrize(
    ("environments", "size"),
    [
        *(pytest.param(*sizes, marks=pytest.mark.nightly) for sizes in ((1, 40), (1, 6), (3, 40))),
        (3, 6),
    ],
)
@pytest.mark.parametrize(
    "limit_is",
    [LimitIs.TRUNCATION, pytest.param(LimitIs.TERMINATION, marks=pytest.mark.nightly)],
    ids=lambda kind: kind.value,
)
def test_a_window_stays_in_its_episode(framework, algorithm, limit_is, environments, size):
    """A row sums up to three rewards of one episode, and the value behind them is of it, too.

    Of ten steps a buffer of six has forgotten four, and a window crosses its end.
    """
    who = f"{framework} {algorithm}"
    question = "n_step.truncation" if limit_is is LimitIs.TRUNCATION else "n_step.termination"
    with expect_answer(question, framework.name, algorithm):
        rows, paid = read_newest_minibatch(framework, algorithm, limit_is, environments, size)
        true_windows = compute_expected_windows(framework, algorithm, limit_is, environments, paid)
        assert_windows(who, rows, true_windows)


@pytest.mark.parametrize("wrong", [pytest.param("n", marks=pytest.mark.nightly), "end"])
def test_other_windows_are_seen(framework, algorithm, wrong):
    """Control: windows of two steps, and ones that run on through a truncation, are not these."""
    who = f"{framework} {algorithm}"
    with expect_answer("n_step.truncation", framework.name, algorithm):
        rows, paid = read_newest_minibatch(framework, algorithm, LimitIs.TRUNCATION, 3, 6)
    wrong_windows = compute_expected_windows(
        framework, algorithm, LimitIs.TRUNCATION, 3, paid, n=2 if wrong == "n" else N
    )
    if wrong == "end":
        endless = dict.fromkeys(simulate_steps(3, STEPS), False)
        discount = load_hyperparameters(framework, algorithm)["discount"]
        wrong_windows = compute_windows(endless, paid, N, discount, False, STEPS)
    with pytest.raises(AssertionError, match="expected the sum of rewards of the step of"):
        assert_windows(who, rows, wrong_windows)
    assert np.isfinite(rows.rewards).all()


def assert_targets_share_one_value(who: str, rows: Minibatch, discounts: np.ndarray) -> None:
    """Assert that (targets - rewards) / discounts, [rows], is one value for each last observation.

    It is, if windows of several lengths discount the value by their lengths.
    """
    __tracebackhide__ = True
    assert rows.targets is not None
    assert rows.next_observations is not None
    values = (rows.targets.astype(np.float64) - rows.rewards) / discounts
    for place in sorted(set(map(tuple, rows.next_observations))):
        behind = values[(rows.next_observations == place).all(1)]
        if np.ptp(behind) > 1e-5 * max(1.0, np.abs(rows.rewards).max()):
            raise AssertionError(
                f"{who}: expected one value of {tuple(map(float, place))} behind all windows that "
                f"end there, found values from {behind.min():.5f} to {behind.max():.5f}"
            )


@pytest.mark.parametrize("other", SEEDED)
def test_a_target_discounts_the_value_by_the_length_of_its_window(framework, other):
    """Windows of one, two and three steps that end alike have targets of one value behind them.

    Asked where no noise and no entropy is part of a target.
    """
    skip_unless_trained(framework, other)
    who = f"{framework} {other}"
    with expect_answer("n_step.truncation", framework.name, other):
        rows, _ = read_newest_minibatch(framework, other, LimitIs.TRUNCATION, 3, 40)
        assert_targets_share_one_value(who, rows, rows.discounts)
    discount = load_hyperparameters(framework, other)["discount"]
    with pytest.raises(AssertionError, match="expected one value of .* found values from"):
        assert_targets_share_one_value(who, rows, np.full(len(rows.observations), discount))
