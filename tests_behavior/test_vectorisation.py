"""Vectorised environments: stored rows of one environment never mix with another's."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

from rlregress.frameworks.base import Adapter
from rlregress.probing.interface import TrainingRequest, Transitions
from rlregress.probing.isolation import shift_seed
from tests_behavior.action_spaces import made_for
from tests_behavior.assertions import assert_rows_belong_together, assert_stored
from tests_behavior.counter import EPISODE, STEP, ResetAsFinal, StepCounter, numbered
from tests_behavior.toy_settings import ONE_ENVIRONMENT, setting

pytestmark = pytest.mark.without_cells

OBSERVATIONS = [[0, 1, 2, 3, 4], [5, 6, 7, 0, 1], [2, 3, 4, 5, 6]]


def environments(framework: Adapter, algorithm: str) -> int:
    """Two, or as many as the framework takes for the algorithm."""
    return setting(framework.name, "segments", algorithm).environments(2)


def collect(framework: Adapter, algorithm: str, make_env) -> Transitions:
    """Three segments of five steps from each of the environments."""
    options = setting(framework.name, "segments", algorithm)
    number = environments(framework, algorithm)
    request = TrainingRequest(
        algorithm=algorithm,
        make_env=lambda: made_for(algorithm, make_env()),
        hyperparameters=options.hyperparameters,
        total_steps=15 * number,
        seed=shift_seed(0),
    )
    return framework.train.collect_transitions(request, number).join_short_segments(5)


@cache
def plain(framework: Adapter, algorithm: str) -> Transitions:
    """The segments of environments that count by themselves."""
    return collect(framework, algorithm, numbered())


def rows(framework: Adapter, algorithm: str, field: np.ndarray | None) -> np.ndarray | None:
    """A field [rows, environments, 3] without a first row that is documented to be out of place."""
    options = setting(framework.name, "segments", algorithm)
    first = 1 if options.first_row_from_before_seeding else 0
    return None if field is None else field.reshape(-1, *field.shape[2:])[first:]


def twins() -> Callable[[], StepCounter]:
    """A factory of environments that are different objects with one and the same state."""
    state = vars(StepCounter())

    def make() -> StepCounter:
        twin = StepCounter()
        twin.__dict__ = state
        return twin

    return make


def test_each_environment_has_its_own_rows(framework, algorithm):
    """Each column holds one environment, step by step, and next belongs to the same episode."""
    who = f"{framework} {algorithm}"
    stored = plain(framework, algorithm)
    number = environments(framework, algorithm)
    assert stored.observations.shape == (3, 5, number, 3)
    assert_rows_belong_together(
        who,
        rows(framework, algorithm, stored.observations),
        rows(framework, algorithm, stored.next_observations),
    )
    for column in range(number):
        steps = stored.observations[:, :, column, STEP]
        assert_stored(f"{who}, environment {column}", "observations", steps, OBSERVATIONS)


def test_the_first_row_is_of_the_first_episode(framework, algorithm):
    """The first stored observation is of the same episode as the second, unless documented not."""
    who = f"{framework} {algorithm}"
    stored = plain(framework, algorithm)
    cut_off = setting(framework.name, "segments", algorithm).first_row_from_before_seeding
    first, second = stored.observations[0, 0, :, EPISODE], stored.observations[0, 1, :, EPISODE]
    field = "first rows from before the seeding"
    assert_stored(who, field, first != second, [cut_off] * len(first))


def test_environments_that_share_a_state_are_seen(framework, algorithm):
    """Control: two environments that move the same counter do not pass for two."""
    if environments(framework, algorithm) == 1:
        pytest.skip(ONE_ENVIRONMENT)
    who = f"{framework} {algorithm}"
    stored = collect(framework, algorithm, twins())
    with pytest.raises(AssertionError, match=f"^{who}: expected every column to hold one"):
        assert_rows_belong_together(
            who,
            rows(framework, algorithm, stored.observations),
            rows(framework, algorithm, stored.next_observations),
        )


def test_a_lost_final_observation_is_seen(framework, algorithm):
    """Control: a reset observation in the place of the final one is not of the same episode."""
    who = f"{framework} {algorithm}"
    stored = collect(framework, algorithm, numbered(lambda n: ResetAsFinal(StepCounter(n))))
    if "next_observations" not in setting(framework.name, "segments", algorithm).stores:
        assert_stored(who, "next observations", stored.next_observations, None)
        return
    with pytest.raises(AssertionError, match=r"to be \[\d, \d, 8\], found \[\d, \d, 0\]"):
        assert_rows_belong_together(
            who,
            rows(framework, algorithm, stored.observations),
            rows(framework, algorithm, stored.next_observations),
        )
