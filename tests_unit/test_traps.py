"""What no source states: what is known stays as it is, or the record is stale.

Inputs, variants and their formulas stand in the catalogue (``rlregress.details``). A test passes if
the framework's real code shows the documented variant and is far from every other one.
"""

from __future__ import annotations

import pytest

from rlregress.details.implementation import assert_documented


@pytest.mark.detail("gae.lambda_zero")
def test_lambda_zero(implementation):
    """At lambda 0 advantages are TD errors, or it is known that they cannot be had."""
    assert_documented(implementation)


@pytest.mark.detail("gae.reset_env")
def test_reset_env(implementation):
    """A truncated step without its next observation bootstraps as documented."""
    assert_documented(implementation)


@pytest.mark.detail("gae.kernel")
def test_kernel(implementation):
    """By default the documented implementation of the recursion runs."""
    assert_documented(implementation)


@pytest.mark.detail("gae.stored_values")
def test_stored_values(implementation):
    """Advantages come from stored values or from the critic of now, as documented."""
    assert_documented(implementation)


@pytest.mark.detail("advantage.masked_normalisation")
def test_masked_normalisation(implementation):
    """A mask that marks every step normalises as documented."""
    assert_documented(implementation)


@pytest.mark.detail("policy.centre.deterministic")
def test_deterministic_centre(implementation):
    """An output of 0 plays the middle of the bounds, or is known not to (Box 4)."""
    assert_documented(implementation)


@pytest.mark.detail("policy.centre.gaussian")
def test_gaussian_centre(implementation):
    """A location of 0 is the middle of the bounds, or is known not to be (Box 5)."""
    assert_documented(implementation)


@pytest.mark.detail("policy.out_of_bounds")
def test_out_of_bounds(implementation):
    """A plain Gaussian reaches beyond the bounds only where this is known."""
    assert_documented(implementation)


@pytest.mark.detail("policy.stored_log_prob")
def test_stored_log_prob(implementation):
    """An unchanged policy has ratio 1, or is known not to where its tanh saturates."""
    assert_documented(implementation)


@pytest.mark.detail("networks.single_critic")
def test_single_critic(implementation):
    """A Q network that is passed once keeps its weights, or is known to lose them."""
    assert_documented(implementation)


@pytest.mark.detail("networks.critic_count")
def test_critic_count(implementation):
    """SAC and TD3 train two Q networks by default (thesis, section 3.4)."""
    assert_documented(implementation)


@pytest.mark.detail("dqn.exploration.draw")
def test_exploration_draw(implementation):
    """Environments explore independently of each other, or are known not to."""
    assert_documented(implementation)


@pytest.mark.detail("target.hard_update_period")
def test_hard_update_period(implementation):
    """Target networks are copied at the documented period (Mnih et al. 2015)."""
    assert_documented(implementation)


@pytest.mark.detail("collection.truncated_flags")
def test_truncated_flags(implementation):
    """Steps inside an episode are not stored as truncated, or are known to be."""
    assert_documented(implementation)


@pytest.mark.detail("collection.autoreset")
def test_autoreset(implementation):
    """No transition is stored that never happened, or it is known that one is."""
    assert_documented(implementation)


@pytest.mark.detail("optimizer.gradient_clip.switch")
def test_gradient_clip_switch(implementation):
    """The switch and the bound of gradient clipping do what is documented."""
    assert_documented(implementation)


@pytest.mark.detail("optimizer.config_epsilon")
def test_config_epsilon(implementation):
    """The configuration of Adam passes the documented epsilon on."""
    assert_documented(implementation)


@pytest.mark.detail("logging.approx_kl")
def test_approx_kl(implementation):
    """The logged KL divergence is of the documented minibatches."""
    assert_documented(implementation)


@pytest.mark.detail("logging.update_count")
def test_update_count(implementation):
    """The logged number of updates counts what is documented."""
    assert_documented(implementation)


@pytest.mark.detail("logging.before_policy_update")
def test_before_policy_update(implementation):
    """A log before the first policy update ends a training only where this is known."""
    assert_documented(implementation)
