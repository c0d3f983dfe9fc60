"""Atari preprocessing: the ten Atari details of "The 32 details of PPO", and what surrounds them.

Games here do what they are told (``rlregress.environments.atari_fake``): every frame says which one
it is. Inputs, variants and their formulas stand in the catalogue (``rlregress.details.atari``).
"""

from __future__ import annotations

import pytest

from rlregress.details.implementation import assert_documented


@pytest.mark.detail("atari.noop_reset")
def test_noop_reset(implementation):
    """A game is started with as many steps, and with the action, that are documented (Atari 1)."""
    assert_documented(implementation)


@pytest.mark.detail("atari.fire_reset")
def test_fire_reset(implementation):
    """A game that waits for FIRE is started with the documented actions (Atari 2)."""
    assert_documented(implementation)


@pytest.mark.detail("atari.episodic_life")
def test_episodic_life(implementation):
    """A lost life ends the episode, or sets a flag, as documented (Atari 3)."""
    assert_documented(implementation)


@pytest.mark.detail("atari.max_and_skip")
def test_max_and_skip(implementation):
    """Actions are repeated, rewards summed and frames combined as documented (Atari 4)."""
    assert_documented(implementation)


@pytest.mark.detail("atari.warp_frame")
def test_warp_frame(implementation):
    """Frames become small and grey in the documented way (Atari 5)."""
    assert_documented(implementation)


@pytest.mark.detail("atari.frame_stack")
def test_frame_stack(implementation):
    """Four frames are stacked, with the documented ones before the first (Atari 6)."""
    assert_documented(implementation)


@pytest.mark.detail("atari.clip_reward")
def test_clip_reward(implementation):
    """The agent gets of a reward what is documented (Atari 7)."""
    assert_documented(implementation)


@pytest.mark.detail("atari.image_scaling")
def test_image_scaling(implementation):
    """The first layer sees pixels in the documented range (Atari 8)."""
    assert_documented(implementation)


@pytest.mark.detail("atari.activation")
def test_activation(implementation):
    """Hidden layers and outputs have the documented activations (Atari 9)."""
    assert_documented(implementation)


@pytest.mark.detail("atari.shared_trunk")
def test_shared_trunk(implementation):
    """Policy and value share the documented layers (Atari 10)."""
    assert_documented(implementation)


@pytest.mark.detail("atari.networks")
def test_networks(implementation):
    """The frames are looked at by the documented layers (Mnih et al. 2015)."""
    assert_documented(implementation)


@pytest.mark.detail("atari.wrapper_order")
def test_wrapper_order(implementation):
    """The wrappers stand inside each other in the documented order (Atari 1 to 7)."""
    assert_documented(implementation)


@pytest.mark.detail("atari.fire_reset.stale")
def test_fire_reset_stale(implementation):
    """Where starting a game ends it, the documented frame is shown (no source states it)."""
    assert_documented(implementation)


@pytest.mark.detail("atari.episodic_life.over")
def test_episodic_life_over(implementation):
    """A game that ends right after a lost life is handled as documented (Atari 3)."""
    assert_documented(implementation)


@pytest.mark.detail("atari.episodic_life.loss_key")
def test_episodic_life_loss_key(implementation):
    """A flag of a lost life reaches the advantages as documented (Atari 3)."""
    assert_documented(implementation)


@pytest.mark.detail("atari.max_and_skip.end")
def test_max_and_skip_end(implementation):
    """Skipping frames stops where the game ends, as documented (Atari 4)."""
    assert_documented(implementation)


@pytest.mark.detail("atari.frame_skip.past_end")
def test_frame_skip_past_end(implementation):
    """A transform that skips frames treats the end of the game as documented (Atari 4)."""
    assert_documented(implementation)


@pytest.mark.detail("atari.max_and_skip.stale")
def test_max_and_skip_stale(implementation):
    """Where a game ends early the documented frame is shown (no source states it)."""
    assert_documented(implementation)
