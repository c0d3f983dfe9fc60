"""Proximal policy optimisation: equations 3 and 7 to 11 and Boxes 1 to 3 of the thesis.

Each test asks the framework's real code with the inputs that it names, and states what every known
way to do it makes of them. Beside a number stands who does it that way.
"""

from __future__ import annotations

import math

import pytest


@pytest.mark.detail("ppo.policy_loss.clip")
def test_policy_loss_clip(implementation):
    """A ratio of 2 counts as 1.2 for an advantage above 0 and whole for one below it (equation 7).

    Of eight samples four have the advantage 0; the loss is minus the mean over all eight.
    """
    loss = implementation.probe(
        ratios=[2.0, 2.0, 0.5, 0.5, 1.0, 1.0, 1.0, 1.0],
        advantages=[2.0, -1.0, 2.0, -1.0, 0.0, 0.0, 0.0, 0.0],
        clip_range=0.2,
    )
    implementation.assert_documented(
        loss,
        pessimistic=-0.075,  # all: 2.4 - 2 + 1 - 0.8
        no_clip=-0.3125,  # 4 - 2 + 1 - 0.5
        clip_without_minimum=-0.25,  # 2.4 - 1.2 + 1.6 - 0.8
        optimistic=-0.4875,  # 4 - 1.2 + 1.6 - 0.5
        mean_ratio=-0.28125,  # the mean ratio 1.125 times the mean advantage 0.25 (eq. 8, 9)
        ascent=0.075,
    )


@pytest.mark.detail("ppo.advantage_normalisation")
def test_advantage_normalisation(implementation):
    """Advantages become -1/sqrt 2 and 1/sqrt 2 in any minibatch of two (equation 3; General 3).

    With ratio 2 one of the two counts 2 and the other 1.2: a loss of 0.8 / sqrt 2 / 2.
    """
    loss = implementation.probe(advantages=[1.0, 2.0, 3.0, 10.0], ratio=2.0, minibatch_size=2)
    implementation.assert_documented(
        loss,
        # Stable-Baselines3, CleanRL, TorchRL's program, TorchRL before 0.4
        minibatch_ddof1=0.4 / math.sqrt(2),
        minibatch_ddof0=0.4,
        # TorchRL's trainer: deviations -3, -2, -1 and 6 over the root of 50 / 3
        batch_ddof1=1.2 / math.sqrt(50 / 3),
        batch_ddof0=1.2 / math.sqrt(50 / 4),
        off=-4.8,  # TorchRL from 0.4 on: -1.2 * 16 / 4
    )


@pytest.mark.detail("ppo.advantage_normalisation.epsilon")
def test_advantage_normalisation_epsilon(implementation):
    """Advantages 1e-8 apart from 0 have a deviation of 1.41e-8: epsilon tells (equation 3)."""
    loss = implementation.probe(advantages=[-1e-8, 1e-8], ratio=2.0)
    implementation.assert_documented(
        loss,
        **{
            "added_1e-8": 0.4 / (math.sqrt(2) + 1),  # Stable-Baselines3, CleanRL
            "clamped_1e-6": 0.004,  # TorchRL: the deviation is at least 1e-6
            "clamped_1e-4": 0.00004,  # TorchRL's trainer
            "none": 0.4 / math.sqrt(2),
        },
    )


@pytest.mark.detail("ppo.value_loss.scale")
def test_value_loss_scale(implementation):
    """A value of 3 for a return of 5 loses 4, or 2 where the square is halved (equation 10)."""
    loss = implementation.probe(value=3.0, **{"return": 5.0})
    implementation.assert_documented(
        loss,
        none=4.0,  # Stable-Baselines3, TorchRL
        half=2.0,  # CleanRL
        quarter=1.0,  # halved twice
    )


@pytest.mark.detail("ppo.value_loss.coefficient")
def test_value_loss_coefficient(implementation):
    """The value loss enters the total loss with 0.5, or whole (equation 11; Table 6)."""
    implementation.assert_documented(
        implementation.probe(),
        half=0.5,  # Stable-Baselines3, CleanRL
        one=1.0,  # TorchRL
        quarter=0.25,
        two_and_a_half=2.5,  # skrl
    )


@pytest.mark.detail("ppo.value_loss.distance")
def test_value_loss_distance(implementation):
    """Errors of 2 and 4 cost 16 and 64 times as much as one of 0.5, or less if linear beyond 1."""
    ratios = implementation.probe(errors=[0.5, 2.0, 4.0])
    implementation.assert_documented(
        ratios,
        squared=[16.0, 64.0],  # Stable-Baselines3, CleanRL: 0.25, 4, 16
        smooth_l1=[12.0, 28.0],  # TorchRL: 0.125, 1.5, 3.5
        absolute=[4.0, 8.0],
    )


#: two samples in each of three minibatches. The value is 3; clipped, it is 0.2 and 0.2 in the
#: first, 0.2 and 3.3 in the second. The losses are divided by that of the third: its errors are 1.
CLIPPED_VALUES = {
    "value": 3.0,
    "old_values": [[0.0, 0.0], [0.0, 3.5], [3.0, 3.0]],
    "returns": [[5.0, 0.0], [0.0, 2.0], [2.0, 2.0]],
    "clip_range": 0.2,
}


@pytest.mark.detail("ppo.value_clip")
def test_value_clip(implementation):
    """Clipping, when asked for, takes each sample's larger error, or the clipped one (Box 3)."""
    losses = implementation.probe(**CLIPPED_VALUES)
    implementation.assert_documented(
        losses,
        elementwise_max=[16.02, 5.345],  # TorchRL, CleanRL: (4.8^2 + 9) / 2 and (9 + 1.3^2) / 2
        forced=[11.54, 0.865],  # Stable-Baselines3: (4.8^2 + 0.2^2) / 2, (0.2^2 + 1.3^2) / 2
        off=[6.5, 5.0],  # (4 + 9) / 2 and (9 + 1) / 2
        max_of_sums=[11.54, 5.0],
        thesis_box3=[7.84, 5.0],  # as printed, with (V_clipped - V)^2 = 2.8^2
    )


@pytest.mark.detail("ppo.value_clip.default")
def test_value_clip_default(implementation):
    """Unless asked for, values are clipped in one framework and not in the others (section 5.1)."""
    losses = implementation.probe(**CLIPPED_VALUES)
    implementation.assert_documented(
        losses,
        off=[6.5, 5.0],  # Stable-Baselines3, TorchRL
        elementwise_max=[16.02, 5.345],  # CleanRL
        forced=[11.54, 0.865],
    )


@pytest.mark.detail("ppo.initialisation")
def test_initialisation(implementation):
    """Hidden layers have gain sqrt 2, the policy's last one 0.01, the value's last one 1 (Box 1).

    The least and largest singular value of each layer, policy before value; the largest bias.
    """
    hidden = [math.sqrt(2)] * 4
    gains = implementation.probe(hidden=64, observation_dimensions=3, action_dimensions=2)
    implementation.assert_documented(
        gains,
        **{
            # Stable-Baselines3, CleanRL
            "policy_0.01_value_1": [*hidden, 0.01, 0.01, *hidden, 1.0, 1.0, 0.0],
            # TorchRL's program
            "all_policy_1_all_value_0.01": [1.0] * 6 + [0.01] * 6 + [0.0],
            # TorchRL: PyTorch's own; minus the bound of the weights times sqrt n, biases differ
            "torch_default": [-1.0] * 13,
            "policy_1_value_0.01": [*hidden, 1.0, 1.0, *hidden, 0.01, 0.01, 0.0],  # as printed
        },
    )


@pytest.mark.detail("ppo.action.bounding")
def test_action_bounding(implementation):
    """Samples 9, -5 and 0.5 between the bounds -2 and 6 are clipped, or squashed (Box 2).

    What the environment receives, then what is stored for the update.
    """
    actions = implementation.probe(low=-2.0, high=6.0, samples=[9.0, -5.0, 0.5])
    implementation.assert_documented(
        actions,
        clip_stored_raw=[6.0, -2.0, 0.5, 9.0, -5.0, 0.5],  # Stable-Baselines3, CleanRL
        # TorchRL: 2 + 4 tanh x, stored as executed
        tanh_unscale=[6.0, -1.99964, 3.84847, 6.0, -1.99964, 3.84847],
        clip_stored_clipped=[6.0, -2.0, 0.5, 6.0, -2.0, 0.5],
        none=[9.0, -5.0, 0.5, 9.0, -5.0, 0.5],
    )


@pytest.mark.detail("ppo.entropy.bonus")
def test_entropy_bonus(implementation):
    """The loss falls by 0.25 times the entropy where its coefficient is 0.25 (equation 11)."""
    slope = implementation.probe(coefficient=0.25)
    implementation.assert_documented(
        slope,
        bonus=-0.25,  # all
        penalty=0.25,
        none=0.0,
    )


@pytest.mark.detail("ppo.entropy.coefficient")
def test_entropy_coefficient(implementation):
    """The entropy has no weight by default, or 0.01 (Table 6)."""
    implementation.assert_documented(
        implementation.probe(),
        **{
            "zero": 0.0,  # Stable-Baselines3, CleanRL
            "0.01": 0.01,  # TorchRL
        },
    )


@pytest.mark.detail("ppo.gradient_clip")
def test_gradient_clip(implementation):
    """A norm above 100 reaches the optimiser as 0.5, over all parameters together (General 8)."""
    norm = implementation.probe(raw_norm=100.0, cap=3.0)
    implementation.assert_documented(
        norm,
        **{
            "joint_0.5": 0.5,  # Stable-Baselines3, CleanRL
            "none": 3.0,  # TorchRL: not clipped, and said to be 3 where it is larger
            "separate_0.5": math.sqrt(0.5),  # policy and value apart, 0.5 each
            "separate_1": math.sqrt(2.0),  # RSL-RL
            "joint_1": 1.0,  # RSL-RL before 4.0
        },
    )


@pytest.mark.detail("ppo.adam.epsilon")
def test_adam_epsilon(implementation):
    """Adam's epsilon is 1e-5 and not the 1e-8 of PyTorch: its log10 (General 11; Table 6)."""
    implementation.assert_documented(
        implementation.probe(),
        **{
            "1e-5": -5.0,  # Stable-Baselines3, CleanRL, TorchRL's program
            "1e-8": -8.0,
        },
    )
