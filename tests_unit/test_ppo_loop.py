"""The loop of proximal policy optimisation: minibatches, early stopping, schedules, networks."""

from __future__ import annotations

import math

import pytest


@pytest.mark.detail("ppo.minibatches")
def test_minibatches(implementation):
    """Eleven steps in minibatches of 3 give 3, 3, 3 and 2; every step is used once (General 7).

    The sizes of four minibatches, then the most and the least that one step is used.
    """
    sizes_and_uses = implementation.probe(rollout_steps=11, minibatch_size=3, minibatches=3)
    implementation.assert_documented(
        sizes_and_uses,
        permutation=[3.0, 3.0, 3.0, 2.0, 1.0, 1.0],  # all
        permutation_last_dropped=[3.0, 3.0, 3.0, 0.0, 1.0, 0.0],
        equal_parts=[4.0, 4.0, 3.0, 0.0, 1.0, 1.0],  # skrl
        with_replacement=[3.0, 3.0, 3.0, 2.0, 2.0, 0.0],
    )


@pytest.mark.detail("ppo.minibatches.parameter")
def test_minibatches_parameter(implementation):
    """Twice as long a rollout gives twice as many minibatches, or twice as large ones (Table 6)."""
    size_and_number = implementation.probe(rollout_steps=[4.0, 8.0])
    implementation.assert_documented(
        size_and_number,
        size=[1.0, 2.0],  # Stable-Baselines3, TorchRL's trainer
        number=[2.0, 1.0],  # CleanRL
    )


@pytest.mark.detail("ppo.epochs.shuffle")
def test_epochs_shuffle(implementation):
    """Neither epoch has the order of collection, nor the second that of the first (General 7)."""
    in_order = implementation.probe(epochs=2, rollout_steps=8)
    implementation.assert_documented(
        in_order,
        each_epoch=[0.0, 0.0],  # all
        once=[0.0, 1.0],
        never=[1.0, 1.0],
    )


@pytest.mark.detail("ppo.early_stop.default")
def test_early_stop_default(implementation):
    """At ratio 0.01 two epochs of two minibatches still take 4 steps by default (Auxiliary 3)."""
    steps = implementation.probe(epochs=2, minibatches=2, ratio=0.01)
    implementation.assert_documented(
        steps,
        off=4.0,  # all
        after_step=1.0,
        after_epoch=2.0,
    )


@pytest.mark.detail("ppo.early_stop")
def test_early_stop(implementation):
    """With a target of 0.1, ratio 0.4 ends the update; ratios near 1 do not (Auxiliary 3).

    For the ratios 0.88, 0.8, 0.6, 0.56, 0.52, 0.4, 1.6 and 2.5: steps of the optimiser, and
    minibatches looked at, of four. r - 1 - log r is 0.008, 0.023, 0.11, 0.14, 0.17, 0.32, 0.13 and
    0.58; -log r is 0.13, 0.22, 0.51, 0.58, 0.65, 0.92, -0.47 and -0.92.
    """
    go_on = [4.0, 4.0]
    steps = implementation.probe(ratios=[0.88, 0.8, 0.6, 0.56, 0.52, 0.4, 1.6, 2.5], target=0.1)
    implementation.assert_documented(
        steps,
        **{
            # Stable-Baselines3: r - 1 - log r above 0.15 ends it before the step
            "k3_1.5_before_step": [*go_on * 4, *[0.0, 1.0] * 2, *go_on, 0.0, 1.0],
            # skrl: above 0.1, before the step, and the next epoch begins
            "k3_before_step_this_epoch": [*go_on * 2, *[0.0, 2.0] * 6],
            # CleanRL from 2.0 on: above 0.1, after an epoch
            "k3_after_epoch": [*go_on * 2, *[2.0] * 12],
            # CleanRL 0.4.8: -log r above 0.1, after an epoch
            "k1_after_epoch": [2.0] * 12 + go_on * 2,
            # TorchRL's trainer: there is no threshold
            "absent": go_on * 8,
        },
    )


@pytest.mark.detail("ppo.kl_estimator")
def test_kl_estimator(implementation):
    """Ratios 1, 1, 1 and 2 diverge by (1 - log 2) / 4 = 0.0767, never below 0 (Auxiliary 3)."""
    divergence = implementation.probe(ratios=[1.0, 1.0, 1.0, 2.0])
    implementation.assert_documented(
        divergence,
        k3=(1 - math.log(2)) / 4,  # Stable-Baselines3, CleanRL from 2.0 on
        k1=-math.log(2) / 4,  # TorchRL, CleanRL 0.4.8
        k2=math.log(2) ** 2 / 8,
    )


@pytest.mark.detail("ppo.advantages.recomputed")
def test_advantages_recomputed(implementation):
    """The second and the third epoch have the advantages of the first, or new ones: 1 if new."""
    differ = implementation.probe(rewards=[1.0, 5.0, 2.0, 8.0])
    implementation.assert_documented(
        differ,
        once=[0.0, 0.0],  # Stable-Baselines3, CleanRL
        each_epoch=[1.0, 1.0],  # TorchRL
    )


@pytest.mark.detail("ppo.advantage_normalisation.single")
def test_advantage_normalisation_single(implementation):
    """An advantage of 3 alone in its minibatch loses -3, or there is no finite loss (equation 3).

    The first number is 1 if the loss is finite.
    """
    finite_and_loss = implementation.probe(advantage=3.0)
    implementation.assert_documented(
        finite_and_loss,
        not_normalised=[1.0, -3.0],  # Stable-Baselines3, TorchRL
        not_a_number=[0.0, 0.0],  # CleanRL: 0 / 0
        zero=[1.0, 0.0],
    )


@pytest.mark.detail("ppo.iterations")
def test_iterations(implementation):
    """Ten steps in rollouts of 4 are 12 steps in three rollouts, or 8 in two (appendix C.2)."""
    steps_and_rollouts = implementation.probe(total_steps=10, rollout_steps=4)
    implementation.assert_documented(
        steps_and_rollouts,
        whole_rollouts_more=[12.0, 3.0],  # Stable-Baselines3, TorchRL
        remainder_dropped=[8.0, 2.0],  # CleanRL
        remainder_unused=[10.0, 2.0],  # skrl
        exact=[10.0, 3.0],
    )


@pytest.mark.detail("ppo.vectorisation")
def test_vectorisation(implementation):
    """Eight steps asked for in two environments are 4 in each of them (appendix C.2)."""
    together_and_first = implementation.probe(total_steps=8, environments=2)
    implementation.assert_documented(
        together_and_first,
        all_environments=[8.0, 4.0],  # all
        per_environment=[16.0, 8.0],
    )


@pytest.mark.detail("ppo.learning_rate.schedule")
def test_learning_rate_schedule(implementation):
    """Three rollouts of two updates: the learning rate over the first, by default (General 6)."""
    rates = implementation.probe(rollouts=3, minibatches=2, learning_rate=1e-3)
    implementation.assert_documented(
        rates,
        constant=[1.0] * 6,  # Stable-Baselines3, TorchRL's trainer
        by_rollout=[1.0, 1.0, 2 / 3, 2 / 3, 1 / 3, 1 / 3],  # CleanRL
        by_rollout_to_zero=[1.0, 1.0, 0.5, 0.5, 0.0, 0.0],
    )


@pytest.mark.detail("ppo.learning_rate.schedule.asked")
def test_learning_rate_schedule_asked(implementation):
    """A linear schedule over three rollouts of two updates starts at 1 or at 2/3 (General 6)."""
    rates = implementation.probe(rollouts=3, minibatches=2, learning_rate=1e-3)
    implementation.assert_documented(
        rates,
        by_rollout=[1.0, 1.0, 2 / 3, 2 / 3, 1 / 3, 1 / 3],  # CleanRL, TorchRL's trainer
        # Stable-Baselines3: the rollout just collected counts as done
        by_rollout_after_collection=[2 / 3, 2 / 3, 1 / 3, 1 / 3, 0.0, 0.0],
        by_update=[1.0, 5 / 6, 4 / 6, 3 / 6, 2 / 6, 1 / 6],  # TorchRL's program
        absent=[1.0] * 6,
    )


@pytest.mark.detail("ppo.clip_range.schedule.asked")
def test_clip_range_schedule_asked(implementation):
    """A schedule of the clip range alone, then with one of the learning rate (Auxiliary 1)."""
    alone = [1.0] * 6
    by_update = [1.0, 5 / 6, 4 / 6, 3 / 6, 2 / 6, 1 / 6]
    ranges = implementation.probe(rollouts=3, minibatches=2, clip_range=0.2)
    implementation.assert_documented(
        ranges,
        by_rollout_after_collection=[2 / 3, 2 / 3, 1 / 3, 1 / 3, 0.0, 0.0] * 2,  # Stable-Baselines3
        by_update_if_learning_rate_too=alone + by_update,  # TorchRL's program
        absent=alone + alone,  # CleanRL, TorchRL's trainer
        by_update=by_update + by_update,
    )


@pytest.mark.detail("ppo.networks")
def test_networks(implementation):
    """Policy and value have two layers of 64 units each, with tanh, and share none (MuJoCo 6, 7).

    Units of three layers of the policy and of the value; 1 if they share one; tanh -1 and tanh 2.
    """
    layers = implementation.probe(fed=[-1.0, 2.0])
    tanh, units = [-0.761594, 0.964028], [64.0, 64.0, 0.0]
    implementation.assert_documented(
        layers,
        tanh_64_64=[*units, *units, 0.0, *tanh],  # all
        tanh_64_64_shared=[*units, *units, 1.0, *tanh],
        relu_64_64=[*units, *units, 0.0, 0.0, 2.0],
        elu_256_256_256=[*[256.0] * 6, 0.0, -0.632121, 2.0],  # RSL-RL
    )


@pytest.mark.detail("ppo.log_std")
def test_log_std(implementation):
    """One log standard deviation for all states starts at 0 (Box 2; MuJoCo 5).

    The second number is 1 if it differs between the observations 0 and 2.
    """
    start_and_differs = implementation.probe(observation=2.0)
    implementation.assert_documented(
        start_and_differs,
        independent_0=[0.0, 0.0],  # Stable-Baselines3, CleanRL, TorchRL's program
        dependent_0=[0.0, 1.0],  # TorchRL: an output of the network
        **{"independent_-0.5": [-0.5, 0.0]},
    )


@pytest.mark.detail("ppo.value_clip.range")
def test_value_clip_range(implementation):
    """A value of 3 counts as 0.1 or as 0.3, the two ranges, beside an old one of 0 (section 5.1).

    For a return of 10 the loss is 9.9^2 or 9.7^2; it is divided by 7^2.
    """
    ratio = implementation.probe(
        policy_clip_range=0.3, value_clip_range=0.1, value=3.0, old_value=0.0, **{"return": 10.0}
    )
    implementation.assert_documented(
        ratio,
        own=98.01 / 49,  # Stable-Baselines3, TorchRL
        policy=94.09 / 49,  # CleanRL: the policy's clip range
        none=1.0,
    )


@pytest.mark.detail("ppo.value_clip.gradient")
def test_value_clip_gradient(implementation):
    """Values 8 beside an old 5: beyond the range of 0.2 only an overshoot is trained (Box 3).

    The returns are 5 (overshot), 10 (on its way) and 6 (within the range); 1 is the whole gradient.
    """
    gradients = implementation.probe(
        old_value=5.0, values=[8.0, 8.0, 5.1], returns=[5.0, 10.0, 6.0], clip_range=0.2
    )
    implementation.assert_documented(
        gradients,
        none_outside=[0.0, 0.0, 1.0],  # Stable-Baselines3
        if_it_overshot=[1.0, 0.0, 1.0],  # TorchRL, CleanRL
        always=[1.0, 1.0, 1.0],
    )


@pytest.mark.detail("ppo.loss.sign")
def test_loss_sign(implementation):
    """Advantages lower the total loss, errors of the value raise it, entropy lowers it (eq. 11)."""
    signs = implementation.probe(coefficient=0.25)
    implementation.assert_documented(
        signs,
        policy_value_entropy=[-1.0, 1.0, -1.0],  # all
        minus_policy_loss=[1.0, 1.0, -1.0],  # the thesis as printed
        entropy_added=[-1.0, 1.0, 1.0],
    )
