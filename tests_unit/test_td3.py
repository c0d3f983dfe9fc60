"""Twin delayed DDPG: Box 4, equations 15 to 19 and algorithm 2 of the thesis.

Each test asks the framework's real code with the inputs that it names, and states what every known
way to do it makes of them. Beside a number stands who does it that way.
"""

from __future__ import annotations

import pytest


@pytest.mark.detail("td3.critic_loss.scale")
def test_critic_loss_scale(implementation):
    """Two networks off by 2 and 3 lose 13: the squares are not halved (equation 19)."""
    loss = implementation.probe(q_values=[3.0, 4.0], reward=1.0)
    implementation.assert_documented(
        loss,
        none=13.0,  # all
        half=6.5,
        quarter=3.25,  # halved, and averaged over the networks
    )


@pytest.mark.detail("td3.critic_loss.reduction")
def test_critic_loss_reduction(implementation):
    """A third network adds its loss: 6.25 of errors 1.5 and 2 become 15.25 by an error of 3."""
    ratio = implementation.probe(q_values=[2.0, 2.5, 3.5], reward=0.5)
    implementation.assert_documented(
        ratio,
        sum=15.25 / 6.25,  # Stable-Baselines3, TorchRL
        mean=(15.25 / 3) / (6.25 / 2),
        two_only=1.0,  # CleanRL: two networks by name
    )


@pytest.mark.detail("td3.critic_loss.distance")
def test_critic_loss_distance(implementation):
    """Errors of 2 and 4 cost 16 and 64 times as much as one of 0.5, or less if linear beyond 1."""
    ratios = implementation.probe(errors=[0.5, 2.0, 4.0])
    implementation.assert_documented(
        ratios,
        squared=[16.0, 64.0],  # Stable-Baselines3, CleanRL: 0.25, 4, 16
        smooth_l1=[12.0, 28.0],  # TorchRL: 0.125, 1.5, 3.5
        absolute=[4.0, 8.0],
    )


@pytest.mark.detail("td3.target.minimum")
def test_target_minimum(implementation):
    """Of target networks that say 4 and 1 the smaller one counts, whichever it is (equation 15)."""
    targets = implementation.probe(target_q=[[4.0, 1.0], [1.0, 4.0]], reward=0.25, discount=0.5)
    implementation.assert_documented(
        targets,
        min=[0.75, 0.75],  # all: 0.25 + 0.5 * 1
        first=[2.25, 0.75],
        mean=[1.5, 1.5],
        max=[2.25, 2.25],
    )


@pytest.mark.detail("td3.target.bootstrap")
def test_target_bootstrap(implementation):
    """Reward 0.25, next value 2, discount 0.5: a truncated step is worth 1.25 as any other one.

    A terminated one is worth its reward (equation 15; thesis, section 5.2).
    """
    targets = implementation.probe(  # inside an episode, terminated, truncated
        terminated=[0.0, 1.0, 0.0],
        truncated=[0.0, 0.0, 1.0],
        reward=0.25,
        target_q=2.0,
        discount=0.5,
    )
    implementation.assert_documented(
        targets,
        truncation_bootstrapped=[1.25, 0.25, 1.25],  # Stable-Baselines3, TorchRL, CleanRL 2.0
        truncation_is_terminal=[1.25, 0.25, 0.25],  # CleanRL 0.4.8
        bootstrap_everything=[1.25, 1.25, 1.25],
        flags_exchanged=[1.25, 1.25, 0.25],
    )


@pytest.mark.detail("td3.target_noise.law")
def test_target_noise_law(implementation):
    """N(0, 0.2) clipped at 0.5 has deviation 0.1977 in [-1, 1], a quarter of it between -2 and 6.

    The second number is the 0.999-quantile of its size over the deviation: 2.5 = 0.5 / 0.1977
    where it is clipped, 3.3 where not (equation 18).
    """
    deviation_and_tail = implementation.probe(squashed=0.0, low=-2.0, high=6.0, samples=100_000)
    implementation.assert_documented(
        deviation_and_tail,
        scaled=[0.19774, 2.5285],  # Stable-Baselines3, CleanRL from 2.0 on
        environment=[0.04944, 2.5285],  # TorchRL, CleanRL 0.4.8: in the units of the actions
        unclipped_scaled=[0.2, 3.2905],
        none=[0.0, 0.0],
    )


@pytest.mark.detail("td3.target_noise.bounds")
def test_target_noise_bounds(implementation):
    """A target action at a bound never leaves it: -2 and 6 in one dimension, -1 and 1 in the other.

    Half of the noise is outward; the shares are of samples above the upper bounds, then below the
    lower ones (equation 18).
    """
    beyond = implementation.probe(squashed=1.0, low=[-2.0, -1.0], high=[6.0, 1.0])
    implementation.assert_documented(
        beyond,
        own_bounds=[0.0, 0.0, 0.0, 0.0],  # Stable-Baselines3, TorchRL
        first_dimension=[0.0, 0.5, 0.0, 0.5],  # CleanRL: by the first dimension
        unclipped=[0.5, 0.5, 0.5, 0.5],
    )


@pytest.mark.detail("td3.target_noise.draw")
def test_target_noise_draw(implementation):
    """The noise of a batch varies over its samples as much as from draw to draw (equation 18)."""
    share = implementation.probe(squashed=0.0, samples=100_000)
    implementation.assert_documented(
        share,
        per_sample=1.0,  # Stable-Baselines3, TorchRL, CleanRL from 2.0 on
        shared_over_batch=0.0,  # CleanRL 0.4.8: one draw for the whole batch
    )


@pytest.mark.detail("td3.action.bounding")
def test_action_bounding(implementation):
    """Outputs 0.5, -3 and 10 act as 2 + 4 tanh x between the bounds -2 and 6 (Box 4)."""
    actions = implementation.probe(low=-2.0, high=6.0, pre_activation=[0.5, -3.0, 10.0])
    implementation.assert_documented(
        actions,
        tanh_unscale=[3.848469, -1.980219, 6.0],  # Stable-Baselines3, TorchRL, CleanRL 2.0
        tanh_only=[0.462117, -0.995055, 1.0],  # CleanRL 0.4.8: never unscaled
        none=[0.5, -3.0, 10.0],  # skrl
        hard_clip=[0.5, -2.0, 6.0],
        clip_unscale=[4.0, -2.0, 6.0],
    )


@pytest.mark.detail("td3.exploration.noise")
def test_exploration_noise(implementation):
    """Noise of 0.25 moves the action 3.848 by 1 where it is added in [-1, 1], else by 0.25 (Box 4).

    Noise of 5 leads to the upper bound 6 and not beyond it.
    """
    actions = implementation.probe(low=-2.0, high=6.0, pre_tanh=0.5, noise=[0.25, 5.0])
    implementation.assert_documented(
        actions,
        scaled=[4.848469, 6.0],  # Stable-Baselines3, CleanRL from 2.0 on
        environment=[4.098469, 6.0],  # TorchRL
        tanh_only_upper_bound=[1.962117, 6.0],  # CleanRL 0.4.8: tanh 0.5 + 0.25 * 6
        unclipped_environment=[4.098469, 8.848469],
        none=[3.848469, 3.848469],
    )


@pytest.mark.detail("td3.actor_loss")
def test_actor_loss(implementation):
    """The policy maximises the first of two networks that say 4 and 1, then 1 and 4 (eq. 16)."""
    losses = implementation.probe(q_values=[[4.0, 1.0], [1.0, 4.0]])
    implementation.assert_documented(
        losses,
        first=[-4.0, -1.0],  # all
        min=[-1.0, -1.0],
        mean=[-2.5, -2.5],
        ascent=[4.0, 1.0],
    )


@pytest.mark.detail("td3.policy_delay")
def test_policy_delay(implementation):
    """With a delay of 2 the updates 2, 4 and 6 move the policy and the target networks (alg. 2)."""
    flags = implementation.probe(delay=2, updates=6)
    at_even = [0.0, 1.0, 0.0, 1.0, 0.0, 1.0]
    always = [1.0] * 6
    implementation.assert_documented(
        flags,  # the policy, then the target networks
        delayed_together=at_even + at_even,  # Stable-Baselines3, CleanRL, TorchRL's program
        targets_every_update=at_even + always,  # TorchRL's trainer
        policy_every_update=always + at_even,
        not_delayed=always + always,
    )


@pytest.mark.detail("td3.target_update.polyak")
def test_target_update_polyak(implementation):
    """A target at 0 whose source is at 1 moves to 0.005, not to 0.995 (thesis, section 3.2)."""
    targets = implementation.probe(source=[1.0, 3.0, -2.0], target=[0.0, -1.0, 2.0], tau=0.005)
    implementation.assert_documented(
        targets,
        towards_source=[0.005, -0.98, 1.98],  # all
        flipped=[0.995, 2.98, -1.98],
        copy=[1.0, 3.0, -2.0],
        not_updated=[0.0, -1.0, 2.0],
    )
