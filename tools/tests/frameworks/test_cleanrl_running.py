"""Whole scripts in this process: toy scripts of the make of CleanRL's."""

from __future__ import annotations

import os
import random
import sys
from pathlib import Path

import gymnasium
import numpy as np
import pytest
import torch

from rlregress.errors import UserError
from rlregress.frameworks.cleanrl import restored, shim
from rlregress.frameworks.cleanrl.running import run_script_to_end
from tests_behavior.counter import StepCounter

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
    with pytest.raises(ZeroDivisionError):
        run_script_to_end(script(NEW + "    1 / 0\n"), make_env=StepCounter)
    assert state() == before


def test_a_run_ends_on_the_step(script):
    """A run that is to stop has done exactly so many steps, and says that it was stopped."""
    run = run_script_to_end(script(NEW), make_env=StepCounter, stop=7)
    assert (run.steps, run.stopped, len(run["rows"])) == (7, True, 6)


def test_only_the_training_is_counted(script):
    """Steps count over all environments, and those of a later evaluation do not."""
    recorded = []

    def note(run):
        recorded.append((run.steps, run.outcome[0].shape))

    run = run_script_to_end(script(NEW), {"num_envs": 2}, make_env=StepCounter, on_step=note)
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


def test_who_stops_a_script_stops_it():
    """An end from outside is none of the arguments' making; argparse's own is one sentence."""
    convert, path = restored.convert_argument_errors_to_sentence, Path("dqn.py")
    with pytest.raises(SystemExit) as end, convert(path, False):
        raise SystemExit(143)
    assert end.value.code == 143
    with pytest.raises(UserError, match=r"dqn\.py does not take these"), convert(path, False):
        raise SystemExit(2)
