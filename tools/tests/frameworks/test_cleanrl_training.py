"""CleanRL's own scripts, trained and run; skipped where there are none."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest

from rlregress.errors import UserError
from rlregress.frameworks.cleanrl.running import run_script_to_end
from rlregress.frameworks.cleanrl.script_sources import find_source
from rlregress.frameworks.cleanrl.train.training import (
    list_wrappers_of_environment,
    make_arguments_of_hyperparameters,
    make_observation_map,
    make_policy_function,
    prepare_script_and_arguments,
    train,
)
from rlregress.probing.interface import TrainingRequest
from tests_behavior.counter import StepCounter


def copy_of(label: str):
    """CleanRL's scripts, if there are any here."""
    try:
        return find_source(label)
    except UserError as error:
        pytest.skip(str(error))


def request(algorithm: str, hyperparameters, steps: int, **changes) -> TrainingRequest:
    """A short training on a real task."""
    return TrainingRequest(
        algorithm=algorithm,
        make_env=lambda: gymnasium.make("InvertedPendulum-v5"),
        hyperparameters=hyperparameters,
        total_steps=steps,
        seed=3,
        **changes,
    )


ON_POLICY = {"rollout_steps": 64, "minibatch_size": 32, "clip_range": 0.2, "value_clip_range": 0.2}
OFF_POLICY = {"minibatch_size": 8, "replay_size": 200, "learning_starts": 60}
RATES = {"critic_learning_rate": 0.001, "temperature_learning_rate": 0.001}
SHORT = {"ppo": (ON_POLICY, 256), "sac": (OFF_POLICY | RATES, 120), "td3": (OFF_POLICY, 120)}
CRITICS = {"actor", "qf1", "qf2", "qf1_target", "qf2_target"}


@pytest.mark.parametrize(
    ("algorithm", "networks"),
    [("ppo", {"agent"}), ("sac", {*CRITICS, "log_alpha"}), ("td3", {*CRITICS, "target_actor"})],
)
def test_checkpoints_leave_a_training_as_it_is(algorithm, networks):
    """With and without checkpoints that use the policy, all parameters are equal to the bit.

    The policy is deterministic and within the bounds of actions.
    """
    scripts = copy_of("HEAD")
    hyperparameters, steps = SHORT[algorithm]
    at = []

    def use(done, policy):
        at.append((done, policy(np.ones((2, 4))).shape))

    alone = train(request(algorithm, hyperparameters, steps), scripts)
    recorded = train(
        request(algorithm, hyperparameters, steps, checkpoints=(10, 90), on_checkpoint=use), scripts
    )
    assert at == [(10, (2, 1)), (90, (2, 1))]
    assert alone.steps == recorded.steps == steps
    assert {name.partition(".")[0] for name in alone.parameters} == networks
    assert alone.parameters.keys() == recorded.parameters.keys()
    for name, parameter in alone.parameters.items():
        assert parameter.tobytes() == recorded.parameters[name].tobytes(), name
    observations = np.random.default_rng(0).normal(size=(5, 4)) * 3
    actions = alone.policy(observations)
    assert np.array_equal(actions, alone.policy(observations))
    assert np.allclose(actions[2:3], alone.policy(observations[2:3]), atol=1e-6)
    assert np.all(np.abs(actions) <= 3.0)
    assert alone.value(observations).shape == (5,)


def ppo_run():
    """PPO's script after a short training, and its environment."""
    path, arguments = prepare_script_and_arguments(request("ppo", *SHORT["ppo"]), copy_of("HEAD"))
    run = run_script_to_end(path, arguments, make_env=lambda: gymnasium.make("InvertedPendulum-v5"))
    return run, run["envs"].envs[0]


def statistics(environment):
    """The wrapper that normalises observations."""
    return next(w for w in list_wrappers_of_environment(environment) if hasattr(w, "obs_rms"))


def test_a_policy_sees_what_the_training_saw():
    """A bare observation is normalised and clipped as the script's own wrappers do it."""
    _, environment = ppo_run()
    statistics(environment).update_running_mean = False
    for seed in range(3):
        observation, _ = environment.reset(seed=seed)
        bare = environment.unwrapped._get_obs()
        assert np.abs(observation - bare).max() > 0.01
        assert np.allclose(make_observation_map(environment)(bare[None])[0], observation, atol=1e-6)
    assert make_observation_map(environment)(np.full((1, 4), 1e6)).max() == 10.0


def test_a_policy_neither_moves_the_statistics_nor_moves_with_them():
    """An evaluation counts nothing, and a policy keeps the statistics of its moment."""
    run, environment = ppo_run()
    moments, policy = statistics(environment).obs_rms, make_policy_function(run)
    observations = np.ones((3, 4))
    before, count = policy(observations), moments.count
    assert np.array_equal(policy(observations), before)
    assert moments.count == count
    moments.update(np.full((100, 4), 50.0))
    assert np.array_equal(policy(observations), before)
    assert not np.array_equal(make_policy_function(run)(observations), before)


@pytest.mark.parametrize(("requested", "done"), [(128, 128), (129, 192)])
def test_what_is_not_a_whole_rollout_is_done_too(requested, done):
    """PPO's script would drop the rest of the steps; it is asked for whole rollouts."""
    hyperparameters = {**SHORT["ppo"][0], "epochs": 1}
    assert train(request("ppo", hyperparameters, requested), copy_of("HEAD")).steps == done


@pytest.mark.parametrize(
    ("algorithm", "change", "message"),
    [
        ("ppo", {"minibatch_size": 48}, "a minibatch_size has to divide the steps of a rollout"),
        ("ppo", {"value_clip_range": 0.1}, "clips values by its clip_range"),
        ("sac", {"temperature_learning_rate": 0.1}, "one learning rate for critics and temp"),
        ("td3", {"nothing": 1},
         "td3_continuous_action.py cannot be set to these .*: it has no nothing; expected"),
    ],
)  # fmt: skip
def test_what_a_script_cannot_be_given_is_one_sentence(algorithm, change, message):
    """A hyperparameter that the script cannot be given is named, with what was asked of it."""
    with pytest.raises(UserError, match=message):
        make_arguments_of_hyperparameters(
            algorithm, {**SHORT[algorithm][0], **change}, copy_of("HEAD")
        )


def test_a_copy_for_gym_is_not_trained():
    """Scripts for gym 0.17 offer no algorithm to train, and say why if they are asked to."""
    scripts = copy_of("0.4.8")
    with pytest.raises(UserError, match=r"0\.4\.8 cannot be trained: its scripts were written for"):
        train(request("ppo", *SHORT["ppo"]), scripts)


def test_a_copy_for_gym_can_be_run():
    """The whole script of 0.4.8 runs, over Gymnasium."""
    run = run_script_to_end(
        copy_of("0.4.8").parse_script("sac_continuous_action").path,
        {"total_timesteps": 30, "batch_size": 8, "learning_starts": 5},
        make_env=StepCounter,
    )
    assert run.steps == 30
    assert len(run["rb"].buffer) == 30
    # the update asks for more rows than a batch, not for learning_starts
    assert run["a_optimizer"].state
