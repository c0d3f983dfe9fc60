"""Details that no source states: they stay as recorded, or the record is stale."""

from __future__ import annotations

import pytest


@pytest.mark.detail("policy.centre.deterministic")
def test_deterministic_centre(implementation):
    """Between the bounds -2 and 6 an output of 0 plays the middle, 2, or does not (Box 4)."""
    action = implementation.probe(low=-2.0, high=6.0)
    implementation.assert_documented(
        action,
        middle=2.0,  # Stable-Baselines3, CleanRL from 2.0 on
        zero=0.0,  # CleanRL 0.4.8
        shifted=5.856110,  # TorchRL's TanhDelta: 2 + 4 tanh 2
    )


@pytest.mark.detail("policy.centre.gaussian")
def test_gaussian_centre(implementation):
    """Between the bounds -2 and 6 a location of 0 is the middle, 2, or 2 + 4 tanh 2 (Box 5)."""
    action = implementation.probe(low=-2.0, high=6.0)
    implementation.assert_documented(
        action,
        middle=2.0,  # Stable-Baselines3, CleanRL
        shifted=5.856110,  # TorchRL's TanhNormal with tanh_loc
        zero=0.0,
    )


@pytest.mark.detail("policy.out_of_bounds")
def test_out_of_bounds(implementation):
    """A plain Gaussian's 0.8 reaches an environment with the bound 0.5 as 0.5, or as it is."""
    action = implementation.probe(low=-0.5, high=0.5, mean=0.8)
    implementation.assert_documented(
        action,
        clipped=0.5,  # Stable-Baselines3, CleanRL
        as_sampled=0.8,  # TorchRL
        squashed=0.332018,
    )


@pytest.mark.detail("networks.critic_count")
def test_critic_count(implementation):
    """SAC and TD3 train two Q networks by default (thesis, section 3.4)."""
    counts = implementation.probe()
    implementation.assert_documented(
        counts,
        two=[2.0, 2.0],  # all
        ten_in_td3=[2.0, 10.0],
        one=[1.0, 1.0],
    )


@pytest.mark.detail("target.hard_update_period")
def test_hard_update_period(implementation):
    """Target networks copied every 3 updates are copied every 3, or 4 (Mnih et al. 2015)."""
    periods = implementation.probe(interval=3)
    implementation.assert_documented(
        periods,
        interval=[3.0, 3.0],  # Stable-Baselines3, CleanRL
        interval_plus_one=[4.0, 4.0],  # TorchRL
        always=[1.0, 1.0],
    )


@pytest.mark.detail("collection.autoreset")
def test_autoreset(implementation):
    """No step from the end of an episode to the next reset is stored: its reward would be 0.

    1 if such a vector environment is refused; the share of transitions with reward 0 in episodes of
    four steps.
    """
    refused_and_share = implementation.probe(episode=4, steps=40)
    implementation.assert_documented(
        refused_and_share,
        none=[0.0, 0.0],  # Stable-Baselines3, CleanRL 0.4.8, TorchRL before 0.8
        refused=[1.0, 0.0],  # TorchRL from 0.8 on
        one_per_episode=[0.0, 0.2],  # CleanRL from 2.0 on, with Gymnasium 1
    )


@pytest.mark.detail("logging.approx_kl")
def test_approx_kl(implementation):
    """The KL divergence that is logged is of some of four minibatches: of each, its share of it."""
    shares = implementation.probe(epochs=2, minibatches=2, log_ratio=-0.1)
    implementation.assert_documented(
        shares,
        last_epoch=[0.0, 0.0, 0.5, 0.5],  # Stable-Baselines3, TorchRL's trainer
        last_minibatch=[0.0, 0.0, 0.0, 1.0],  # CleanRL
        all=[0.25, 0.25, 0.25, 0.25],
    )
