"""The loop of soft actor-critic: order and number of updates, start of learning, temperature."""

from __future__ import annotations

import pytest


@pytest.mark.detail("sac.update_order")
def test_update_order(implementation):
    """The policy's loss sees Q networks that were updated first (thesis, algorithm 3).

    Three answers of 1 or 0: the policy's loss sees the new Q networks; the target sees the new
    temperature; the policy's loss does.
    """
    detects = implementation.probe(learning_rate=0.1, target_q=5.0, reward=1.0, log_prob=-1.7)
    implementation.assert_documented(
        detects,
        critic_first=[1.0, 0.0, 0.0],  # Stable-Baselines3, CleanRL
        joint=[0.0, 0.0, 0.0],  # TorchRL's program: one backward pass for all losses
        temperature_critic_policy=[1.0, 1.0, 1.0],
    )


@pytest.mark.detail("sac.update_schedule")
def test_update_schedule(implementation):
    """In 8 steps Q networks, policy, temperature and targets are updated 8 times each.

    The last number: policy updates without an update of the Q networks between them (section 5.3).
    """
    updates = implementation.probe(starts=10, steps=20, counted=8)
    implementation.assert_documented(
        updates,
        one_of_each=[8.0, 8.0, 8.0, 8.0, 1.0],  # Stable-Baselines3, TorchRL, CleanRL 0.4.8
        pairs=[8.0, 8.0, 8.0, 8.0, 2.0],  # CleanRL from 2.0 on: two after every second step
        policy_delayed=[8.0, 4.0, 4.0, 8.0, 1.0],
    )


@pytest.mark.detail("sac.update_ratio")
def test_update_ratio(implementation):
    """One update a step; asked for fewer, one in two steps; asked for more, two a step.

    Updates of the Q networks, then of the policy, over steps, in each of the three trainings.
    """
    ratios = implementation.probe(steps=8, counted=4)
    implementation.assert_documented(
        ratios,
        one_to_one_settable=[1.0, 1.0, 0.5, 0.5, 2.0, 2.0],  # Stable-Baselines3, TorchRL
        one_to_one_fixed=[1.0, 1.0, 1.0, 1.0, 1.0, 1.0],  # CleanRL
        one_to_one_fewer=[1.0, 1.0, 0.5, 0.5, 1.0, 1.0],
        one_to_one_more=[1.0, 1.0, 1.0, 1.0, 2.0, 2.0],  # skrl
    )


@pytest.mark.detail("sac.learning_starts")
def test_learning_starts(implementation):
    """Asked to start after 10 steps: the random steps, and the steps before the first update."""
    steps = implementation.probe(starts=10, steps=20, collected_at_once=4, batch_size=3)
    implementation.assert_documented(
        steps,
        one_step_later=[10.0, 11.0],  # Stable-Baselines3
        two_steps_later=[10.0, 12.0],  # CleanRL from 2.0 on
        from_first_minibatch=[9.0, 4.0],  # CleanRL 0.4.8: as soon as 4 > 3 are stored
        whole_batches=[12.0, 12.0],  # TorchRL: 4 steps are collected at once
        at_start=[10.0, 10.0],
    )


@pytest.mark.detail("sac.vectorisation")
def test_vectorisation(implementation):
    """Asked for 8 steps in 4 environments: transitions over 8, updates over transitions, 4."""
    counts = implementation.probe(steps=8, environments=4)
    implementation.assert_documented(
        counts,
        counted_update_per_vector_step=[1.0, 0.25, 4.0],  # Stable-Baselines3
        counted_update_per_transition=[1.0, 1.0, 4.0],  # TorchRL's program
        not_counted_update_per_vector_step=[4.0, 0.25, 4.0],  # CleanRL from 2.0 on
        one_environment=[1.0, 1.0, 1.0],  # CleanRL 0.4.8
    )


@pytest.mark.detail("sac.temperature.learning_rate")
def test_temperature_learning_rate(implementation):
    """The learning rate of the temperature is 0.002, 0.005 or its own: its log10, last over first.

    The policy's is 0.002 and that of the Q networks 0.005 (thesis, section 5.3; Table 8), and both
    of these have what is set for them.
    """
    rate = implementation.probe(policy_rate=0.002, critic_rate=0.005)
    implementation.assert_documented(
        rate,
        policy_rate=[-2.699, 1.0, 1.0, 1.0],  # Stable-Baselines3
        critic_rate=[-2.301, 1.0, 1.0, 1.0],  # CleanRL
        **{"own_3e-4": [-3.523, 1.0, 1.0, 1.0]},  # TorchRL's program
        policy_rate_annealed=[-2.699, 0.0, 1.0, 1.0],
    )


@pytest.mark.detail("sac.temperature.initial")
def test_temperature_initial(implementation):
    """The temperature starts at 1, and at 0.2 where that is asked for (Table 8)."""
    first = implementation.probe(asked=0.2)
    implementation.assert_documented(
        first,
        one_or_asked=[1.0, 0.2],  # Stable-Baselines3, TorchRL
        one_always=[1.0, 1.0],  # CleanRL: nothing can be asked for
        asked_is_logarithm=[1.0, 1.221403],  # exp 0.2
        asked_value_by_default=[0.2, 0.2],  # skrl
    )


@pytest.mark.detail("sac.target_update.interval")
def test_target_update_interval(implementation):
    """With an interval of 3 the target networks move at the updates 3 and 6 of 6 (Table 8)."""
    flags = implementation.probe(interval=3, updates=6)
    implementation.assert_documented(
        flags,
        at_multiples=[0.0, 0.0, 1.0, 0.0, 0.0, 1.0],  # CleanRL
        # Stable-Baselines3 counts calls of train(), TorchRL has no interval
        every_update=[1.0, 1.0, 1.0, 1.0, 1.0, 1.0],
        from_first=[1.0, 0.0, 0.0, 1.0, 0.0, 0.0],
    )
