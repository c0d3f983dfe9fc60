"""Exploration in several environments: each has draws of its own.

The policy says the same of every observation, so that what differs between the actions of two
environments is exploration alone.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from rlregress.frameworks.base import Adapter
from tests_behavior import choices
from tests_behavior import test_action_bounds as bounded
from tests_behavior.action_spaces import CHOOSING
from tests_behavior.questions import asked

pytestmark = pytest.mark.without_cells

#: Of 64 pairs of independent draws the correlation is beyond this with a probability below 1e-11,
#: and 12 are looked at; of 64 independent decisions with one below 1e-9, and 6 are looked at. Of
#: pairs that share their draws it is 1.
LARGEST_CORRELATION = 0.75


def explored(framework: Adapter, algorithm: str, **changes: int) -> np.ndarray:
    """Actions while the algorithm explores: [steps, environments, dimensions], 256 in all."""
    number, total = bounded.environments(framework, algorithm), bounded.STEPS * bounded.ENVIRONMENTS
    if algorithm in CHOOSING:
        actions = choices.explored(framework, algorithm, number, 2 * total, **changes)
    elif changes:
        actions = bounded.executed_with(framework, algorithm, **changes)
    else:
        actions = bounded.executed(framework, algorithm)
    return actions.reshape(-1, number, actions.shape[-1])


@cache
def warm_up(framework: Adapter, algorithm: str) -> np.ndarray:
    """Actions before learning starts: [steps, environments, dimensions]."""
    return explored(framework, algorithm, learning_starts=10_000)


def bounds_of(algorithm: str) -> list[tuple[float, float]]:
    """The lowest and the highest action of each dimension."""
    if algorithm in CHOOSING:
        return [(0.0, choices.ACTIONS - 1.0)]
    return list(zip(bounded.LOW, bounded.HIGH, strict=True))


def assert_independent(who: str, actions: np.ndarray) -> None:
    """No two environments explore alike."""
    __tracebackhide__ = True
    correlation = choices.largest_correlation(actions)
    if not correlation <= LARGEST_CORRELATION:
        raise AssertionError(
            f"{who}: expected exploration of its own in every environment, found two whose actions "
            f"have the correlation {correlation:.2f}"
        )


def assert_explores_by_itself(who: str, algorithm: str, actions: np.ndarray) -> None:
    """No two environments explore alike; where one of many is chosen, nor decide to together."""
    __tracebackhide__ = True
    if algorithm in CHOOSING:
        choices.assert_draws_of_their_own(who, actions, LARGEST_CORRELATION)
    else:
        assert_independent(who, actions)


def test_every_environment_explores_by_itself(framework, algorithm):
    """The actions of no two of four environments are correlated."""
    who = f"{framework} {algorithm}"
    with asked("exploration.environments", framework.name, algorithm):
        actions = explored(framework, algorithm)
        assert_explores_by_itself(who, algorithm, actions)
    shared = actions.copy()
    shared[:, 1] = shared[:, 0]
    with pytest.raises(AssertionError, match="found two whose .* have the correlation 1.00"):
        assert_explores_by_itself(who, algorithm, shared)


@pytest.mark.nightly
def test_the_warm_up_is_uniform_and_of_each_environment(framework, algorithm):
    """Before learning starts actions are uniform within the bounds, and not correlated."""
    who = f"{framework} {algorithm}"
    with asked("exploration.warm_up", framework.name, algorithm):
        actions = warm_up(framework, algorithm)
        if actions.shape[1] > 1:
            assert_independent(who, actions)
        for dimension, (low, high) in enumerate(bounds_of(algorithm)):
            uniform = np.linspace(low, high, 2000)
            bounded.assert_law(who, dimension, actions[:, :, dimension].ravel(), uniform)
    low, high = bounds_of(algorithm)[0]
    narrow = low + (actions[:, :, 0].ravel() - low) / 2
    with pytest.raises(AssertionError, match="expected executed actions of dimension 0"):
        bounded.assert_law(who, 0, narrow, np.linspace(low, high, 2000))
