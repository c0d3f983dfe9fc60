"""CleanRL's scripts are trained and run as they are."""

from __future__ import annotations

import os
import random
import sys

import gymnasium
import numpy as np
import pytest
import torch

from rlregress.errors import UserError
from rlregress.frameworks.cleanrl import shim
from rlregress.frameworks.cleanrl.running import run_script
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
    run = run_script(path, arguments, make_env=lambda: gymnasium.make("InvertedPendulum-v5"))
    return run, run["envs"].envs[0]


def statistics(environment):
    """The wrapper that normalises observations."""
    return next(w for w in list_wrappers_of_environment(environment) if hasattr(w, "obs_rms"))


def test_a_policy_sees_what_the_training_saw():
    """It neither moves the statistics nor moves with them."""
    _, environment = ppo_run()
    statistics(environment).update_running_mean = False
    for seed in range(3):
        observation, _ = environment.reset(seed=seed)
        bare = environment.unwrapped._get_obs()
        assert np.abs(observation - bare).max() > 0.01
        assert np.allclose(make_observation_map(environment)(bare[None])[0], observation, atol=1e-6)
    assert make_observation_map(environment)(np.full((1, 4), 1e6)).max() == 10.0
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


def test_a_copy_for_gym_can_be_run():
    """It is not trained."""
    scripts = copy_of("0.4.8")
    with pytest.raises(UserError, match=r"0\.4\.8 cannot be trained: its scripts were written for"):
        train(request("ppo", *SHORT["ppo"]), scripts)
    run = run_script(
        copy_of("0.4.8").parse_script("sac_continuous_action").path,
        {"total_timesteps": 30, "batch_size": 8, "learning_starts": 5},
        make_env=StepCounter,
    )
    assert run.steps == 30
    assert len(run["rb"].buffer) == 30
    # the update asks for more rows than a batch, not for learning_starts
    assert run["a_optimizer"].state


NEW = """
import os, random
from dataclasses import dataclass
import gymnasium as gym
import numpy as np
import torch
import tyro
from torch.utils.tensorboard import SummaryWriter

@dataclass
class Args:
    cuda: bool = True
    env_id: str = "none"
    steps: int = 20
    num_envs: int = 1

if __name__ == "__main__":
    args = tyro.cli(Args)
    open("left_behind", "w").write("x")
    folder = os.getcwd()
    writer = SummaryWriter("runs/x")
    random.seed(1), np.random.seed(1), torch.manual_seed(1)
    envs = gym.vector.SyncVectorEnv([lambda: gym.make(args.env_id)] * args.num_envs)
    obs, _ = envs.reset(seed=1)
    rows, finals, drawn = [], [], []
    for step in range(args.steps):
        next_obs, rewards, terminations, truncations, infos = envs.step(
            np.zeros((args.num_envs, 1), dtype=np.float32)
        )
        if "final_observation" in infos:
            finals += [i for i in range(args.num_envs) if truncations[i]]
        rows.append((obs[0, 2], next_obs[0, 2], rewards[0], truncations[0]))
        drawn.append((random.random(), np.random.rand(), torch.rand(1).item()))
        writer.add_scalar("drawn", torch.tensor(drawn[-1][2], requires_grad=True), step)
        obs = next_obs
    evaluation = gym.vector.SyncVectorEnv([lambda: gym.make(args.env_id)])
    evaluation.reset()
    evaluation.step(np.zeros((1, 1), dtype=np.float32))
    print("done")
"""


@pytest.fixture
def script(tmp_path):
    """Writes a script into a copy of its own."""

    def write(text: str):
        path = tmp_path / "cleanrl" / "toy_continuous_action.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return path

    return write


def test_a_script_runs_as_main_with_its_arguments(script, capsys):
    """The globals of the script are there afterwards, with the arguments that were given."""
    run = run_script(script(NEW), {"steps": 3}, make_env=StepCounter)
    assert run["args"].steps == 3
    assert run["args"].cuda is False
    assert run["__name__"] == "__main__"
    assert len(run["rows"]) == 3
    assert "evaluation" in run
    assert not capsys.readouterr().out
    assert [(tag, step) for tag, _, step in run.scalars] == [("drawn", n) for n in range(3)]


def test_everything_is_as_before(script):
    """Modules, arguments, folder, classes, path and random generators are restored."""

    def state():
        return {
            "main": sys.modules["__main__"],
            "stubs": [sys.modules.get(n) for n in ("tyro", "torch.utils.tensorboard", "gym")],
            "argv": list(sys.argv),
            "path": list(sys.path),
            "folder": os.getcwd(),
            "make": gymnasium.make,
            "vector": gymnasium.vector.SyncVectorEnv,
            "wrapper": gymnasium.wrappers.TransformObservation,
            "old": hasattr(gymnasium.wrappers, "FrameStack"),
            "python": random.getstate(),
            "numpy": np.random.get_state()[1].tolist(),
            "torch": torch.get_rng_state().tolist(),
        }

    before = state()
    run = run_script(script(NEW), make_env=StepCounter)
    assert state() == before
    assert not os.path.exists(run["folder"])
    with pytest.raises(ZeroDivisionError):
        run_script(script(NEW + "    1 / 0\n"), make_env=StepCounter)
    assert state() == before


def test_a_run_ends_on_the_step(script):
    """Only the training is counted; an episode is reset within its last step."""
    run = run_script(script(NEW), make_env=StepCounter, stop=7)
    assert (run.steps, len(run["rows"]), "evaluation" in run) == (7, 6, False)
    recorded = []

    def note(run):
        recorded.append((run.steps, run["obs"].shape))

    run = run_script(script(NEW), {"num_envs": 2}, make_env=StepCounter, on_step=note)
    assert run.steps == 40
    assert recorded == [(2 * n, (2, 3)) for n in range(1, 21)]
    run = run_script(script(NEW), make_env=StepCounter)
    assert [row[0] for row in run["rows"]] == [n % 8 for n in range(20)]
    assert all(row[2] == 1.0 for row in run["rows"])
    assert run["finals"] == [0, 0]


@pytest.mark.parametrize("guarded", [True, False])
def test_drawing_in_between_leaves_no_trace(script, guarded):
    """What a hook draws changes nothing that the script draws; unguarded, it does (control)."""

    def draw(run):
        random.random(), np.random.rand(), torch.rand(1)

    alone = run_script(script(NEW), make_env=StepCounter)
    recorded = run_script(script(NEW), make_env=StepCounter, on_step=draw, guard_random=guarded)
    assert (recorded["drawn"] == alone["drawn"]) is guarded


@pytest.mark.skipif(
    not shim.is_gymnasium_newer_than_scripts(), reason="this Gymnasium is as the scripts expect it"
)
def test_without_the_shim_there_are_bogus_rows(script):
    """Control: on Gymnasium 1.x every ninth step is a reset in disguise, and nothing says so."""
    run = run_script(script(NEW), make_env=StepCounter, shimmed=False)
    bogus = [row for row in run["rows"] if row[2] == 0.0]
    assert len(bogus) == 2
    assert {row[:2] for row in bogus} == {(8.0, 0.0)}
    assert run["finals"] == []


@pytest.mark.parametrize("label", ["HEAD", "0.4.8"])
def test_an_argument_that_a_script_lacks_is_one_sentence(label):
    """Those that it has are named."""
    path = copy_of(label).parse_script("sac_continuous_action").path
    with pytest.raises(UserError, match=r"^sac_\w+\.py has no argument 'none'; it has: .*gamma"):
        run_script(path, {"none": 1}, make_env=StepCounter)
