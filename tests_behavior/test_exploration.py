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
from tests_behavior.action_spaces import DISCRETE
from tests_behavior.questions import expect_answer

pytestmark = pytest.mark.without_cells

#: Of 64 pairs of independent draws the correlation is beyond this with a probability below 1e-11,
#: and 12 are looked at; of 64 independent decisions with one below 1e-9, and 6 are looked at. Of
#: pairs that share their draws it is 1.
LARGEST_CORRELATION = 0.75


def collect_actions(framework: Adapter, algorithm: str, **changes: int) -> np.ndarray:
    """Return 256 actions while the algorithm explores: [steps, environments, dimensions]."""
    number, total = (
        bounded.count_environments(framework, algorithm),
        bounded.STEPS * bounded.ENVIRONMENTS,
    )
    if algorithm in DISCRETE:
        actions = choices.collect_choices(framework, algorithm, number, 2 * total, **changes)
    elif changes:
        actions = bounded.train_and_collect_actions(framework, algorithm, **changes)
    else:
        actions = bounded.collect_actions(framework, algorithm)
    return actions.reshape(-1, number, actions.shape[-1])


@cache
def collect_warm_up_actions(framework: Adapter, algorithm: str) -> np.ndarray:
    """Return actions before learning starts: [steps, environments, dimensions]."""
    return collect_actions(framework, algorithm, learning_starts=10_000)


def list_action_bounds(algorithm: str) -> list[tuple[float, float]]:
    """Return the lowest and the highest action of each dimension."""
    if algorithm in DISCRETE:
        return [(0.0, choices.ACTIONS - 1.0)]
    return list(zip(bounded.LOW, bounded.HIGH, strict=True))


def assert_uncorrelated(who: str, actions: np.ndarray) -> None:
    """Assert that the actions of no two environments are correlated."""
    __tracebackhide__ = True
    correlation = choices.compute_largest_correlation(actions)
    if not correlation <= LARGEST_CORRELATION:
        raise AssertionError(
            f"{who}: expected exploration of its own in every environment, found two whose actions "
            f"have the correlation {correlation:.2f}"
        )


def assert_independent_exploration(who: str, algorithm: str, actions: np.ndarray) -> None:
    """Assert that environments explore independently: when, and by which actions."""
    __tracebackhide__ = True
    if algorithm in DISCRETE:
        choices.assert_independent_draws(who, actions, LARGEST_CORRELATION)
    else:
        assert_uncorrelated(who, actions)


def test_every_environment_explores_by_itself(framework, algorithm):
    """The actions of no two of four environments are correlated."""
    who = f"{framework} {algorithm}"
    with expect_answer("exploration.environments", framework.name, algorithm):
        actions = collect_actions(framework, algorithm)
        assert_independent_exploration(who, algorithm, actions)
    shared = actions.copy()
    shared[:, 1] = shared[:, 0]
    with pytest.raises(AssertionError, match="found two whose .* have the correlation 1.00"):
        assert_independent_exploration(who, algorithm, shared)


@pytest.mark.two_algorithms_by_day
def test_the_warm_up_is_uniform_and_of_each_environment(framework, algorithm):
    """Before learning starts actions are uniform within the bounds, and not correlated."""
    who = f"{framework} {algorithm}"
    with expect_answer("exploration.warm_up", framework.name, algorithm):
        actions = collect_warm_up_actions(framework, algorithm)
        if actions.shape[1] > 1:
            assert_uncorrelated(who, actions)
        for dimension, (low, high) in enumerate(list_action_bounds(algorithm)):
            uniform = np.linspace(low, high, 2000)
            bounded.assert_law(who, dimension, actions[:, :, dimension].ravel(), uniform)
    low, high = list_action_bounds(algorithm)[0]
    narrow = low + (actions[:, :, 0].ravel() - low) / 2
    with pytest.raises(AssertionError, match="expected executed actions of dimension 0"):
        bounded.assert_law(who, 0, narrow, np.linspace(low, high, 2000))
