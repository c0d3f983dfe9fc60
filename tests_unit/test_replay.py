"""Replay buffers and n-step returns (Sutton and Barto, section 7.1; thesis, section 5.2).

Six steps earn 1, 2, 4, 8, 16 and 32; n is 3 and the discount 0.9: 1 + 0.9 * 2 + 0.81 * 4 = 6.04.
"""

from __future__ import annotations

import pytest

REWARDS = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0]
NEXT_VALUES = [3.0, 7.0, 5.0, 11.0, 13.0, 17.0]
NEVER = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
AT_STEP_2 = [0.0, 0.0, 1.0, 0.0, 0.0, 0.0]


@pytest.mark.detail("nstep.window")
def test_window(implementation):
    """A 3-step target sums 3 discounted rewards, 6.04, and bootstraps from observation 3."""
    rewards_and_observation = implementation.probe(rewards=REWARDS, n=3, discount=0.9)
    implementation.assert_documented(
        rewards_and_observation,
        n_rewards=[6.04, 3.0],  # Stable-Baselines3 from 2.7 on, TorchRL from 0.4 on
        n_plus_one=[11.872, 4.0],  # TorchRL before 0.4: 0.729 * 8 more
        one_step=[1.0, 1.0],  # Stable-Baselines3 before 2.7 has no n-step returns
        undiscounted=[7.0, 3.0],
        own_next_observation=[6.04, 1.0],
    )


@pytest.mark.detail("nstep.discount")
def test_discount(implementation):
    """The value after 3 steps is discounted 3 times: 0.9^3 = 0.729."""
    factor = implementation.probe(n=3, discount=0.9)
    implementation.assert_documented(
        factor,
        n_times=0.729,  # Stable-Baselines3 from 2.7 on, TorchRL from 0.4 on
        n_plus_one_times=0.6561,  # TorchRL before 0.4
        once=0.9,  # Stable-Baselines3 before 2.7
        never=1.0,
    )


@pytest.mark.detail("nstep.terminal")
def test_terminal(implementation):
    """The targets of the steps 0 to 2 before a termination hold no value: 6.04, 5.6 and 4."""
    targets = implementation.probe(
        rewards=REWARDS, next_values=NEXT_VALUES, terminated=AT_STEP_2, truncated=NEVER, n=3
    )
    implementation.assert_documented(
        targets,
        masked=[6.04, 5.6, 4.0],  # Stable-Baselines3 from 2.7 on, TorchRL before 0.4
        # TorchRL from 0.4 on: the value 5 of the terminal observation, three and two times
        # discounted, enters the steps before it
        unmasked=[9.685, 9.65, 4.0],
        one_step=[3.7, 8.3, 4.0],  # Stable-Baselines3 before 2.7: 1 + 0.9 * 3, 2 + 0.9 * 7
        never_masked=[9.685, 9.65, 8.5],
        runs_on=[6.04, 20.099, 33.637],  # rewards of the next episode enter
    )


@pytest.mark.detail("nstep.truncation")
def test_truncation(implementation):
    """A truncation shortens the window: the value 5 of the true last observation ends each one."""
    targets = implementation.probe(
        rewards=REWARDS, next_values=NEXT_VALUES, terminated=NEVER, truncated=AT_STEP_2, n=3
    )
    implementation.assert_documented(
        targets,
        # Stable-Baselines3 from 2.7 on, TorchRL: 6.04 + 0.729 * 5, 5.6 + 0.81 * 5, 4 + 0.9 * 5
        bootstrap=[9.685, 9.65, 8.5],
        one_step=[3.7, 8.3, 8.5],  # Stable-Baselines3 before 2.7
        terminal=[6.04, 5.6, 4.0],
        runs_on=[9.685, 20.099, 33.637],
    )


@pytest.mark.detail("replay.next_observation")
def test_next_observation(implementation):
    """Beside the third step, a truncation, lies observation 3, and not the 0 of the reset.

    The second number is of a termination in the second step of an episode (section 5.2).
    """
    stored = implementation.probe(steps=5)
    implementation.assert_documented(
        stored,
        terminal=[3.0, 2.0],  # Stable-Baselines3, TorchRL, CleanRL 0.4.8
        terminal_at_truncation=[3.0, 0.0],  # CleanRL from 2.0 on; the target masks the second
        reset=[0.0, 0.0],
    )


@pytest.mark.detail("replay.sampling")
def test_sampling(implementation):
    """4096 draws of 4096 transitions give 1 - 1/e = 63 % of them, or all of them (section 3.2)."""
    share = implementation.probe(count=4096)
    implementation.assert_documented(
        share,
        with_replacement=0.632,  # Stable-Baselines3, TorchRL, CleanRL from 2.0 on
        without_replacement=1.0,  # CleanRL 0.4.8
    )


@pytest.mark.detail("replay.warmup")
def test_warmup(implementation):
    """Of 20 steps the buffer holds 20, or 12 where the first 8 of a warm-up of 10 are lost."""
    stored = implementation.probe(steps=20, warmup=10, batch=4)
    implementation.assert_documented(
        stored,  # with SAC, with TD3
        stored=[20.0, 20.0],  # Stable-Baselines3, CleanRL, TorchRL's program
        thrown_away=[12.0, 12.0],  # TorchRL's trainer
    )


@pytest.mark.detail("replay.overwriting")
def test_overwriting(implementation):
    """A full buffer of four forgets the oldest: of the rewards 0 to 5 it holds 2 to 5."""
    stored = implementation.probe(capacity=4, rewards=[0.0, 1.0, 2.0, 3.0, 4.0, 5.0])
    implementation.assert_documented(
        stored,
        oldest=[2.0, 3.0, 4.0, 5.0],  # all
        none=[0.0, 1.0, 2.0, 3.0],
        newest=[0.0, 1.0, 2.0, 5.0],
    )


@pytest.mark.detail("replay.both_flags")
def test_both_flags(implementation):
    """A step that terminates at the very time limit is worth its reward, 1, not 1 + 0.9 * 10."""
    target = implementation.probe(reward=1.0, value=10.0, discount=0.9)
    implementation.assert_documented(
        target,
        terminal=1.0,  # all
        bootstrap=10.0,
    )
