"""Soft actor-critic: Boxes 5 to 7 and equations 23 to 26 of the thesis.

Each test asks the framework's real code with the inputs that it names, and states what every known
way to do it makes of them. Beside a number stands who does it that way.
"""

from __future__ import annotations

import pytest


@pytest.mark.detail("sac.critic_loss.scale")
def test_critic_loss_scale(implementation):
    """Two networks off by 2 and 3 lose 13, or 6.5 where the squares are halved (Box 6)."""
    loss = implementation.probe(q_values=[3.0, 4.0], reward=1.0)
    implementation.assert_documented(
        loss,
        half=6.5,  # Stable-Baselines3, CleanRL 0.4.8
        none=13.0,  # TorchRL, CleanRL from 2.0 on
        quarter=3.25,  # halved, and averaged over the networks
    )


@pytest.mark.detail("sac.critic_loss.reduction")
def test_critic_loss_reduction(implementation):
    """A third network adds its loss: 6.25 of errors 1.5 and 2 become 15.25 by an error of 3."""
    ratio = implementation.probe(q_values=[2.0, 2.5, 3.5], reward=0.5)
    implementation.assert_documented(
        ratio,
        sum=15.25 / 6.25,  # Stable-Baselines3, TorchRL
        mean=(15.25 / 3) / (6.25 / 2),
        two_only=1.0,  # CleanRL: two networks by name
    )


@pytest.mark.detail("sac.critic_loss.distance")
def test_critic_loss_distance(implementation):
    """Errors of 2 and 4 cost 16 and 64 times as much as one of 0.5, or less if linear beyond 1."""
    ratios = implementation.probe(errors=[0.5, 2.0, 4.0])
    implementation.assert_documented(
        ratios,
        squared=[16.0, 64.0],  # Stable-Baselines3, CleanRL: 0.25, 4, 16
        smooth_l1=[12.0, 28.0],  # TorchRL: 0.125, 1.5, 3.5
        absolute=[4.0, 8.0],
    )


@pytest.mark.detail("sac.target.entropy")
def test_target_entropy(implementation):
    """The entropy term, 0.5 * 2 = 1, is discounted with the value 4 beside it (equation 23)."""
    target = implementation.probe(
        reward=1.0, target_q=4.0, discount=0.5, log_prob=-2.0, temperature=0.5
    )
    implementation.assert_documented(
        target,
        inside_discount=3.5,  # all: 1 + 0.5 (4 + 1)
        outside_discount=4.0,  # 1 + 0.5 * 4 + 1
        none=3.0,
        flipped=2.5,
    )


@pytest.mark.detail("sac.target.minimum")
def test_target_minimum(implementation):
    """Of target networks that say 4 and 1 the smaller one counts, whichever it is (equation 23)."""
    targets = implementation.probe(
        target_q=[[4.0, 1.0], [1.0, 4.0]], reward=0.25, discount=0.5, log_prob=0.0
    )
    implementation.assert_documented(
        targets,
        min=[0.75, 0.75],  # all: 0.25 + 0.5 * 1
        first=[2.25, 0.75],
        mean=[1.5, 1.5],
        max=[2.25, 2.25],
    )


@pytest.mark.detail("sac.target.bootstrap")
def test_target_bootstrap(implementation):
    """Reward 0.25, next value 2 + 0.51, discount 0.5: a truncated step is worth 1.505 as any other.

    A terminated one is worth its reward (equation 23; thesis, section 5.2).
    """
    targets = implementation.probe(  # inside an episode, terminated, truncated
        terminated=[0.0, 1.0, 0.0],
        truncated=[0.0, 0.0, 1.0],
        reward=0.25,
        target_q=2.0,
        discount=0.5,
        log_prob=-1.7,
        temperature=0.3,
    )
    implementation.assert_documented(
        targets,
        truncation_bootstrapped=[1.505, 0.25, 1.505],  # Stable-Baselines3, TorchRL, CleanRL 2.0
        truncation_is_terminal=[1.505, 0.25, 0.25],  # CleanRL 0.4.8
        bootstrap_everything=[1.505, 1.505, 1.505],
        entropy_not_masked=[1.505, 0.505, 1.505],
    )


@pytest.mark.detail("sac.temperature.loss")
def test_temperature_loss(implementation):
    """With log pi + H = 2 and alpha = 0.1 the slope is -2 in log alpha, -0.2 in alpha (Box 7)."""
    loss_and_slope = implementation.probe(temperature=0.1, target_entropy=-1.0, log_prob=3.0)
    implementation.assert_documented(
        loss_and_slope,
        log_alpha=[4.605170, -2.0],  # Stable-Baselines3, TorchRL, CleanRL 0.4.8: 2 log 10
        alpha=[-0.2, -0.2],  # CleanRL from 2.0 on
        log_alpha_ascent=[-4.605170, 2.0],
        log_alpha_entropy_flipped=[9.210340, -4.0],
    )


@pytest.mark.detail("sac.temperature.target_entropy")
def test_temperature_target_entropy(implementation):
    """The target entropy is minus the number of action dimensions (equation 26; Table 8)."""
    target = implementation.probe(dimensions=[1.0, 3.0])
    implementation.assert_documented(
        target,
        minus_dimension=[-1.0, -3.0],  # all
        minus_one=[-1.0, -1.0],  # TorchRL 0.6 to 0.10
        dimension=[1.0, 3.0],
        zero=[0.0, 0.0],
    )


@pytest.mark.detail("sac.log_std.bounds")
def test_log_std_bounds(implementation):
    """An output of 30 means a log standard deviation of 2 where it is bounded (Box 5)."""
    log_std = implementation.probe(head_outputs=[-30.0, -3.0, 0.0, 1.5, 30.0])
    implementation.assert_documented(
        log_std,
        clamp=[-20.0, -3.0, 0.0, 1.5, 2.0],  # Stable-Baselines3: clipped to [-20, 2]
        tanh_rescale=[-5.0, -4.982692, -1.5, 1.668019, 2.0],  # CleanRL: tanh, to [-5, 2]
        # TorchRL: log of softplus(x + 0.54) + 0.01
        softplus_floor=[-4.605170, -2.398613, 0.0, 0.769824, 3.418889],
        unbounded=[-30.0, -3.0, 0.0, 1.5, 30.0],
    )


@pytest.mark.detail("sac.log_prob.tanh_correction")
def test_log_prob_tanh_correction(implementation):
    """At x = 10 the correction log(1 - tanh^2) is -18.6, or -13.8 where 1e-6 is added (Box 5)."""
    correction = implementation.probe(pre_tanh=[0.0, 0.5, -2.0, 10.0])
    implementation.assert_documented(
        correction,
        exact=[0.0, -0.240229, -2.650005, -18.613706],  # TorchRL
        # Stable-Baselines3, CleanRL: log(1 - tanh^2 + 1e-6), at least log 1e-6
        epsilon_inside=[1e-6, -0.240228, -2.649991, -13.807300],
        epsilon_outside_negative=[-1e-6, -0.240230, -2.650006, -18.613707],  # Box 5 as printed
        none=[0.0, 0.0, 0.0, 0.0],
        flipped=[0.0, 0.240229, 2.650005, 18.613706],
    )


@pytest.mark.detail("sac.log_prob.action_scale")
def test_log_prob_action_scale(implementation):
    """Bounds four times as wide lower the log-density of an action by log 4 = 1.386 (Box 5)."""
    difference = implementation.probe(low=[-2.0, -1.0], high=[6.0, 1.0], pre_tanh=[0.3, -0.5])
    implementation.assert_documented(
        difference,
        included=-1.386294,  # TorchRL, CleanRL
        excluded=0.0,  # Stable-Baselines3: the density of the action in [-1, 1]
        full_range=-2.772589,  # log 8 + log 2
        flipped=1.386294,
    )


@pytest.mark.detail("sac.replay.action")
def test_replay_action(implementation):
    """The environment gets 2 + 4 tanh 0.5 = 3.848 and the buffer that or tanh 0.5 (Box 5)."""
    executed_and_stored = implementation.probe(low=-2.0, high=6.0, pre_tanh=0.5)
    implementation.assert_documented(
        executed_and_stored,
        scaled=[3.848469, 0.462117],  # Stable-Baselines3
        environment=[3.848469, 3.848469],  # TorchRL, CleanRL
        never_unscaled=[0.462117, 0.462117],
    )


@pytest.mark.detail("sac.actor_loss")
def test_actor_loss(implementation):
    """The policy loses alpha log pi = -0.51 less the smaller of Q values 4 and 1 (equation 25)."""
    losses = implementation.probe(q_values=[[4.0, 1.0], [1.0, 4.0]], log_prob=-1.7, temperature=0.3)
    implementation.assert_documented(
        losses,
        min=[-1.51, -1.51],  # all
        first=[-4.51, -1.51],
        mean=[-3.01, -3.01],
        no_entropy=[-1.0, -1.0],
        entropy_flipped=[-0.49, -0.49],
    )


@pytest.mark.detail("sac.target_update.polyak")
def test_target_update_polyak(implementation):
    """A target at 0 whose source is at 1 moves to 0.005, not to 0.995 (thesis, section 3.2)."""
    targets = implementation.probe(source=[1.0, 3.0], target=[0.0, -1.0], tau=0.005)
    implementation.assert_documented(
        targets,
        towards_source=[0.005, -0.98],  # all
        flipped=[0.995, 2.98],
        copy=[1.0, 3.0],
        not_updated=[0.0, -1.0],
    )
