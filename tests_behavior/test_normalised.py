"""Normalised observations: a final observation is normalised as every other one is.

The framework's own normalisation, with given statistics that are frozen: what an update reads,
brought back to the environment's units, has to be what the environment has shown. A value of a
final observation that was not normalised would be the value of another observation.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from rlregress.frameworks.base import Adapter
from rlregress.probing.interface import Minibatch, TrainingVariant
from tests_behavior import value_sources
from tests_behavior.clock import Clock, simulate_steps
from tests_behavior.clock_trainings import (
    is_on_policy,
    join_rows,
    load_hyperparameters,
    read_minibatches,
)
from tests_behavior.counter import ResetAsFinal
from tests_behavior.questions import expect_answer

pytestmark = pytest.mark.without_cells

MEAN, DEVIATION = np.array([0.5, 0.75]), np.array([2.0, 0.5])
ENVIRONMENTS = 3


def collect_rows_in_units(framework: Adapter, algorithm: str, make) -> tuple[Minibatch, dict]:
    """Return rows with observations in the environment's units, and all steps."""
    steps = 16 if is_on_policy(framework, algorithm) else 10
    statistics = _Statistics()
    rows = join_rows(
        read_minibatches(
            framework, algorithm, make, ENVIRONMENTS, steps, TrainingVariant(statistics=statistics)
        )
    )
    observed = {
        name: np.round((values * DEVIATION + MEAN) * 1024) / 1024
        for name in ("observations", "next_observations")
        if (values := getattr(rows, name)) is not None
    }
    return replace(rows, **observed), simulate_steps(ENVIRONMENTS, steps)


class _Statistics(tuple):
    """Mean and deviation, as a hashable key of a cache."""

    def __new__(cls) -> _Statistics:
        return super().__new__(cls, (MEAN, DEVIATION))

    def __hash__(self) -> int:
        return 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Statistics)


def find_sources(framework: Adapter, algorithm: str, make) -> set[str]:
    """Return the possible sources of the value after an end."""
    rows, met = collect_rows_in_units(framework, algorithm, make)
    if not is_on_policy(framework, algorithm):
        return value_sources.find_next_sources(rows, met, ENVIRONMENTS)
    discount = load_hyperparameters(framework, algorithm)["discount"]
    return value_sources.find_return_sources(rows, met, discount, ENVIRONMENTS)


def test_a_final_observation_is_normalised(framework, algorithm):
    """The value behind a truncation is that of the final observation, normalised as all others."""
    who = f"{framework} {algorithm}"
    with expect_answer("truncation.normalised", framework.name, algorithm):
        sources = find_sources(framework, algorithm, Clock)
        value_sources.assert_source(who, "a truncation", sources, value_sources.FINAL)


class NotNormalised(Clock):
    """A fault: normalising the final observation gives the original one.

    What is read of it is then what a framework would read that forgot to normalise it.
    """

    def step(self, action):
        """Step; at an end, change the observation so that normalising gives the original."""
        observation, reward, terminated, truncated, info = super().step(action)
        if terminated or truncated:
            observation = observation * DEVIATION + MEAN
        return observation, reward, terminated, truncated, info


@pytest.mark.two_algorithms_by_day
@pytest.mark.parametrize(
    "fault",
    [NotNormalised, lambda n: ResetAsFinal(Clock(n))],
)
def test_another_final_observation_is_seen(framework, algorithm, fault):
    """Control: a final observation that was not normalised, or is another one, is not found."""
    who = f"{framework} {algorithm}"
    with expect_answer("truncation.normalised", framework.name, algorithm):
        sources = find_sources(framework, algorithm, partial(fault))
    with pytest.raises(AssertionError, match="to be of its final observation, found it of"):
        value_sources.assert_source(who, "a truncation", sources, value_sources.FINAL)
