"""Normalisation of observations and rewards: thesis, section 5.1 and appendix C.1; MuJoCo 1 to 4.

Inputs, variants and their formulas stand in the catalogue (``rlregress.details.normalisation*``). A
test passes if the framework's real code shows the documented variant and is far from every other
one.
"""

from __future__ import annotations

import pytest

from rlregress.details.implementation import assert_documented


@pytest.mark.detail("normalisation.observation")
def test_observation(implementation):
    """An observation is normalised as documented (32 details of PPO, MuJoCo 1; thesis, C.1)."""
    assert_documented(implementation)


@pytest.mark.detail("normalisation.observation.epsilon")
def test_epsilon(implementation):
    """The documented number keeps the division away from zero (thesis, C.1)."""
    assert_documented(implementation)


@pytest.mark.detail("normalisation.observation.clip")
def test_observation_clip(implementation):
    """Normalised observations are clipped as documented (32 details of PPO, MuJoCo 2)."""
    assert_documented(implementation)


@pytest.mark.detail("normalisation.observation.statistics")
def test_statistics(implementation):
    """Running mean and variance weigh the past as documented (thesis, C.1; Bag of Tricks)."""
    assert_documented(implementation)


@pytest.mark.detail("normalisation.order")
def test_order(implementation):
    """Normalising and clipping come in the documented order (32 details of PPO, MuJoCo 2)."""
    assert_documented(implementation)


@pytest.mark.detail("normalisation.reward")
def test_reward(implementation):
    """A reward is scaled as documented (32 details of PPO, MuJoCo 3; Bag of Tricks)."""
    assert_documented(implementation)


@pytest.mark.detail("normalisation.reward.reset")
def test_reward_reset(implementation):
    """The rolling return ends with an episode as documented (32 details of PPO, MuJoCo 3)."""
    assert_documented(implementation)


@pytest.mark.detail("normalisation.reward.clip")
def test_reward_clip(implementation):
    """Scaled rewards are clipped as documented (32 details of PPO, MuJoCo 4)."""
    assert_documented(implementation)


@pytest.mark.detail("normalisation.reward.first")
def test_first_reward(implementation):
    """The first reward of a training comes out as documented (32 details of PPO, MuJoCo 3)."""
    assert_documented(implementation)


@pytest.mark.detail("normalisation.reward.discount")
def test_reward_discount(implementation):
    """The rolling return has the documented discount (32 details of PPO, MuJoCo 3)."""
    assert_documented(implementation)


@pytest.mark.detail("normalisation.episode_return")
def test_episode_return(implementation):
    """The reported return is that of the documented rewards (thesis, C.1)."""
    assert_documented(implementation)


@pytest.mark.detail("normalisation.default")
def test_default(implementation):
    """A training of PPO has the documented wrappers by default (thesis, section 5.1)."""
    assert_documented(implementation)


@pytest.mark.detail("normalisation.default.off_policy")
def test_default_off_policy(implementation):
    """A training of SAC has the documented wrappers by default (thesis, C.1)."""
    assert_documented(implementation)


@pytest.mark.detail("normalisation.evaluation")
def test_evaluation(implementation):
    """An evaluation uses the documented statistics (thesis, C.1)."""
    assert_documented(implementation)


@pytest.mark.detail("normalisation.evaluation.same_wrapper")
def test_evaluation_same_wrapper(implementation):
    """An evaluation wrapped as the training uses the documented statistics (thesis, C.1)."""
    assert_documented(implementation)


@pytest.mark.detail("normalisation.saved")
def test_saved(implementation):
    """A saved agent has its statistics or not, as documented (Bag of Tricks, a note)."""
    assert_documented(implementation)
