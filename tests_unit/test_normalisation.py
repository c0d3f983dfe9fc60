"""Normalisation of observations and rewards: thesis, section 5.1 and appendix C.1; MuJoCo 1 to 4.

The agent gets (x - mean) / deviation with the mean and the deviation of what was seen so far: of 2
and 3 the second is (3 - 2.5) / 0.5 = 1. Some begin with 1e-4 samples of mean 0 and variance 1,
which changes the third digit at first; the tolerance of a detail covers it where it is not checked.
"""

from __future__ import annotations

import pytest

#: 250 numbers of mean 0 and spread 1, then two outliers beyond ten deviations.
OUTLIERS = [1.0, -1.0] * 125 + [1000.0, -1000.0]


@pytest.mark.detail("normalisation.observation")
def test_observation(implementation):
    """After 2, an observation of 3 is 1 deviation above the mean 2.5 (MuJoCo 1; appendix C.1)."""
    normalised = implementation.probe(observations=[2.0, 3.0, -1.0, 4.0, 0.5, 6.0])
    implementation.assert_documented(
        normalised,
        standard_deviation=[0.9996, -1.3728, 1.0691, -0.6750, 1.5712],  # all
        # RSL-RL: by those before, which know one observation at first
        before_update=[100.0, -6.8627, 1.5598, -0.7975, 2.4054],
        variance=[1.9977, -0.8077, 0.5714, -0.3797, 0.6889],
        not_centred=[5.9958, -0.5883, 2.1381, 0.2813, 2.6308],
        not_scaled=[0.5001, -2.3333, 2.0000, -1.2000, 3.5834],
        absent=[3.0, -1.0, 4.0, 0.5, 6.0],
    )


@pytest.mark.detail("normalisation.observation.epsilon")
def test_observation_epsilon(implementation):
    """After 100 zeros, what 0.001 becomes shows what is added to the variance (appendix C.1)."""
    normalised = implementation.probe(still=100, last=0.001)
    implementation.assert_documented(
        normalised,
        **{
            "inside_1e-8": 0.985234,  # Stable-Baselines3, CleanRL: beside a prior of 1e-4 samples
            "variance_floor_1e-4": 0.099005,  # TorchRL
            "variance_floor_1e-2": 0.009901,  # TorchRL's program
            "inside_1e-8_no_prior": 7.035801,
            "deviation_floor_1e-4": 9.900494,
        },
    )


@pytest.mark.detail("normalisation.observation.clip")
def test_observation_clip(implementation):
    """Outliers of more than ten deviations are 10 and -10 to the agent (MuJoCo 2)."""
    normalised = implementation.probe(observations=OUTLIERS)
    implementation.assert_documented(
        normalised,
        ten=[10.0, -10.0],  # Stable-Baselines3, CleanRL, TorchRL's program
        none=[15.81, -11.22],  # TorchRL, RSL-RL before 5.5
        none_before_update=[990.1, -15.93],  # RSL-RL: they are not in the statistics yet
        five=[5.0, -5.0],
        absent=[1000.0, -1000.0],
    )


@pytest.mark.detail("normalisation.order")
def test_order(implementation):
    """Observations around 110 are normalised before they are clipped to 10 (MuJoCo 2)."""
    normalised = implementation.probe(observations=[100.0, 130.0, 90.0, 110.0, 150.0])
    implementation.assert_documented(
        normalised,
        normalised_first=[0.9989, -0.9797, 0.1691, 1.5781],  # all
        clipped_first=[0.0070, 0.0057, 0.0050, 0.0044],  # nothing but tens
        not_normalised=[10.0, 10.0, 10.0, 10.0],
    )


@pytest.mark.detail("normalisation.reward")
def test_reward(implementation):
    """A reward is divided by the deviation of the discounted sum so far (MuJoCo 3).

    Of the rewards 1 and -2 these sums are 1 and 0.99 - 2 = -1.01, their deviation is 1.005: the
    second reward becomes -1.99. By the deviation of the rewards, 1.5, it would be -1.33.
    """
    normalised = implementation.probe(rewards=[1.0, -2.0, 3.0, 0.5, 4.0, -1.0, 2.0])
    implementation.assert_documented(
        normalised,
        # Stable-Baselines3, CleanRL
        return_deviation=[-1.9901, 2.3967, 0.3733, 1.6338, -0.3946, 0.7021],
        # TorchRL: the reward itself is centred and divided by its deviation
        reward_standardised=[-1.0000, 1.1355, -0.0702, 1.2931, -0.9171, 0.4709],
        # TorchRL's trainer: that has the divisor n - 1
        reward_standardised_sample=[-0.7066, 0.9265, -0.0610, 1.1554, -0.8370, 0.4355],
        absent=[-2.0, 3.0, 0.5, 4.0, -1.0, 2.0],  # TorchRL's program
        reward_deviation=[-1.3333, 1.4600, 0.2807, 1.9157, -0.4785, 1.0143],
    )


@pytest.mark.detail("normalisation.reward.reset")
def test_reward_reset(implementation):
    """The discounted sum of rewards begins anew after every end of an episode (MuJoCo 3).

    Step 2 terminates, step 5 is truncated.
    """
    normalised = implementation.probe(
        rewards=[1.0, 2.0, 3.0, 1.0, 2.0, 3.0, 1.0, 2.0, 4.0],
        terminated=[0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        truncated=[0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0],
    )
    implementation.assert_documented(
        normalised,
        # Stable-Baselines3, CleanRL 0.4.8
        dropped_after_every_end=[2.0098, 1.4719, 0.4926, 1.0997, 1.4719, 0.4869, 1.0411, 1.8182],
        # CleanRL from 2.0 on: before the terminal reward is added, and not at truncations
        dropped_before_terminal_reward=[
            2.0098, 3.1896, 0.9254, 1.2493, 1.1927, 0.3313, 0.5602, 0.8823
        ],
        # TorchRL: the reward itself is standardised
        no_return=[1.0, 1.2247, -0.9045, 0.2673, 1.2247, -1.0290, 0.1601, 1.9007],
        absent=[2.0, 3.0, 1.0, 2.0, 3.0, 1.0, 2.0, 4.0],  # TorchRL's program
        never_dropped=[2.0098, 1.4719, 0.4255, 0.7146, 0.8455, 0.2517, 0.4503, 0.7562],
    )  # fmt: skip


@pytest.mark.detail("normalisation.reward.clip")
def test_reward_clip(implementation):
    """Rewards of more than ten deviations are 10 and -10 to the agent (MuJoCo 4)."""
    normalised = implementation.probe(rewards=OUTLIERS)
    implementation.assert_documented(
        normalised,
        ten=[10.0, -10.0],  # Stable-Baselines3, CleanRL
        standardised_none=[15.81, -11.22],  # TorchRL
        absent=[1000.0, -1000.0],  # TorchRL's program
        five=[5.0, -5.0],
        none=[15.88, -15.91],
    )


@pytest.mark.detail("normalisation.reward.first")
def test_reward_first(implementation):
    """The first reward ever, 2, becomes 10: divided by nearly nothing, then clipped (MuJoCo 3)."""
    normalised = implementation.probe(rewards=[2.0, 1.0])
    implementation.assert_documented(
        normalised,
        ten=10.0,  # Stable-Baselines3, CleanRL
        zero=0.0,  # TorchRL: the mean is the reward itself
        absent=2.0,  # TorchRL's program
        unlimited=89.45,
    )


@pytest.mark.detail("normalisation.reward.discount")
def test_reward_discount(implementation):
    """The sum of rewards has a discount of its own, 0.99, or the algorithm's, 0.5 (MuJoCo 3).

    Of the rewards 1 and 2 the sums are 1 and 2.99 or 1 and 2.5; 2 over half their distance.
    """
    normalised = implementation.probe(rewards=[1.0, 2.0, 1.0, 2.0, 0.25, 3.0], discount=0.5)
    implementation.assert_documented(
        normalised,
        own=[2.0098, 0.8115, 1.1279, 0.1311, 1.1699],  # Stable-Baselines3, CleanRL 0.4.8
        algorithm=[2.6663, 1.5238, 2.5889, 0.3522, 3.2456],  # CleanRL from 2.0 on
        no_return=[1.0, -0.7071, 1.0, -1.4907, 1.6301],  # TorchRL
        absent=[2.0, 1.0, 2.0, 0.25, 3.0],  # TorchRL's program
        none=[1.9998, 0.8017, 1.1094, 0.1281, 1.1395],
    )


@pytest.mark.detail("normalisation.episode_return")
def test_episode_return(implementation):
    """An episode with the rewards 1, 2, 3 and 5 is reported with the return 11 (appendix C.1)."""
    reported = implementation.probe(rewards=[1.0, 2.0, 3.0, 5.0])
    implementation.assert_documented(
        reported,
        raw=11.0,  # all
        raw_discounted=10.771795,
        scaled=14.822895,
    )


@pytest.mark.detail("normalisation.default")
def test_default(implementation):
    """A training of PPO gets -1 and 1000 as they are, or normalised and clipped (section 5.1).

    Two observations, the second an outlier, then the rewards of the same steps.
    """
    signal = [1.0, -1.0] * 65 + [1000.0]
    normalised = implementation.probe(observations=signal, rewards=signal)
    implementation.assert_documented(
        normalised,
        none=[-1.0, 1000.0, -1.0, 1000.0],  # Stable-Baselines3
        observations_and_rewards=[-1.118, 10.0, -1.980, 10.0],  # CleanRL
        observations=[-1.118, 10.0, -1.0, 1000.0],  # TorchRL's program
        rewards=[-1.0, 1000.0, -1.980, 10.0],
    )


@pytest.mark.detail("normalisation.evaluation")
def test_evaluation(implementation):
    """An evaluation normalises with the frozen statistics of the training (appendix C.1).

    The training saw numbers of mean 2.417 and deviation 2.28: a 9 is 2.89 deviations above it.
    """
    normalised = implementation.probe(
        training=[2.0, 3.0, -1.0, 4.0, 0.5, 6.0], evaluation=[9.0, 12.0, 8.0]
    )
    implementation.assert_documented(
        normalised,
        training_frozen=[2.887, 4.202, 2.448],  # Stable-Baselines3
        training_moving=[1.806, 1.850, 0.789],  # TorchRL, CleanRL 0.4.8
        fresh_moving=[0.010, 0.999, -0.980],  # TorchRL's program, CleanRL from 2.0 on
        none=[9.0, 12.0, 8.0],
    )


@pytest.mark.detail("normalisation.saved")
def test_saved(implementation):
    """A saved agent knows the statistics of its training, or not (Bag of Tricks, a note)."""
    normalised = implementation.probe(
        training=[2.0, 3.0, -1.0, 4.0, 0.5, 6.0], evaluation=[9.0, 12.0, 8.0]
    )
    implementation.assert_documented(
        normalised,
        saved=[2.887, 4.202, 2.448],  # TorchRL's program
        lost=[9.0, 12.0, 8.0],  # Stable-Baselines3: they are in a file of their own
        fresh=[0.010, 0.999, -0.980],  # CleanRL
    )
