"""Generalised advantage estimation: equations 1 and 2 of the thesis.

With discount 0.9 and lambda 0.8 the advantage of a step is A = r + 0.9 V(s') - V(s) + 0.72 A',
where A' is that of the next step of the same episode. A segment of eight steps has it all:

- step 7, the segment's end: 3 + 0.9 (-2.5) - 0.3 = 0.45, and nothing follows.
- step 6, inside an episode: 0.25 + 0.9 * 0.3 + 1.5 + 0.72 * 0.45 = 2.344.
- step 5, a truncation: -1 + 0.9 * 5 - 1.25 = 2.25. The next episode does not enter.
- step 2, a termination: 2 + 0.5 = 2.5. The value 4 of what follows does not enter either.
"""

from __future__ import annotations

import pytest

SEGMENT = {
    "rewards": [1.0, -0.5, 2.0, 0.5, 1.5, -1.0, 0.25, 3.0],
    "values": [0.5, 1.0, -0.5, 2.0, 0.75, 1.25, -1.5, 0.3],
    "next_values": [1.0, -0.5, 4.0, 0.75, 1.25, 5.0, 0.3, -2.5],
    "terminated": [0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0],
    "truncated": [0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0],
    "discount": 0.9,
    "trace": 0.8,
}


@pytest.mark.detail("gae.truncation")
def test_truncation(implementation):
    """A truncation bootstraps from the true next value, 5, where a termination does not (eq. 1)."""
    advantages = implementation.probe(**SEGMENT)
    implementation.assert_documented(
        advantages,
        # Stable-Baselines3, TorchRL
        bootstrap_truncation=[1.292, -0.15, 2.5, 1.6914, 3.495, 2.25, 2.344, 0.45],
        # CleanRL, TorchRL before 0.3: step 5 is -1 - 1.25
        truncation_is_terminal=[1.292, -0.15, 2.5, -0.6414, 0.255, -2.25, 2.344, 0.45],
        # skrl: step 5 is -1 - 0.9 * 1.5 - 1.25, and adds 0.72 * 2.344 of the next episode
        truncation_ignored=[1.292, -0.15, 2.5, -0.466347, 0.49813, -1.91232, 2.344, 0.45],
        # step 2 is 2 + 0.9 * 4 + 0.5
        bootstrap_everything=[3.15824, 2.442, 6.1, 1.6914, 3.495, 2.25, 2.344, 0.45],
        # step 5 has the value -1.5 of the observation after the reset
        reset_value_at_truncation=[1.292, -0.15, 2.5, -1.34124, -0.717, -3.6, 2.344, 0.45],
        # RSL-RL: step 5 is -1 + 0.9 * 1.25 - 1.25
        current_value_at_truncation=[1.292, -0.15, 2.5, -0.0582, 1.065, -1.125, 2.344, 0.45],
        # step 5 adds 0.72 * 2.344 of the next episode
        chain_not_cut=[1.292, -0.15, 2.5, 2.566293, 4.710130, 3.93768, 2.344, 0.45],
        # steps 6 and 7 as if the segment's end were a termination
        end_not_bootstrapped=[1.292, -0.15, 2.5, 1.6914, 3.495, 2.25, 3.964, 2.7],
        lambda_one=[1.67, 0.3, 2.5, 2.685, 3.9, 2.25, 2.425, 0.45],
        lambda_zero=[1.4, -1.95, 2.5, -0.825, 1.875, 2.25, 2.02, 0.45],
    )


@pytest.mark.detail("gae.value_target")
def test_value_target(implementation):
    """The values regress towards advantage plus value: 0.45 + 0.3 = 0.75 at step 7 (equation 2)."""
    returns = implementation.probe(**SEGMENT)
    implementation.assert_documented(
        returns,
        # Stable-Baselines3, TorchRL
        lambda_return=[1.792, 0.85, 2.0, 3.6914, 4.245, 3.5, 0.844, 0.75],
        # CleanRL, TorchRL before 0.3
        truncation_is_terminal=[1.792, 0.85, 2.0, 1.3586, 1.005, -1.0, 0.844, 0.75],
        # RSL-RL
        current_value_at_truncation=[1.792, 0.85, 2.0, 1.9418, 1.815, 0.125, 0.844, 0.75],
        # skrl
        truncation_ignored=[1.792, 0.85, 2.0, 1.533653, 1.24813, -0.66232, 0.844, 0.75],
        one_step=[1.9, -0.95, 2.0, 1.175, 2.625, 3.5, 0.52, 0.75],
        monte_carlo=[2.17, 1.3, 2.0, 4.685, 4.65, 3.5, 0.925, 0.75],
        advantage=[1.292, -0.15, 2.5, 1.6914, 3.495, 2.25, 2.344, 0.45],
    )


@pytest.mark.detail("gae.lambda_zero")
def test_lambda_zero(implementation):
    """At lambda 0 advantages are TD errors: 1 + 0.9 * 1 - 0.5 = 1.4 first. Or there is an error.

    The first number is 1 if there is one.
    """
    error_and_advantages = implementation.probe(
        rewards=[1.0, -0.5, 2.0],
        values=[0.5, 1.0, -0.5],
        next_values=[1.0, -0.5, 4.0],
        discount=0.9,
    )
    implementation.assert_documented(
        error_and_advantages,
        td_errors=[0.0, 1.4, -1.95, 6.1],  # Stable-Baselines3, CleanRL
        error=[1.0, 0.0, 0.0, 0.0],  # TorchRL's vectorised recursion divides by lambda
        rewards_minus_values=[0.0, 0.5, -1.5, 2.5],
    )


@pytest.mark.detail("gae.stored_values")
def test_stored_values(implementation):
    """A last reward of 1 has advantage 1 - 2 with the stored value, 1 - 5 with the critic's now."""
    advantage = implementation.probe(reward=1.0, value=2.0, next_value=5.0)
    implementation.assert_documented(
        advantage,
        stored=-1.0,  # Stable-Baselines3, CleanRL
        recomputed=-4.0,  # TorchRL
    )
