"""Whole scripts in this process: toy scripts of the make of CleanRL's."""

from __future__ import annotations

import os
import random
import sys
from functools import partial
from pathlib import Path

import gymnasium
import numpy as np
import pytest
import torch

from rlregress.errors import UserError
from rlregress.frameworks.cleanrl import oldvec, restored, shim
from rlregress.frameworks.cleanrl.running import StopRun, run_script_to_end
from tests_behavior.counter import StepCounter
from tests_behavior.limit import LimitIs

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

OLD = """
import argparse
import gym
import pybullet_envs
from gym.spaces import Box
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnvWrapper
from distutils.util import strtobool
if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument('--gym-id', type=str, default="none")
    parser.add_argument('--cuda', type=lambda x: bool(strtobool(x)), default=True)
    parser.add_argument('--num-envs', type=int, default=0)
    args = parser.parse_args()
if args.num_envs:
    envs = VecEnvWrapper(DummyVecEnv([lambda: gym.make(args.gym_id)] * args.num_envs))
    first = envs.reset()
    rows = [envs.step([[0.0]] * args.num_envs) for _ in range(10)]
else:
    env = gym.wrappers.TimeLimit(gym.make(args.gym_id), max_episode_steps=3)
    env.seed(1)
    assert isinstance(env.action_space, Box)
    first = env.reset()
    rows = [env.step([0.0]) for _ in range(3)]
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


def test_a_script_runs_as_main_with_its_arguments(script):
    """The globals of the script are there afterwards, with the arguments that were given."""
    run = run_script_to_end(script(NEW), {"steps": 3}, make_env=StepCounter)
    assert run["args"].steps == 3
    assert run["args"].cuda is False
    assert run["__name__"] == "__main__"
    assert run.output == "done\n"
    assert not run.stopped
    assert [step for step, _ in run.list_logged_values("drawn")] == [0, 1, 2]


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
    run = run_script_to_end(script(NEW), make_env=StepCounter)
    assert state() == before
    assert not os.path.exists(run["folder"])
    run_script_to_end(script(OLD), make_env=StepCounter)
    assert state() == before
    with pytest.raises(ZeroDivisionError):
        run_script_to_end(script(NEW + "    1 / 0\n"), make_env=StepCounter)
    assert state() == before


def test_a_run_ends_on_the_step(script):
    """A run that is to stop has done exactly so many steps, and says that it was stopped."""
    run = run_script_to_end(script(NEW), make_env=StepCounter, stop=7)
    assert (run.steps, run.stopped, len(run["rows"])) == (7, True, 6)


def test_no_handler_of_a_script_catches_the_end(script):
    """A script that catches every Exception is stopped all the same."""
    text = NEW.replace("envs.step(\n", "trying(\n").replace("class Args:", "class Args:", 1)
    text = text.replace(
        "@dataclass\n",
        "def trying(actions):\n    try:\n        return envs.step(actions)\n"
        "    except Exception:\n        return None\n\n@dataclass\n",
    )
    assert issubclass(StopRun, BaseException)
    assert run_script_to_end(script(text), make_env=StepCounter, stop=4).steps == 4


def test_only_the_training_is_counted(script):
    """Steps count over all environments, and those of a later evaluation do not."""
    recorded = []
    run = run_script_to_end(
        script(NEW),
        {"num_envs": 2},
        make_env=StepCounter,
        on_step=lambda run: recorded.append((run.steps, run.outcome[0].shape)),
    )
    assert run.steps == 40
    assert recorded == [(2 * n, (2, 3)) for n in range(1, 21)]


@pytest.mark.parametrize("guarded", [True, False])
def test_drawing_in_between_leaves_no_trace(script, guarded):
    """What a hook draws changes nothing that the script draws; unguarded, it does (control)."""

    def draw(run):
        random.random(), np.random.rand(), torch.rand(1)

    alone = run_script_to_end(script(NEW), make_env=StepCounter)
    recorded = run_script_to_end(
        script(NEW), make_env=StepCounter, on_step=draw, guard_random=guarded
    )
    assert (recorded["drawn"] == alone["drawn"]) is guarded


def test_a_hook_is_outside_of_the_script(script, capsys):
    """What a hook prints is not the script's, and its folder is the caller's."""
    folders = set()

    def look(run):
        folders.add(os.getcwd())
        print("from the hook")

    run = run_script_to_end(script(NEW), {"steps": 2}, make_env=StepCounter, on_step=look)
    assert folders == {os.getcwd()} != {run["folder"]}
    assert run.output == "done\n"
    assert capsys.readouterr().out == "from the hook\n" * 2


def test_an_episode_is_reset_within_its_last_step(script):
    """No row is bogus: after 7 comes 0, with the reward of the step, and the final observation."""
    run = run_script_to_end(script(NEW), make_env=StepCounter)
    assert [row[0] for row in run["rows"]] == [n % 8 for n in range(20)]
    assert all(row[2] == 1.0 for row in run["rows"])
    assert run["finals"] == [0, 0]


@pytest.mark.skipif(
    not shim.is_gymnasium_newer_than_scripts(), reason="this Gymnasium is as the scripts expect it"
)
def test_without_the_shim_there_are_bogus_rows(script):
    """Control: on Gymnasium 1.x every ninth step is a reset in disguise, and nothing says so."""
    run = run_script_to_end(script(NEW), make_env=StepCounter, shimmed=False)
    bogus = [row for row in run["rows"] if row[2] == 0.0]
    assert len(bogus) == 2
    assert {row[:2] for row in bogus} == {(8.0, 0.0)}
    assert run["finals"] == []


def test_the_end_of_an_episode_is_reported_by_environment():
    """Statistics of an episode are in a dictionary of its environment, and None elsewhere."""

    def made(limit_is):
        return gymnasium.wrappers.RecordEpisodeStatistics(StepCounter(limit_is=limit_is))

    long = partial(gymnasium.wrappers.TimeLimit, max_episode_steps=5)
    make = [lambda: made(LimitIs.TERMINATION), lambda: long(made(LimitIs.TERMINATION))]
    [vector] = [p[2] for p in shim.list_patches_of_gymnasium() if p[1] == "SyncVectorEnv"] or [
        gymnasium.vector.SyncVectorEnv
    ]
    environments = vector(make)
    environments.reset(seed=0)
    infos = [environments.step(np.zeros((2, 1), np.float32))[4] for _ in range(8)]
    assert [("final_info" in info) for info in infos] == [n in (4, 7) for n in range(8)]
    assert infos[4]["final_observation"][1][2] == 5
    assert infos[7]["final_info"][1] is None
    assert float(infos[7]["final_info"][0]["episode"]["r"]) == 8.0


@pytest.mark.parametrize("text", [NEW, OLD])
def test_an_unknown_argument_is_one_sentence(script, text):
    """An argument that the script does not have is named."""
    with pytest.raises(UserError, match=r"toy_continuous_action\.py .*nope"):
        run_script_to_end(script(text), {"nope": 1}, make_env=StepCounter)


def test_a_script_for_gym_steps_with_four_values(script):
    """Done says truncation and termination alike, and the reset is the script's."""
    run = run_script_to_end(script(OLD), make_env=StepCounter)
    assert [row[2] for row in run["rows"]] == [False, False, True]
    assert run["rows"][-1][3]["TimeLimit.truncated"] is True
    assert run.steps == 3


def test_a_vectorised_script_for_gym_is_reset_by_its_environment(script):
    """The last step answers with the first observation; the final one is in the info."""
    run = run_script_to_end(script(OLD), {"num_envs": 2}, make_env=StepCounter)
    assert [row[0][0, 2] for row in run["rows"]] == [1, 2, 3, 4, 5, 6, 7, 0, 1, 2]
    assert run["rows"][7][3][1]["terminal_observation"][2] == 8
    assert run.steps == 20
    assert isinstance(run["envs"].venv, oldvec.VecEnv)


def test_who_stops_a_script_stops_it():
    """An end from outside is none of the arguments' making; argparse's own is one sentence."""
    path = Path("dqn.py")
    with (
        pytest.raises(SystemExit) as end,
        restored.convert_argument_errors_to_sentence(path, False),
    ):
        raise SystemExit(143)
    assert end.value.code == 143
    with (
        pytest.raises(UserError, match=r"dqn\.py does not take these arguments"),
        restored.convert_argument_errors_to_sentence(path, False),
    ):
        raise SystemExit(2)
