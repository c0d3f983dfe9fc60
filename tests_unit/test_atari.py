"""Atari preprocessing: the ten Atari details of "The 32 details of PPO", and what surrounds them.

Each test plays a game of known frames and rewards through the framework's real wrappers, and states
what every known way to do it makes of them. Beside a number stands who does it that way.
"""

from __future__ import annotations

import pytest


@pytest.mark.detail("atari.noop_reset")
def test_noop_reset(implementation):
    """A game is started with at least 1 and at most 30 no-ops (Atari 1).

    The least and the most number of steps, and 1 if all of them are no-ops.
    """
    steps = implementation.probe(actions=4)
    implementation.assert_documented(
        steps,
        one_to_maximum=[1.0, 30.0, 1.0],  # Stable-Baselines3, CleanRL
        zero_to_below_maximum_random=[0.0, 29.0, 0.0],  # TorchRL: random actions
        absent=[0.0, 0.0, 1.0],
    )


@pytest.mark.detail("atari.fire_reset")
def test_fire_reset(implementation):
    """A game that waits for FIRE gets the actions 1 and 2, any other none (Atari 2).

    The number of actions, the first and the second (-1: none), the number in a game without FIRE.
    """
    actions = implementation.probe(actions=4)
    implementation.assert_documented(
        actions,
        fire_and_second=[2.0, 1.0, 2.0, 0.0],  # Stable-Baselines3, CleanRL
        absent=[0.0, -1.0, -1.0, 0.0],  # TorchRL's program: the agent has to press FIRE
        fire=[1.0, 1.0, -1.0, 0.0],
        always=[2.0, 1.0, 2.0, 2.0],
    )


@pytest.mark.detail("atari.episodic_life")
def test_episodic_life(implementation):
    """A lost life ends the episode and the game goes on with a no-op, or a flag is set (Atari 3).

    At the first life: 1 if the episode ends; 1 if it ends or a flag says so. At the last one: the
    same. Then games started by the reset, actions that it sends, and the first of them (-1: none).
    """
    ends = implementation.probe(lives=3)
    implementation.assert_documented(
        ends,
        end_then_noop=[1.0, 1.0, 0.0, 0.0, 1.0, 0.0],  # Stable-Baselines3, CleanRL
        flag=[0.0, 1.0, 1.0, 0.0, 0.0, -1.0],  # TorchRL: the episode goes on
        absent=[0.0, 0.0, 0.0, 0.0, 0.0, -1.0],  # TorchRL before 0.3
        end_then_new_game=[1.0, 1.0, 0.0, 1.0, 0.0, -1.0],
    )


@pytest.mark.detail("atari.max_and_skip")
def test_max_and_skip(implementation):
    """Frames 40, 200, 120, 80 show 120, the last two's maximum; rewards add to 15 (Atari 4)."""
    frames_reward_colour = implementation.probe(
        pixels=[40.0, 200.0, 120.0, 80.0], rewards=[1.0, 2.0, 4.0, 8.0]
    )
    implementation.assert_documented(
        frames_reward_colour,
        maximum_of_last_two=[4.0, 15.0, 120.0],  # Stable-Baselines3, CleanRL
        last_frame=[4.0, 15.0, 80.0],  # TorchRL
        maximum_of_all=[4.0, 15.0, 200.0],
        last_reward=[4.0, 8.0, 120.0],
    )


@pytest.mark.detail("atari.frame_stack")
def test_frame_stack(implementation):
    """Before the first of four stacked frames stand zeros, or the first frame again (Atari 6).

    After a reset to frame 10, after the frames 11 and 12, after the next reset.
    """
    stack = implementation.probe(first_pixel=10.0)
    zeros, repeated = [0.0, 0.0, 0.0, 10.0], [10.0, 10.0, 10.0, 10.0]
    implementation.assert_documented(
        stack,
        zeros=[*zeros, 0.0, 10.0, 11.0, 12.0, *zeros],  # Stable-Baselines3
        first_repeated=[*repeated, 10.0, 10.0, 11.0, 12.0, *repeated],  # TorchRL, CleanRL
        zeros_then_not_cleared=[*zeros, 0.0, 10.0, 11.0, 12.0, 10.0, 11.0, 12.0, 10.0],
    )


@pytest.mark.detail("atari.clip_reward")
def test_clip_reward(implementation):
    """Rewards of -2.5, 0, 0.4 and 7 are -1, 0, 1 and 1 to the agent: their sign (Atari 7)."""
    rewards = implementation.probe(rewards=[-2.5, 0.0, 0.4, 7.0])
    implementation.assert_documented(
        rewards,
        sign=[-1.0, 0.0, 1.0, 1.0],  # all
        clip=[-1.0, 0.0, 0.4, 1.0],
        absent=[-2.5, 0.0, 0.4, 7.0],
    )


@pytest.mark.detail("atari.image_scaling")
def test_image_scaling(implementation):
    """A pixel of 51 enters the first layer as 51 / 255 = 0.2, and one of 255 as 1 (Atari 8).

    For the policy and for the value, then the same of the second frame.
    """
    entering = implementation.probe(pixels=[51.0, 255.0])
    implementation.assert_documented(
        entering,
        to_one=[0.2, 0.2, 1.0, 1.0],  # Stable-Baselines3, CleanRL, TorchRL
        # TorchRL's program: also less a running mean, over a running deviation
        standardised=[0.0, 0.0, 1.41421, 1.41421],
        absent=[51.0, 51.0, 255.0, 255.0],
        twice=[0.00078, 0.00078, 0.00392, 0.00392],
    )


@pytest.mark.detail("atari.networks")
def test_networks(implementation):
    """Frames pass 32 8x8/4, 64 4x4/2 and 64 3x3/1, then 512 units (Mnih et al. 2015)."""
    layers = implementation.probe()
    implementation.assert_documented(
        layers,
        nature=[32.0, 8.0, 4.0, 64.0, 4.0, 2.0, 64.0, 3.0, 1.0, 512.0],  # all
        nips=[16.0, 8.0, 4.0, 32.0, 4.0, 2.0, -1.0, -1.0, -1.0, 256.0],
    )
