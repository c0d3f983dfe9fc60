"""The loop of twin delayed deep deterministic policy gradient: counts, exploration, optimisers.

Inputs, variants and their formulas stand in the catalogue (``rlregress.details.td3_loop``). A test
passes if the framework's real code shows the documented variant and is far from every other one.
"""

from __future__ import annotations

import pytest

from rlregress.details.implementation import assert_documented


@pytest.mark.detail("td3.update_ratio")
def test_update_ratio(implementation):
    """Environment steps and updates stand in the documented ratio (thesis, section 5.2)."""
    assert_documented(implementation)


@pytest.mark.detail("td3.learning_starts")
def test_learning_starts(implementation):
    """Random actions end, and updates begin, at the documented step (thesis, Table 7)."""
    assert_documented(implementation)


@pytest.mark.detail("td3.vectorisation")
def test_vectorisation(implementation):
    """T steps with n environments make the documented number of transitions (C.2)."""
    assert_documented(implementation)


@pytest.mark.detail("td3.replay.action")
def test_replay_action(implementation):
    """The replay buffer holds actions in the documented units (thesis, section 5.2)."""
    assert_documented(implementation)


@pytest.mark.detail("td3.exploration.default")
def test_exploration_default(implementation):
    """Exploration noise is on or off by default as documented (thesis, Table 7)."""
    assert_documented(implementation)


@pytest.mark.detail("td3.exploration.environments")
def test_exploration_environments(implementation):
    """Parallel environments share their noise, or not, as documented."""
    assert_documented(implementation)


@pytest.mark.detail("td3.exploration.warmup")
def test_exploration_warmup(implementation):
    """The random actions of the warm-up are uniform, or noisy, as documented."""
    assert_documented(implementation)


@pytest.mark.detail("td3.networks")
def test_networks(implementation):
    """Policy and Q networks have the documented layers and activation (section 5.2)."""
    assert_documented(implementation)


@pytest.mark.detail("td3.gradient_clip")
def test_gradient_clip(implementation):
    """Gradients are clipped, or not, as documented (001, general detail 8)."""
    assert_documented(implementation)


@pytest.mark.detail("td3.adam.epsilon")
def test_adam_epsilon(implementation):
    """Adam has the documented epsilon (001, general detail 11)."""
    assert_documented(implementation)
