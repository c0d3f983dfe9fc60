"""What a user hands over means what is documented; the stored next observation."""

from __future__ import annotations

import pytest

from rlregress.details.implementation import assert_documented


@pytest.mark.detail("sac.target_update.parameter")
def test_sac_target_update_parameter(implementation):
    """SAC's coefficient of the target update means the documented share (Table 8)."""
    assert_documented(implementation)


@pytest.mark.detail("td3.target_update.parameter")
def test_td3_target_update_parameter(implementation):
    """TD3's coefficient of the target update means the documented share (Table 7)."""
    assert_documented(implementation)


@pytest.mark.detail("td3.target_noise.parameter")
def test_td3_target_noise_parameter(implementation):
    """Deviation and bound of the target noise arrive as documented (section 5.2)."""
    assert_documented(implementation)


@pytest.mark.detail("replay.next_observation")
def test_replay_next_observation(implementation):
    """The last step of an episode is stored with the documented observation (appendix C.2)."""
    assert_documented(implementation)
