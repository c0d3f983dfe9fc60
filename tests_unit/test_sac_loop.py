"""The loop of soft actor-critic: order and number of updates, data collection, optimisers.

Inputs, variants and their formulas stand in the catalogue (``rlregress.details.sac_loop``). A test
passes if the framework's real code shows the documented variant and is far from every other one.
"""

from __future__ import annotations

import pytest

from rlregress.details.implementation import assert_documented


@pytest.mark.detail("sac.update_order")
def test_update_order(implementation):
    """The policy's loss sees Q networks and temperature in the documented state (algorithm 3)."""
    assert_documented(implementation)


@pytest.mark.detail("sac.update_schedule")
def test_update_schedule(implementation):
    """Past the warm-up each part is updated as often as documented (thesis, section 5.3)."""
    assert_documented(implementation)


@pytest.mark.detail("sac.update_ratio")
def test_update_ratio(implementation):
    """Environment steps and updates stand in the documented ratio (thesis, section 5.3)."""
    assert_documented(implementation)


@pytest.mark.detail("sac.learning_starts")
def test_learning_starts(implementation):
    """Random actions end, and updates begin, at the documented step (thesis, Table 8)."""
    assert_documented(implementation)


@pytest.mark.detail("sac.vectorisation")
def test_vectorisation(implementation):
    """T steps with n environments make the documented number of transitions (C.2)."""
    assert_documented(implementation)


@pytest.mark.detail("sac.temperature.learning_rate")
def test_temperature_learning_rate(implementation):
    """The temperature has the documented learning rate (thesis, section 5.3)."""
    assert_documented(implementation)


@pytest.mark.detail("sac.temperature.initial")
def test_temperature_initial(implementation):
    """Tuning starts from the documented temperature (thesis, Table 8)."""
    assert_documented(implementation)


@pytest.mark.detail("sac.target_update.interval")
def test_target_update_interval(implementation):
    """The interval between target updates has the documented effect (Table 8)."""
    assert_documented(implementation)


@pytest.mark.detail("sac.reward_scaling")
def test_reward_scaling(implementation):
    """The Q networks see the reward as documented, scaled or not (thesis, section 6.1)."""
    assert_documented(implementation)


@pytest.mark.detail("sac.networks")
def test_networks(implementation):
    """Policy and Q networks have the documented layers and activation (thesis, Table 8)."""
    assert_documented(implementation)


@pytest.mark.detail("sac.networks.initialisation")
def test_networks_initialisation(implementation):
    """The first weights follow the documented law (001, general detail 9)."""
    assert_documented(implementation)


@pytest.mark.detail("sac.gradient_clip")
def test_gradient_clip(implementation):
    """Gradients are clipped, or not, as documented (001, general detail 8)."""
    assert_documented(implementation)


@pytest.mark.detail("sac.adam.epsilon")
def test_adam_epsilon(implementation):
    """Adam has the documented epsilon (001, general detail 11)."""
    assert_documented(implementation)
