"""Deep Q-networks: Mnih et al. 2015, van Hasselt et al. 2016.

Each test asks the framework's real code with the inputs that it names, and states what every known
way to do it makes of them. Beside a number stands who does it that way.
"""

from __future__ import annotations

import pytest


@pytest.mark.detail("dqn.target.double")
def test_double(implementation):
    """The next state is worth 0.6 by the target network's choice, 0.2 by the Q network's.

    The Q network prefers action 1, which the target network values at 0.2 (van Hasselt et al. 2016,
    equations 3 and 4).
    """
    target = implementation.probe(
        online=[-0.5, 0.5, 0.3], target=[0.1, 0.2, 0.6], reward=0.1, discount=0.5
    )
    implementation.assert_documented(
        target,
        max_target=0.4,  # all: 0.1 + 0.5 * 0.6
        double=0.2,
        double_reversed=0.25,
        max_online=0.35,
    )


@pytest.mark.detail("dqn.target.ties")
def test_tied_values(implementation):
    """Two best actions worth 0.4 are worth 0.4, and not 0.8."""
    target = implementation.probe(target=[0.4, 0.1, 0.4], reward=0.0, discount=0.5)
    implementation.assert_documented(
        target,
        one_of_them=0.2,  # Stable-Baselines3, CleanRL
        sum_of_them=0.4,  # TorchRL with one-hot actions
    )


@pytest.mark.detail("dqn.target.terminal")
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
        truncation_bootstrapped=[0.5, 0.25, 0.5],  # Stable-Baselines3, TorchRL, CleanRL 2.0
        truncation_is_terminal=[0.5, 0.25, 0.25],  # CleanRL 0.4.8
        bootstrap_everything=[0.5, 0.5, 0.5],
    )


@pytest.mark.detail("dqn.loss.kind")
def test_loss(implementation):
    """Errors of 0.5, 3 and 5 cost 0.125, 2.5 and 4.5 by Huber, 0.25, 9 and 25 by squares."""
    losses = implementation.probe(errors=[0.5, 3.0, 5.0])
    implementation.assert_documented(
        losses,
        huber=[0.125, 2.5, 4.5],  # Stable-Baselines3
        squared=[0.25, 9.0, 25.0],  # TorchRL, CleanRL
        half_squared=[0.125, 4.5, 12.5],
        absolute=[0.5, 3.0, 5.0],
    )


@pytest.mark.detail("dqn.target_update.interval")
def test_target_interval(implementation):
    """With an update every 2 steps, an interval of 6 is 6 steps, or 6 updates, which are 12."""
    steps = implementation.probe(every=2, interval=6)
    implementation.assert_documented(
        steps,
        environment_steps=6.0,  # Stable-Baselines3, CleanRL
        updates=12.0,
        updates_and_one=14.0,  # TorchRL: HardUpdate waits for one more
    )


@pytest.mark.detail("dqn.target_update.environments")
def test_target_interval_of_several_environments(implementation):
    """With 3 environments and an update every 6 transitions, 12 are 12 transitions, 36 or 72.

    Or 216, with an update every 6 steps of all of them.
    """
    environments_and_transitions = implementation.probe(environments=3, every=6, interval=12)
    implementation.assert_documented(
        environments_and_transitions,
        transitions=[3.0, 12.0],  # Stable-Baselines3
        vector_steps=[3.0, 36.0],
        updates=[3.0, 72.0],
        updates_and_one=[3.0, 78.0],  # TorchRL
        updates_of_vector_steps=[3.0, 216.0],  # skrl
        one_environment=[1.0, 12.0],  # CleanRL
    )


@pytest.mark.detail("dqn.epsilon.schedule")
def test_epsilon_schedule(implementation):
    """Epsilon falls from 0.9 to 0.1 in 8 steps of 0.1, and stays there.

    It is above 0.95 never, above 0.85 in 1 step, above 0.52 in 4, above 0.15 in 8, and above 0.05
    in all 14.
    """
    steps = implementation.probe(
        first=0.9, last=0.1, falls=8, steps=14, draws=[0.95, 0.85, 0.52, 0.15, 0.05]
    )
    implementation.assert_documented(
        steps,
        linear=[0, 1, 4, 8, 14],  # TorchRL, CleanRL
        linear_first_greedy=[0, 0, 3, 7, 13],  # Stable-Baselines3
        exponential=[0, 1, 6, 14, 14],  # skrl before 2.0: 0.1 + 0.8 exp(-t / 8)
        stays_first=[0, 14, 14, 14, 14],
        stays_last=[0, 0, 0, 0, 14],
    )


@pytest.mark.detail("dqn.epsilon.deterministic")
def test_epsilon_of_deterministic_actions(implementation):
    """At epsilon 0.5 actions are random in training, and are not where no chance is asked for."""
    flags = implementation.probe(epsilon=0.5)
    implementation.assert_documented(
        flags,
        greedy=[1.0, 0.0],  # Stable-Baselines3, TorchRL
        explores=[1.0, 1.0],  # CleanRL 2.0: it evaluates with the last epsilon
        no_evaluation=[1.0, -1.0],  # CleanRL 0.4.8
    )


@pytest.mark.detail("dqn.learning_starts")
def test_learning_starts(implementation):
    """Told to start after 6 steps, agents act at random for 6, or not at all, and then update."""
    steps = implementation.probe(starts=6)
    implementation.assert_documented(
        steps,
        at_start=[6.0, 6.0],  # TorchRL
        one_step_later=[6.0, 7.0],  # Stable-Baselines3
        only_epsilon_two_steps_later=[0.0, 8.0],  # CleanRL
    )


@pytest.mark.detail("dqn.train_frequency")
def test_train_frequency(implementation):
    """A frequency of 8 with 4 environments is an update every 8 transitions, or every 32."""
    intervals = implementation.probe(every=8, environments=4)
    implementation.assert_documented(
        intervals,
        vector_steps=[8.0, 4.0, 32.0],  # Stable-Baselines3
        transitions=[8.0, 4.0, 8.0],  # TorchRL
        one_environment=[8.0, 1.0, 8.0],  # CleanRL
    )
