"""Replay buffers and n-step returns.

Inputs, variants and their formulas stand in the catalogue (``rlregress.details``). A test passes if
the framework's real code shows the documented variant and is far from every other one.
"""

from __future__ import annotations

import pytest

from rlregress.details.implementation import assert_documented


@pytest.mark.detail("nstep.window")
def test_window(implementation):
    """N-step targets sum n discounted rewards before they bootstrap (Sutton and Barto, 7.1)."""
    assert_documented(implementation)


@pytest.mark.detail("nstep.discount")
def test_discount(implementation):
    """The bootstrap value of an n-step target is discounted n times (Sutton and Barto, 7.1)."""
    assert_documented(implementation)


@pytest.mark.detail("nstep.terminal")
def test_terminal(implementation):
    """A termination inside an n-step window removes the value, or is known not to."""
    assert_documented(implementation)


@pytest.mark.detail("nstep.truncation")
def test_truncation(implementation):
    """A truncation inside an n-step window bootstraps from the true last observation."""
    assert_documented(implementation)


@pytest.mark.detail("nstep.newest_steps")
def test_newest_steps(implementation):
    """Windows of the newest steps are shortened and never run into the oldest ones."""
    assert_documented(implementation)


@pytest.mark.detail("nstep.custom_buffer")
def test_custom_buffer(implementation):
    """Naming a class of replay buffer beside n does with n what is documented."""
    assert_documented(implementation)


@pytest.mark.detail("replay.sampling")
def test_sampling(implementation):
    """Minibatches are drawn with replacement or not, as documented (thesis, 3.2)."""
    assert_documented(implementation)


@pytest.mark.detail("replay.warmup")
def test_warmup(implementation):
    """Random transitions of the warm-up are kept, or known to be lost."""
    assert_documented(implementation)


@pytest.mark.detail("replay.overwriting")
def test_overwriting(implementation):
    """A full replay buffer drops its oldest transition (Mnih et al. 2015)."""
    assert_documented(implementation)


@pytest.mark.detail("replay.shared_observations")
def test_shared_observations(implementation):
    """An observation of the next episode is not passed off as the last of this one."""
    assert_documented(implementation)


@pytest.mark.detail("replay.both_flags")
def test_both_flags(implementation):
    """A step that terminates at the time limit is terminal (Pardo et al. 2018)."""
    assert_documented(implementation)
