"""Deep deterministic policy gradients: Lillicrap et al. 2016.

Each test asks the framework's real code with the inputs that it names, and states what every known
way to do it makes of them. Beside a number stands who does it that way.
"""

from __future__ import annotations

import pytest


@pytest.mark.detail("ddpg.networks")
def test_single_critic(implementation):
    """There is one Q network with one target (Lillicrap et al. 2016, algorithm 1)."""
    counts = implementation.probe(dimensions=1)
    implementation.assert_documented(
        counts,
        one=[1.0, 1.0],  # all
        two=[2.0, 2.0],
        no_target=[1.0, 0.0],
    )


@pytest.mark.detail("ddpg.target.action")
def test_target_action(implementation):
    """The next action is tanh 0.25 of the target policy, or tanh -1 of the policy itself.

    Noise as TD3 adds it would spread it by 0.2 (algorithm 1).
    """
    mean_and_spread = implementation.probe(online=-1.0, target=0.25)
    implementation.assert_documented(
        mean_and_spread,
        target_policy=[0.244919, 0.0],  # Stable-Baselines3, CleanRL
        online_policy=[-0.761594, 0.0],  # TorchRL: delay_actor is False
        target_policy_smoothed=[0.244919, 0.197],
    )


@pytest.mark.detail("ddpg.target.terminal")
def test_terminal_mask(implementation):
    """Reward 0.25, next value 0.5, discount 0.5: a truncated step is worth 0.5 as any other.

    A terminated one is worth its reward.
    """
    targets = implementation.probe(  # inside an episode, terminated, truncated
        terminated=[0.0, 1.0, 0.0],
        truncated=[0.0, 0.0, 1.0],
        reward=0.25,
        target_q=0.5,
        discount=0.5,
    )
    implementation.assert_documented(
        targets,
        truncation_bootstrapped=[0.5, 0.25, 0.5],  # all
        truncation_is_terminal=[0.5, 0.25, 0.25],
        bootstrap_everything=[0.5, 0.5, 0.5],
    )


@pytest.mark.detail("ddpg.loss.values")
def test_loss_of_the_values(implementation):
    """Errors of 0.5, 3 and 5 cost 0.25, 9 and 25: squares, not halved."""
    losses = implementation.probe(errors=[0.5, 3.0, 5.0])
    implementation.assert_documented(
        losses,
        squared=[0.25, 9.0, 25.0],  # all
        half_squared=[0.125, 4.5, 12.5],
        huber=[0.125, 2.5, 4.5],
    )


@pytest.mark.detail("ddpg.loss.policy")
def test_loss_of_the_policy(implementation):
    """The policy climbs the Q network's 2, not the target's -0.5 (equation 6)."""
    loss = implementation.probe(online=2.0, target=-0.5)
    implementation.assert_documented(
        loss,
        values=-2.0,  # all
        target_values=0.5,
        descends=2.0,
    )


@pytest.mark.detail("ddpg.policy_delay")
def test_policy_delay(implementation):
    """Policy and targets move at every update of the Q network (algorithm 1)."""
    rates = implementation.probe()
    implementation.assert_documented(
        rates,
        every_update=[1.0, 1.0],  # Stable-Baselines3, TorchRL
        every_second=[0.5, 0.5],  # CleanRL
        policy_every_second=[0.5, 1.0],
    )


@pytest.mark.detail("ddpg.exploration.noise")
def test_exploration_noise(implementation):
    """Between -2 and 6 a noise of 0.25 on tanh 0.5 moves the action by 1, or by 0.25."""
    actions = implementation.probe(low=-2.0, high=6.0, pre_tanh=0.5, noise=[0.25, 5.0])
    implementation.assert_documented(
        actions,
        scaled=[4.848469, 6.0],  # Stable-Baselines3, CleanRL
        environment=[4.098469, 6.0],  # TorchRL
        unclipped_scaled=[4.848469, 23.848469],
        none=[3.848469, 3.848469],
    )
