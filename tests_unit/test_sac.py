"""Soft actor-critic: Boxes 5 to 7 and equations 23 to 25 of the thesis.

Inputs, variants and their formulas stand in the catalogue (``rlregress.details.sac``). A test
passes if the framework's real code shows the documented variant and is far from every other one.
"""

from __future__ import annotations

import pytest

from rlregress.details.implementation import assert_documented


@pytest.mark.detail("sac.critic_loss.scale")
def test_critic_loss_scale(implementation):
    """The critic loss carries the documented factor before its squared errors (Box 6)."""
    assert_documented(implementation)


@pytest.mark.detail("sac.critic_loss.reduction")
def test_critic_loss_reduction(implementation):
    """The losses of several Q networks are summed or averaged as documented (Box 6)."""
    assert_documented(implementation)


@pytest.mark.detail("sac.critic_loss.distance")
def test_critic_loss_distance(implementation):
    """The critic loss measures errors with the documented distance (equation 24)."""
    assert_documented(implementation)


@pytest.mark.detail("sac.target.entropy")
def test_target_entropy(implementation):
    """The entropy term of the target stands where it is documented to (equation 23)."""
    assert_documented(implementation)


@pytest.mark.detail("sac.target.minimum")
def test_target_minimum(implementation):
    """The target takes the documented one of its two Q networks (equation 23)."""
    assert_documented(implementation)


@pytest.mark.detail("sac.target.bootstrap")
def test_target_bootstrap(implementation):
    """The target bootstraps at truncations and not at terminations, as documented."""
    assert_documented(implementation)


@pytest.mark.detail("sac.temperature.loss")
def test_temperature_loss(implementation):
    """The temperature is trained through log alpha or alpha as documented (Box 7)."""
    assert_documented(implementation)


@pytest.mark.detail("sac.temperature.target_entropy")
def test_temperature_target_entropy(implementation):
    """The default target entropy is the documented one (Table 8)."""
    assert_documented(implementation)


@pytest.mark.detail("sac.log_std.bounds")
def test_log_std_bounds(implementation):
    """The log standard deviation is bounded as documented (Box 5)."""
    assert_documented(implementation)


@pytest.mark.detail("sac.log_prob.tanh_correction")
def test_log_prob_tanh_correction(implementation):
    """The log-probability is corrected for the tanh as documented (Box 5)."""
    assert_documented(implementation)


@pytest.mark.detail("sac.log_prob.action_scale")
def test_log_prob_action_scale(implementation):
    """The log-probability includes the action scale only where documented (Box 5)."""
    assert_documented(implementation)


@pytest.mark.detail("sac.replay.action")
def test_replay_action(implementation):
    """The replay buffer holds actions in the documented units (Box 5)."""
    assert_documented(implementation)


@pytest.mark.detail("sac.actor_loss")
def test_actor_loss(implementation):
    """The policy maximises the documented combination of Q and entropy (equation 25)."""
    assert_documented(implementation)


@pytest.mark.detail("sac.target_update.polyak")
def test_target_update_polyak(implementation):
    """The target networks follow their sources in the documented direction."""
    assert_documented(implementation)
