"""Exploration in several environments: each has draws of its own.

The policy says the same of every observation, so that what differs between the actions of two
environments is exploration alone.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from rlregress.frameworks.base import Adapter
from tests_behavior import test_action_bounds as bounded
from tests_behavior.questions import asked

#: Of 64 pairs of independent draws the correlation is beyond this with a probability below 1e-11,
#: and 12 are looked at; of pairs that share their draws it is 1.
LARGEST_CORRELATION = 0.75


@cache
def warm_up(framework: Adapter, algorithm: str) -> np.ndarray:
    """Actions before learning starts: [256, 2]."""
    return bounded.executed_with(framework, algorithm, learning_starts=10_000)


def largest_correlation(actions: np.ndarray) -> float:
    """The largest correlation of two environments' actions in time, of [256, 2]."""
    of_each = actions.reshape(bounded.STEPS, bounded.ENVIRONMENTS, 2)
    found = []
    for dimension in range(2):
        matrix = np.corrcoef(of_each[:, :, dimension].T)
        found.append(np.abs(matrix[np.triu_indices(bounded.ENVIRONMENTS, 1)]).max())
    return float(max(found))


def assert_independent(who: str, actions: np.ndarray) -> None:
    """No two environments explore alike."""
    __tracebackhide__ = True
    found = largest_correlation(actions)
    if not found <= LARGEST_CORRELATION:
        raise AssertionError(
            f"{who}: expected exploration of its own in every environment, found two whose actions "
            f"have the correlation {found:.2f}"
        )


def test_every_environment_explores_by_itself(framework, algorithm):
    """The actions of no two of four environments are correlated."""
    who = f"{framework.title} {algorithm}"
    with asked("exploration.environments", framework.name, algorithm):
        found = bounded.executed(framework, algorithm)
        assert_independent(who, found)
    shared = found.reshape(bounded.STEPS, bounded.ENVIRONMENTS, 2).copy()
    shared[:, 1] = shared[:, 0]
    with pytest.raises(AssertionError, match="found two whose actions have the correlation 1.00"):
        assert_independent(who, shared)


@pytest.mark.nightly
def test_the_warm_up_is_uniform_and_of_each_environment(framework, algorithm):
    """Before learning starts actions are uniform within the bounds, and not correlated."""
    who = f"{framework.title} {algorithm}"
    with asked("exploration.warm_up", framework.name, algorithm):
        found = warm_up(framework, algorithm)
        assert_independent(who, found)
        for dimension, (low, high) in enumerate(zip(bounded.LOW, bounded.HIGH, strict=True)):
            uniform = np.linspace(low, high, 2000)
            bounded.assert_law(who, dimension, found[:, dimension], uniform)
    narrow = bounded.LOW + (found - bounded.LOW) / 2
    with pytest.raises(AssertionError, match="expected executed actions of dimension 0"):
        bounded.assert_law(who, 0, narrow[:, 0], np.linspace(bounded.LOW[0], bounded.HIGH[0], 2000))
