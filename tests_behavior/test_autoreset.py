"""The three conventions of Gymnasium's vectorised environments for what comes after an end.

In the next step (its action is ignored, its reward is none), in the same step (the final
observation is in the info), or not at all (the caller resets). Whatever the convention: every row
that updates read is a step that was made, and the value behind a truncation is of the final
observation.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from rlregress.frameworks.base import Adapter
from rlregress.probing.interface import Minibatch, TrainingVariant
from tests_behavior import value_sources
from tests_behavior.assertions import assert_one_step_returns, assert_transitions
from tests_behavior.clock import TERMINATED, Clock, StepRecorder
from tests_behavior.clock_trainings import (
    count_environments,
    is_on_policy,
    join_rows,
    load_hyperparameters,
    read_minibatches,
)
from tests_behavior.questions import expect_answer
from tests_behavior.toy_settings import load_setting

#: (environment, time) -> the step ended an episode
Steps = dict[tuple[float, float], bool]

pytestmark = pytest.mark.without_cells

#: a further variant of what runs anyway
NIGHTLY = pytest.mark.nightly


@cache
def collect_rows(
    framework: Adapter, algorithm: str, make, environments: int, mode: str
) -> tuple[Minibatch, Steps]:
    """Return the rows of all minibatches with a reset mode, and the environments' steps.

    Raises:
        AssertionError: the training ended in an error.
    """
    steps = 16 if is_on_policy(framework, algorithm) else 10
    met: Steps = {}
    try:
        rows = read_minibatches(
            framework,
            algorithm,
            # a framework may step environments before the training, to look at what they show
            lambda number: StepRecorder(make(number), {}, met),
            environments,
            steps,
            TrainingVariant(autoreset=mode),
        )
        return join_rows(rows), met
    except (AssertionError, KeyError, RuntimeError, ValueError) as error:
        text = f"{type(error).__name__}: {error}"
        raise AssertionError(f"expected a training to its end, found {text}") from error


def assert_rows_of_steps(
    framework: Adapter, algorithm: str, make, rows: Minibatch, met: Steps, environments: int
) -> None:
    """Assert that rows are steps that happened, with the right value after an end."""
    __tracebackhide__ = True
    who = f"{framework} {algorithm}"
    options = load_setting(framework.name, "minibatches", algorithm)
    terminates = make is TERMINATED
    assert_transitions(who, rows, met, terminates, options.reset_after_termination)
    if is_on_policy(framework, algorithm):
        discount = load_hyperparameters(framework, algorithm)["discount"]
        has_value = not (terminates or options.truncation_is_termination)
        assert_one_step_returns(who, rows, met, discount, value_after_end=has_value)
        sources = value_sources.find_return_sources(rows, met, discount, environments)
    else:
        sources = value_sources.find_next_sources(rows, met, environments)
    no_value = terminates or options.truncation_is_termination
    expected = value_sources.NOTHING if no_value else value_sources.FINAL
    value_sources.assert_source(who, "an end", sources, expected)


@pytest.mark.parametrize("environments", [pytest.param(1, marks=NIGHTLY), 3])
@pytest.mark.parametrize(
    "make",
    [pytest.param(Clock, id="truncated"), pytest.param(TERMINATED, id="terminated", marks=NIGHTLY)],
)
@pytest.mark.parametrize("mode", ["next_step", "same_step", "disabled"])
def test_rows_are_steps_that_were_made(framework, algorithm, mode, make, environments):
    """Environments that end at different times give no row that never happened."""
    environments = count_environments(framework, algorithm, environments)
    case = "truncated" if make is Clock else "terminated"
    with expect_answer(f"autoreset.{mode}", framework.name, algorithm, case):
        rows, met = collect_rows(framework, algorithm, make, environments, mode)
        assert_rows_of_steps(framework, algorithm, make, rows, met, environments)


class LateReset(Clock):
    """A fault: the first step after an end is a reset that is reported as a step."""

    _over = False

    def reset(self, **options):
        """Return the final observation once more, if an episode has just ended."""
        if self._over:
            return self._observation(), {}
        return super().reset(**options)

    def step(self, action):
        """Step; after an end, reset instead."""
        if self._over:
            self._over = False
            return super().reset()[0], 0.0, False, False, {}
        outcome = super().step(action)
        self._over = outcome[2] or outcome[3]
        return outcome


@pytest.mark.two_algorithms_by_day
def test_a_row_that_never_happened_is_seen(framework, algorithm):
    """Control: with a reset that goes by as a step, some row is not a step that was made."""
    with expect_answer("autoreset.same_step", framework.name, algorithm, "late"):
        rows, met = collect_rows(framework, algorithm, LateReset, 1, "same_step")
    with pytest.raises(AssertionError, match="expected "):
        assert_rows_of_steps(framework, algorithm, LateReset, rows, met, 1)
    assert np.isfinite(rows.observations).all()
