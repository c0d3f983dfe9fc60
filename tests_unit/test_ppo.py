"""Proximal policy optimisation: Boxes 1 to 3 and equations 3 and 7 to 11 of the thesis.

Inputs, variants and their formulas stand in the catalogue (``rlregress.details.ppo``). A test
passes if the framework's real code shows the documented variant and is far from every other one.
"""

from __future__ import annotations

import pytest

from rlregress.details.implementation import assert_documented


@pytest.mark.detail("ppo.policy_loss.clip")
def test_policy_loss_clip(implementation):
    """The probability ratio is clipped as documented (equation 7)."""
    assert_documented(implementation)


@pytest.mark.detail("ppo.advantage_normalisation")
def test_advantage_normalisation(implementation):
    """Advantages are normalised over the documented samples (equation 3)."""
    assert_documented(implementation)


@pytest.mark.detail("ppo.advantage_normalisation.epsilon")
def test_advantage_normalisation_epsilon(implementation):
    """The normalisation is kept from dividing by zero as documented."""
    assert_documented(implementation)


@pytest.mark.detail("ppo.value_loss.scale")
def test_value_loss_scale(implementation):
    """The value loss carries the documented factor (equation 10)."""
    assert_documented(implementation)


@pytest.mark.detail("ppo.value_loss.coefficient")
def test_value_loss_coefficient(implementation):
    """The value loss enters the total with the documented coefficient (Table 6)."""
    assert_documented(implementation)


@pytest.mark.detail("ppo.value_loss.distance")
def test_value_loss_distance(implementation):
    """The value loss measures errors with the documented distance."""
    assert_documented(implementation)


@pytest.mark.detail("ppo.value_clip")
def test_value_clip(implementation):
    """Value clipping, switched on, is the documented one of its three forms (Box 3)."""
    assert_documented(implementation)


@pytest.mark.detail("ppo.value_clip.default")
def test_value_clip_default(implementation):
    """Value clipping is on or off by default as documented (Box 3)."""
    assert_documented(implementation)


@pytest.mark.detail("ppo.initialisation")
def test_initialisation(implementation):
    """Every layer is initialised with its documented gain (Box 1)."""
    assert_documented(implementation)


@pytest.mark.detail("ppo.action.bounding")
def test_action_bounding(implementation):
    """Sampled actions are bounded and stored as documented (Box 2)."""
    assert_documented(implementation)


@pytest.mark.detail("ppo.entropy.bonus")
def test_entropy_bonus(implementation):
    """The entropy term rewards entropy."""
    assert_documented(implementation)


@pytest.mark.detail("ppo.entropy.coefficient")
def test_entropy_coefficient(implementation):
    """The entropy bonus has the documented coefficient by default (Table 6)."""
    assert_documented(implementation)


@pytest.mark.detail("ppo.gradient_clip")
def test_gradient_clip(implementation):
    """The gradient norm is clipped over the documented parameters."""
    assert_documented(implementation)


@pytest.mark.detail("ppo.adam.epsilon")
def test_adam_epsilon(implementation):
    """Adam has the documented epsilon by default."""
    assert_documented(implementation)
