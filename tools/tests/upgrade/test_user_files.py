"""A user's own file: loaded by both versions, and not before the user trusts it."""

from __future__ import annotations

import pickle
import zipfile

import numpy as np
import pytest
import stable_baselines3
import torch
from gymnasium.envs.classic_control import CartPoleEnv

from rlregress import frameworks
from rlregress.frameworks.sb3 import load
from rlregress.inside import checkpoint, saved_files_worker
from rlregress.model import differences as model
from rlregress.probing.toys import Ends
from rlregress.upgrade.evidence import saved_files_comparison
from rlregress.upgrade.verdict import entries
from tools.tests.small_files import Hostile

LOADER = """
import torch


def load(path):
    made = torch.nn.Linear(3, 2)
    made.load_state_dict(torch.load(path))
    return made
"""
SILENT = f"""{LOADER.replace("torch.nn.Linear", "Silent")}

class Silent(torch.nn.Linear):
    forward = torch.nn.Module.forward
"""
ACT = """

def act(made, rows):
    return made(torch.as_tensor(rows))
"""


def load_user_file(path, loader="", observations="", environment=""):
    """Return the worker's results for a user's file."""
    user = {"file": str(path), "loader": str(loader), "observations": str(observations),
            "environment": environment}  # fmt: skip
    job = {"framework": "sb3", "algorithms": ["none"], "files": "", "write": False, "times": 2,
           "again": True, "trusted": [], "user": user}  # fmt: skip
    return saved_files_worker.save_and_load(job)


def entry(old, new):
    """The one entry of what two versions loaded."""
    files = saved_files_comparison.compare_loaded_file_kinds(old, new)
    (listed,) = entries.make_saved_file_entries(files, "sb3")
    return listed


@pytest.mark.parametrize("name", ["ppo", "dqn"])
def test_the_file_of_an_agent_tells_its_algorithm(tmp_path, name):
    """The class that wrote it loads it; parameters, settings and actions are compared."""
    (saving,) = frameworks.get_adapter("sb3").load.list_kinds_of_saved_files()[name]
    path = tmp_path / f"{name}.zip"
    saving.train(lambda discrete=False: Ends(discrete=discrete), 1).save(path)
    assert type(load.load_user_agent(str(path))) is getattr(stable_baselines3, name.upper())
    own = load_user_file(path)
    listed = entry(own, own)
    assert (listed.name, listed.state) == (f"{name}.zip", model.SAME)
    paths = [path for path, *_ in own["kinds"][f"{name}.zip"]["items"][0]]
    assert {"deterministic actions", "sampled actions", "settings['gamma']"} <= set(paths)


@pytest.mark.nightly
def test_an_agent_plays_in_its_own_environment(tmp_path, monkeypatch):
    """Its episodes are compared, so that an environment that moved is seen where actions agree."""
    path = tmp_path / "agent.zip"
    stable_baselines3.PPO("MlpPolicy", "CartPole-v1", seed=0, device="cpu").save(path)
    own = load_user_file(path, environment="CartPole-v1")
    items = dict(row[:2] for row in own["kinds"]["agent.zip"]["items"][0])
    assert "[20]" in items["returns of episodes"]
    assert entry(own, own).state == model.SAME
    reset = CartPoleEnv.reset

    def slippery(self, **options):
        self.tau = 0.04
        return reset(self, **options)

    monkeypatch.setattr(CartPoleEnv, "reset", slippery)
    changed = load_user_file(path, environment="CartPole-v1")
    assert entry(own, changed).state == model.DIFFERS
    after = dict(row[:2] for row in changed["kinds"]["agent.zip"]["items"][0])
    assert after["returns of episodes"] != items["returns of episodes"]


def test_a_loader_builds_what_the_file_does_not_tell(tmp_path):
    """A ``state_dict``, with the actions of the policy on saved observations.

    A function of the loader tells how a policy without ``forward`` acts.
    """
    weights, rows = tmp_path / "weights.pt", tmp_path / "rows.npy"
    torch.save(torch.nn.Linear(3, 2).state_dict(), weights)
    np.save(rows, np.ones((4, 3), np.float32))

    def load_with(name, text):
        (tmp_path / name).write_text(text)
        own = load_user_file(weights, tmp_path / name, rows)
        return own, own["kinds"]["weights.pt"]

    silent, kind = load_with("silent.py", SILENT)
    assert entry(silent, silent).state == model.SAME
    assert not any(path == "deterministic actions" for path, *_ in kind["items"][0])
    for name, text in (("plain.py", LOADER), ("acting.py", LOADER + ACT)):
        acting, kind = load_with(name, text)
        assert entry(acting, acting).state == model.SAME
        assert "[4, 2]" in dict(row[:2] for row in kind["items"][0])["deterministic actions"]
    other, _ = load_with("other.py", LOADER + ACT.replace("made(", "-made("))
    listed = entry(acting, other)
    assert listed.state == model.DIFFERS
    assert listed.reason.startswith("deterministic actions")
    torch.save(torch.nn.Linear(3, 2).state_dict(), weights)
    listed = entry(silent, load_with("silent.py", SILENT)[0])
    assert (listed.state, "parameters['bias']" in listed.reason) == (model.DIFFERS, True)
    # a loader that fails is an entry, and the framework's own files are still compared
    _, kind = load_with("broken.py", "import no_such_module\n")
    assert (kind["error"], kind["when"]) == (
        "ModuleNotFoundError: No module named 'no_such_module'", "load",
    )  # fmt: skip


@pytest.mark.nightly
def test_a_loader_acts_in_the_environment_of_its_user(tmp_path):
    """Returns of episodes are compared without a ``predict``, too."""
    path, loader = tmp_path / "weights.pt", tmp_path / "loader.py"
    torch.save(torch.nn.Linear(4, 2).state_dict(), path)
    act = ACT.replace("as_tensor(rows))", "as_tensor(rows)).argmax(1)")
    loader.write_text(LOADER.replace("Linear(3, 2)", "Linear(4, 2)") + act)
    own = load_user_file(path, loader, environment="CartPole-v1")
    items = dict(row[:2] for row in own["kinds"]["weights.pt"]["items"][0])
    assert "[20]" in items["returns of episodes"]


def test_a_file_is_not_loaded_before_it_is_trusted(tmp_path, monkeypatch, command):
    """One sentence, exit code 2, and nothing of it has run; nor of what is not there."""
    monkeypatch.delenv(checkpoint.TRUST, raising=False)
    mark, path = tmp_path / "mark", tmp_path / "agent.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("data", pickle.dumps(Hostile(str(mark))))
    for option, value, part in (
        ("--checkpoint", str(path), "--trust-pickle"),
        ("--checkpoint", "none.zip", "no such file"), ("--loader", "none.py", "--checkpoint"),
        ("--environment", "Pendulum-v1", "--checkpoint"),
    ):  # fmt: skip
        code, _, message = command("upgrade", "stable-baselines3==2.8.0", option, value)
        assert (code, part in message, message.count("\n")) == (2, True, 1)
    assert not mark.exists()
    # as it would have without
    pickle.loads(pickle.dumps(Hostile(str(mark))))
    assert mark.exists()
