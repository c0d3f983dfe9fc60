"""Twin delayed deep deterministic policy gradient: Box 4 and equations 15 to 19 of the thesis.

Inputs, variants and their formulas stand in the catalogue (``rlregress.details.td3``). A test
passes if the framework's real code shows the documented variant and is far from every other one.
"""

from __future__ import annotations

import pytest

from rlregress.details.implementation import assert_documented


@pytest.mark.detail("td3.critic_loss.scale")
def test_critic_loss_scale(implementation):
    """The critic loss carries the documented factor before its squared errors."""
    assert_documented(implementation)


@pytest.mark.detail("td3.critic_loss.reduction")
def test_critic_loss_reduction(implementation):
    """The losses of several Q networks are summed or averaged as documented."""
    assert_documented(implementation)


@pytest.mark.detail("td3.critic_loss.distance")
def test_critic_loss_distance(implementation):
    """The critic loss measures errors with the documented distance."""
    assert_documented(implementation)


@pytest.mark.detail("td3.target.minimum")
def test_target_minimum(implementation):
    """The target takes the documented one of its two Q networks (equation 19)."""
    assert_documented(implementation)


@pytest.mark.detail("td3.target.bootstrap")
def test_target_bootstrap(implementation):
    """The target bootstraps at truncations and not at terminations, as documented."""
    assert_documented(implementation)


@pytest.mark.detail("td3.target_noise.law")
def test_target_noise_law(implementation):
    """The target action is smoothed with the documented noise (equation 18)."""
    assert_documented(implementation)


@pytest.mark.detail("td3.target_noise.bounds")
def test_target_noise_bounds(implementation):
    """The smoothed target action stays within the documented bounds (equation 18)."""
    assert_documented(implementation)


@pytest.mark.detail("td3.target_noise.draw")
def test_target_noise_draw(implementation):
    """The smoothing noise is drawn per sample, or shared, as documented."""
    assert_documented(implementation)


@pytest.mark.detail("td3.action.bounding")
def test_action_bounding(implementation):
    """The policy keeps within the action bounds in the documented way (Box 4)."""
    assert_documented(implementation)


@pytest.mark.detail("td3.exploration.noise")
def test_exploration_noise(implementation):
    """Exploration noise is added in the documented units, then clipped (Box 4)."""
    assert_documented(implementation)


@pytest.mark.detail("td3.actor_loss")
def test_actor_loss(implementation):
    """The policy maximises the documented Q network (equation 16)."""
    assert_documented(implementation)


@pytest.mark.detail("td3.policy_delay")
def test_policy_delay(implementation):
    """Policy and target networks move at the documented updates (algorithm 2)."""
    assert_documented(implementation)


@pytest.mark.detail("td3.target_update.polyak")
def test_target_update_polyak(implementation):
    """The target networks follow their sources in the documented direction."""
    assert_documented(implementation)
