"""Normalisation that hurts whoever does not know it: behaviour that no source states.

Inputs, variants and their formulas stand in the catalogue
(``rlregress.details.normalisation_traps``). A test passes if the framework's real code shows the
documented variant and is far from every other one.
"""

from __future__ import annotations

import pytest

from rlregress.details.implementation import assert_documented


@pytest.mark.detail("normalisation.terminal_observation.statistics")
def test_terminal_statistics(implementation):
    """Terminal observations enter the statistics as documented."""
    assert_documented(implementation)


@pytest.mark.detail("normalisation.terminal_observation")
def test_terminal_observation(implementation):
    """The replay buffer holds the documented terminal observation (thesis, footnote 4)."""
    assert_documented(implementation)


@pytest.mark.detail("normalisation.replay")
def test_replay(implementation):
    """Observations of a replay buffer are normalised when documented."""
    assert_documented(implementation)


@pytest.mark.detail("normalisation.observation.early_scale")
def test_early_scale(implementation):
    """Early observations are scaled as documented (32 details of PPO, MuJoCo 1)."""
    assert_documented(implementation)


@pytest.mark.detail("normalisation.observation.large_offset")
def test_large_offset(implementation):
    """An offset that is large beside the spread is survived as documented."""
    assert_documented(implementation)


@pytest.mark.detail("normalisation.environments")
def test_environments(implementation):
    """Environments share statistics as documented."""
    assert_documented(implementation)


@pytest.mark.detail("normalisation.fixed.epsilon")
def test_fixed_epsilon(implementation):
    """Given statistics divide as documented where nothing moves."""
    assert_documented(implementation)


@pytest.mark.detail("normalisation.reward_clip.one_sided")
def test_one_sided(implementation):
    """Rewards can be clipped on one side as documented."""
    assert_documented(implementation)
