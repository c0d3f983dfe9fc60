"""The loop of twin delayed DDPG: exploration, stored actions, start of learning, clipping."""

from __future__ import annotations

import math

import pytest


@pytest.mark.detail("td3.replay.action")
def test_replay_action(implementation):
    """The environment gets 2 + 4 tanh 0.5 = 3.848 and the buffer that or tanh 0.5 (section 5.2)."""
    executed_and_stored = implementation.probe(low=-2.0, high=6.0, pre_tanh=0.5)
    implementation.assert_documented(
        executed_and_stored,
        scaled=[3.848469, 0.462117],  # Stable-Baselines3
        environment=[3.848469, 3.848469],  # TorchRL, CleanRL from 2.0 on
        never_unscaled=[0.462117, 0.462117],  # CleanRL 0.4.8
    )


@pytest.mark.detail("td3.exploration.default")
def test_exploration_default(implementation):
    """A policy of 0 explores with a deviation of 0.1 unless asked otherwise (Table 7)."""
    log2_of_deviation = implementation.probe(samples=60)
    implementation.assert_documented(
        log2_of_deviation,
        none=-10.0,  # Stable-Baselines3: none unless it is asked for
        tenth=math.log2(0.1),  # CleanRL, TorchRL's program
        unit=math.log2(0.7184),  # TorchRL's module: N(0, 1), clipped to [-1, 1]
        fifth=math.log2(0.2),
    )


@pytest.mark.detail("td3.exploration.environments")
def test_exploration_environments(implementation):
    """Four environments get four draws of the noise: their actions differ within a step (C.2)."""
    stepped_and_spread = implementation.probe(environments=4, steps=15)
    implementation.assert_documented(
        stepped_and_spread,
        own_noise=[4.0, 1.0],  # Stable-Baselines3, TorchRL's program
        shared_noise=[4.0, 0.0],  # CleanRL from 2.0 on
        one_environment=[1.0, 0.0],  # CleanRL 0.4.8
    )


@pytest.mark.detail("td3.exploration.warmup")
def test_exploration_warmup(implementation):
    """Noise of 5 puts no action of the uniform warm-up on a bound, or every one (section 5.2)."""
    share_on_bounds = implementation.probe(noise=5.0, steps=10)
    implementation.assert_documented(
        share_on_bounds,
        uniform=0.0,  # TorchRL, CleanRL
        noisy=1.0,  # Stable-Baselines3: noise is added in the warm-up too
    )


@pytest.mark.detail("td3.learning_starts")
def test_learning_starts(implementation):
    """Asked to start after 10 steps: the random steps, and the steps before the first update."""
    steps = implementation.probe(starts=10, steps=20, collected_at_once=4, batch_size=3)
    implementation.assert_documented(
        steps,
        one_step_later=[10.0, 11.0],  # Stable-Baselines3
        two_steps_later=[10.0, 12.0],  # CleanRL
        whole_batches=[12.0, 12.0],  # TorchRL: 4 steps are collected at once
        at_start=[10.0, 10.0],
    )


@pytest.mark.detail("td3.gradient_clip")
def test_gradient_clip(implementation):
    """One over the norm that the optimisers of the critics and the policy find; 0 beyond 1000."""
    inverse_norms = implementation.probe(factor=1e6)
    implementation.assert_documented(
        inverse_norms,
        none=[0.0, 0.0],  # Stable-Baselines3, TorchRL, CleanRL from 2.0 on
        half_each=[2.0, 2.0],  # CleanRL 0.4.8: to a norm of 0.5
        half_critics=[2.0, 0.0],
    )
