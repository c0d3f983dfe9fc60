"""The loop of proximal policy optimisation: schedules, minibatches, early stopping, networks.

Inputs, variants and their formulas stand in the catalogue (``rlregress.details.ppo_loop``,
``ppo_schedules``, ``ppo_networks``). A test passes if the framework's real code shows the
documented variant and is far from every other one.
"""

from __future__ import annotations

import pytest

from rlregress.details.implementation import assert_documented


@pytest.mark.detail("ppo.minibatches")
def test_minibatches(implementation):
    """A rollout is divided into minibatches as documented (section 3.2; General 7)."""
    assert_documented(implementation)


@pytest.mark.detail("ppo.minibatches.remainder")
def test_minibatches_remainder(implementation):
    """A rollout that is no multiple of the minibatch is met as documented."""
    assert_documented(implementation)


@pytest.mark.detail("ppo.minibatches.parameter")
def test_minibatches_parameter(implementation):
    """The documented one of size and number of minibatches is a parameter (Table 6)."""
    assert_documented(implementation)


@pytest.mark.detail("ppo.epochs.shuffle")
def test_epochs_shuffle(implementation):
    """Epochs are shuffled as documented (General 7)."""
    assert_documented(implementation)


@pytest.mark.detail("ppo.early_stop.default")
def test_early_stop_default(implementation):
    """Early stopping is on or off by default as documented (Auxiliary 3; Table 6)."""
    assert_documented(implementation)


@pytest.mark.detail("ppo.early_stop")
def test_early_stop(implementation):
    """A threshold for the divergence stops what it is documented to stop (Auxiliary 3)."""
    assert_documented(implementation)


@pytest.mark.detail("ppo.kl_estimator")
def test_kl_estimator(implementation):
    """The divergence is estimated as documented (Auxiliary 3)."""
    assert_documented(implementation)


@pytest.mark.detail("ppo.advantages.recomputed")
def test_advantages_recomputed(implementation):
    """Advantages are computed as often as documented."""
    assert_documented(implementation)


@pytest.mark.detail("ppo.advantage_normalisation.single")
def test_advantage_normalisation_single(implementation):
    """A minibatch of one sample is normalised as documented (equation 3)."""
    assert_documented(implementation)


@pytest.mark.detail("ppo.advantage.granularity")
def test_advantage_granularity(implementation):
    """Advantages and ratios are of the documented samples (section 5.1)."""
    assert_documented(implementation)


@pytest.mark.detail("ppo.iterations")
def test_iterations(implementation):
    """Steps that are no multiple of the rollout are met as documented (appendix C.2)."""
    assert_documented(implementation)


@pytest.mark.detail("ppo.vectorisation")
def test_vectorisation(implementation):
    """Steps of several environments are counted as documented (appendix C.2)."""
    assert_documented(implementation)


@pytest.mark.detail("ppo.parallel_gradient")
def test_parallel_gradient(implementation):
    """The gradient is computed by as many processes as documented (Auxiliary 2)."""
    assert_documented(implementation)


@pytest.mark.detail("ppo.segments")
def test_segments(implementation):
    """Rollouts go on across episodes as documented (General 10)."""
    assert_documented(implementation)


@pytest.mark.detail("ppo.learning_rate.schedule")
def test_learning_rate_schedule(implementation):
    """The learning rate falls or stays by default as documented (General 6)."""
    assert_documented(implementation)


@pytest.mark.detail("ppo.learning_rate.schedule.asked")
def test_learning_rate_schedule_asked(implementation):
    """A linear schedule gives the documented learning rates (General 6)."""
    assert_documented(implementation)


@pytest.mark.detail("ppo.learning_rate.negative")
def test_learning_rate_negative(implementation):
    """A linear schedule gets as low as documented, and no lower."""
    assert_documented(implementation)


@pytest.mark.detail("ppo.learning_rate.adaptive")
def test_learning_rate_adaptive(implementation):
    """The learning rate follows the divergence as documented (Bag of tricks)."""
    assert_documented(implementation)


@pytest.mark.detail("ppo.clip_range.schedule")
def test_clip_range_schedule(implementation):
    """The clip range falls or stays by default as documented (Auxiliary 1)."""
    assert_documented(implementation)


@pytest.mark.detail("ppo.clip_range.schedule.asked")
def test_clip_range_schedule_asked(implementation):
    """A schedule of the clip range does what is documented (Auxiliary 1)."""
    assert_documented(implementation)


@pytest.mark.detail("ppo.entropy.schedule")
def test_entropy_schedule(implementation):
    """The entropy coefficient can be scheduled as documented (Bag of tricks)."""
    assert_documented(implementation)


@pytest.mark.detail("ppo.adam.epsilon.custom")
def test_adam_epsilon_custom(implementation):
    """Adam's epsilon beside other options is the documented one (General 11)."""
    assert_documented(implementation)


@pytest.mark.detail("ppo.networks")
def test_networks(implementation):
    """Policy and value network have the documented layers (MuJoCo 6 and 7)."""
    assert_documented(implementation)


@pytest.mark.detail("ppo.log_std")
def test_log_std(implementation):
    """The policy's standard deviation is the documented one (MuJoCo 5)."""
    assert_documented(implementation)


@pytest.mark.detail("ppo.action.distribution")
def test_action_distribution(implementation):
    """The deterministic policy bounds its mean as documented (appendix C.3)."""
    assert_documented(implementation)


@pytest.mark.detail("ppo.value_clip.range")
def test_value_clip_range(implementation):
    """Value clipping has the documented range (section 5.1)."""
    assert_documented(implementation)


@pytest.mark.detail("ppo.value_clip.gradient")
def test_value_clip_gradient(implementation):
    """A value outside the clip range gets the documented gradient (Box 3)."""
    assert_documented(implementation)


@pytest.mark.detail("ppo.loss.sign")
def test_loss_sign(implementation):
    """The parts of the total loss have the documented signs (General 5)."""
    assert_documented(implementation)
