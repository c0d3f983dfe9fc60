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
from tests_behavior.clock import Clock, played
from tests_behavior.clock_trainings import hyperparameters, is_on_policy, joined, read
from tests_behavior.counter import ResetAsFinal
from tests_behavior.questions import asked

pytestmark = pytest.mark.without_cells

MEAN, DEVIATION = np.array([0.5, 0.75]), np.array([2.0, 0.5])
ENVIRONMENTS = 3


def in_units(framework: Adapter, algorithm: str, make) -> tuple[Minibatch, dict]:
    """Rows with the observations that the environments have shown, and the steps."""
    steps = 16 if is_on_policy(framework, algorithm) else 10
    statistics = _Statistics()
    rows = joined(
        read(
            framework, algorithm, make, ENVIRONMENTS, steps, TrainingVariant(statistics=statistics)
        )
    )
    observed = {
        name: np.round((values * DEVIATION + MEAN) * 1024) / 1024
        for name in ("observations", "next_observations")
        if (values := getattr(rows, name)) is not None
    }
    return replace(rows, **observed), played(ENVIRONMENTS, steps)


class _Statistics(tuple):
    """Mean and deviation, to be the key of a cache."""

    def __new__(cls) -> _Statistics:
        return super().__new__(cls, (MEAN, DEVIATION))

    def __hash__(self) -> int:
        return 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Statistics)


def found_source(framework: Adapter, algorithm: str, make) -> set[str]:
    """Return the possible sources of the value behind an end."""
    rows, met = in_units(framework, algorithm, make)
    if not is_on_policy(framework, algorithm):
        return value_sources.of_rows(rows, met, ENVIRONMENTS)
    discount = hyperparameters(framework, algorithm)["discount"]
    return value_sources.of_returns(rows, met, discount, ENVIRONMENTS)


def test_a_final_observation_is_normalised(framework, algorithm):
    """The value behind a truncation is that of the final observation, normalised as all others."""
    who = f"{framework} {algorithm}"
    with asked("truncation.normalised", framework.name, algorithm):
        sources = found_source(framework, algorithm, Clock)
        value_sources.assert_from(who, "a truncation", sources, value_sources.FINAL)


class NotNormalised(Clock):
    """A fault: normalising the final observation gives the original one.

    What is read of it is then what a framework would read that forgot to normalise it.
    """

    def step(self, action):
        """Step, and turn the last observation."""
        observation, reward, terminated, truncated, info = super().step(action)
        if terminated or truncated:
            observation = observation * DEVIATION + MEAN
        return observation, reward, terminated, truncated, info


@pytest.mark.nightly
@pytest.mark.parametrize(
    "fault",
    [NotNormalised, lambda n: ResetAsFinal(Clock(n))],
)
def test_another_final_observation_is_seen(framework, algorithm, fault):
    """Control: a final observation that was not normalised, or is another one, is not found."""
    who = f"{framework} {algorithm}"
    with asked("truncation.normalised", framework.name, algorithm):
        sources = found_source(framework, algorithm, partial(fault))
    with pytest.raises(AssertionError, match="to be of its final observation, found it of"):
        value_sources.assert_from(who, "a truncation", sources, value_sources.FINAL)
