"""Vectorised environments: stored rows of one environment never mix with another's."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

from rlregress.frameworks.base import Adapter
from rlregress.probing.interface import TrainingRequest, Transitions
from rlregress.probing.isolation import shift_seed
from tests_behavior.action_spaces import adapt_actions
from tests_behavior.assertions import assert_rows_belong_together, assert_stored
from tests_behavior.counter import EPISODE, STEP, ResetAsFinal, StepCounter, number_environments
from tests_behavior.toy_settings import ONE_ENVIRONMENT, load_setting

pytestmark = pytest.mark.without_cells

OBSERVATIONS = [[0, 1, 2, 3, 4], [5, 6, 7, 0, 1], [2, 3, 4, 5, 6]]


def count_environments(framework: Adapter, algorithm: str) -> int:
    """Return 2, or as many environments as the framework takes for the algorithm."""
    return load_setting(framework.name, "segments", algorithm).limit_environments(2)


def collect_segments(framework: Adapter, algorithm: str, make_env) -> Transitions:
    """Return three segments of five steps in each environment."""
    options = load_setting(framework.name, "segments", algorithm)
    number = count_environments(framework, algorithm)
    request = TrainingRequest(
        algorithm=algorithm,
        make_env=lambda: adapt_actions(algorithm, make_env()),
        hyperparameters=options.hyperparameters,
        total_steps=15 * number,
        seed=shift_seed(0),
    )
    return framework.train.collect_transitions(request, number).join_short_segments(5)


@cache
def collect_numbered_segments(framework: Adapter, algorithm: str) -> Transitions:
    """Return the segments of environments with numbers of their own."""
    return collect_segments(framework, algorithm, number_environments())


def select_rows(framework: Adapter, algorithm: str, field: np.ndarray | None) -> np.ndarray | None:
    """Return a field, [rows, environments, 3], without a first row from before the seeding."""
    options = load_setting(framework.name, "segments", algorithm)
    first = 1 if options.first_row_from_before_seeding else 0
    return None if field is None else field.reshape(-1, *field.shape[2:])[first:]


def make_factory_of_twins() -> Callable[[], StepCounter]:
    """Return a factory of environments that are different objects and share one state."""
    state = vars(StepCounter())

    def make() -> StepCounter:
        twin = StepCounter()
        twin.__dict__ = state
        return twin

    return make


def test_each_environment_has_its_own_rows(framework, algorithm):
    """Each column holds one environment, step by step, and next belongs to the same episode."""
    who = f"{framework} {algorithm}"
    stored = collect_numbered_segments(framework, algorithm)
    number = count_environments(framework, algorithm)
    assert stored.observations.shape == (3, 5, number, 3)
    assert_rows_belong_together(
        who,
        select_rows(framework, algorithm, stored.observations),
        select_rows(framework, algorithm, stored.next_observations),
    )
    for column in range(number):
        steps = stored.observations[:, :, column, STEP]
        assert_stored(f"{who}, environment {column}", "observations", steps, OBSERVATIONS)


def test_the_first_row_is_of_the_first_episode(framework, algorithm):
    """The first stored observation is of the same episode as the second, unless documented not."""
    who = f"{framework} {algorithm}"
    stored = collect_numbered_segments(framework, algorithm)
    cut_off = load_setting(framework.name, "segments", algorithm).first_row_from_before_seeding
    first, second = stored.observations[0, 0, :, EPISODE], stored.observations[0, 1, :, EPISODE]
    field = "first rows from before the seeding"
    assert_stored(who, field, first != second, [cut_off] * len(first))


def test_environments_that_share_a_state_are_seen(framework, algorithm):
    """Control: two environments that move the same counter do not pass for two."""
    if count_environments(framework, algorithm) == 1:
        pytest.skip(ONE_ENVIRONMENT)
    who = f"{framework} {algorithm}"
    stored = collect_segments(framework, algorithm, make_factory_of_twins())
    with pytest.raises(AssertionError, match=f"^{who}: expected every column to hold one"):
        assert_rows_belong_together(
            who,
            select_rows(framework, algorithm, stored.observations),
            select_rows(framework, algorithm, stored.next_observations),
        )


def test_a_lost_final_observation_is_seen(framework, algorithm):
    """Control: a reset observation in the place of the final one is not of the same episode."""
    who = f"{framework} {algorithm}"
    stored = collect_segments(
        framework, algorithm, number_environments(lambda n: ResetAsFinal(StepCounter(n)))
    )
    if "next_observations" not in load_setting(framework.name, "segments", algorithm).stores:
        assert_stored(who, "next observations", stored.next_observations, None)
        return
    with pytest.raises(AssertionError, match=r"to be \[\d, \d, 8\], found \[\d, \d, 0\]"):
        assert_rows_belong_together(
            who,
            select_rows(framework, algorithm, stored.observations),
            select_rows(framework, algorithm, stored.next_observations),
        )
