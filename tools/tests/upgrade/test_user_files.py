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
from tools.tests.nightly import every

LOADER = """
import torch


def load(path):
    made = torch.nn.Linear(3, 2)
    made.load_state_dict(torch.load(path))
    return made
"""

TRAINER_LOADER = """
import torch


def load(path):
    state = torch.load(path)["loss_module"]
    before = "actor_network_params.module.0.module.0."
    made = torch.nn.Sequential(
        torch.nn.Linear(3, 8), torch.nn.Tanh(), torch.nn.Linear(8, 8), torch.nn.Tanh(),
        torch.nn.Linear(8, 2),
    )
    made.load_state_dict({k[len(before):]: v for k, v in state.items() if k.startswith(before)})
    return made
"""


class Hostile:
    """Writes a file when it is loaded."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (self.path, "w")


def load_user_file(path, loader="", observations="", environment=""):
    """Return the worker's results for a user's file."""
    user = {"file": str(path), "loader": str(loader), "observations": str(observations),
            "environment": environment}  # fmt: skip
    job = {"framework": "sb3", "algorithms": ["none"], "files": "", "write": False, "times": 2,
           "again": True, "trusted": [], "user": user}  # fmt: skip
    return saved_files_worker.save_and_load(job)


def entry(old, new):
    """The one entry of what two versions loaded."""
    (listed,) = entries.make_saved_file_entries(
        saved_files_comparison.compare_loaded_kinds(old, new), "sb3"
    )
    return listed


@pytest.fixture(scope="module")
def agents(tmp_path_factory):
    """The folder of an agent's file, which is trained once."""
    folder = tmp_path_factory.mktemp("agents")

    def save(name):
        if not (folder / f"{name}.zip").exists():
            (saving,) = frameworks.get_adapter("sb3").load.list_saved_files()[name]
            saving.train(lambda discrete=False: Ends(discrete=discrete), 1).save(folder / name)
        return folder

    return save


@pytest.mark.parametrize("name", every(2, ["ppo", "a2c", "sac", "td3", "dqn"]))
def test_the_file_of_an_agent_tells_its_algorithm(agents, name):
    """The class that wrote it loads it; parameters, settings and actions are compared."""
    loaded = load.load_user_agent(str(agents(name) / f"{name}.zip"))
    assert type(loaded) is getattr(stable_baselines3, name.upper())
    own = load_user_file(agents(name) / f"{name}.zip")
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


def test_another_file_differs(agents, tmp_path):
    """A setting that is another one is named."""
    path = tmp_path / "ppo.zip"
    with zipfile.ZipFile(agents("ppo") / "ppo.zip") as old, zipfile.ZipFile(path, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            new.writestr(name, content.replace(b'"gamma": 0.97', b'"gamma": 0.98'))
    listed = entry(load_user_file(agents("ppo") / "ppo.zip"), load_user_file(path))
    assert listed.state == model.DIFFERS
    assert "settings['gamma']" in listed.reason


def test_a_loader_builds_what_the_file_does_not_tell(tmp_path):
    """A ``state_dict``, with the actions of the policy on saved observations."""
    weights, loader = tmp_path / "weights.pt", tmp_path / "loader.py"
    rows = tmp_path / "rows.npy"
    torch.save(torch.nn.Linear(3, 2).state_dict(), weights)
    loader.write_text(LOADER)
    np.save(rows, np.ones((4, 3), np.float32))
    own = load_user_file(weights, loader, rows)
    assert entry(own, own).state == model.SAME
    torch.save(torch.nn.Linear(3, 2).state_dict(), weights)
    listed = entry(own, load_user_file(weights, loader, rows))
    assert (listed.state, "parameters['bias']" in listed.reason) == (model.DIFFERS, True)
    # a loader that fails is an entry, and the framework's own files are still compared
    broken = tmp_path / "broken.py"
    broken.write_text("import no_such_module\n")
    loaded = load_user_file(weights, broken)["kinds"]["weights.pt"]
    assert loaded["error"] == "ModuleNotFoundError: No module named 'no_such_module'"
    assert loaded["when"] == "load"


@pytest.mark.nightly
def test_a_loader_reads_the_checkpoint_of_a_trainer_of_torchrl(tmp_path):
    """Its actor alone, with the parameters that the trainer has saved."""
    _, training, _ = frameworks.get_adapter("torchrl").load.list_saved_files()["ppo"]
    (kind,) = training.kinds
    kind.save(training.train(lambda discrete=False: Ends(discrete=discrete), 1), str(tmp_path))
    (path,) = tmp_path.iterdir()
    loader, rows = tmp_path / "loader.py", tmp_path / "rows.npy"
    loader.write_text(TRAINER_LOADER)
    np.save(rows, np.ones((4, 3), np.float32))
    own = load_user_file(path, loader, rows)
    assert entry(own, own).state == model.SAME
    items = dict(row[:2] for row in own["kinds"][path.name]["items"][0])
    assert "[4, 2]" in items["deterministic actions"]
    state = torch.load(path)
    state["loss_module"]["actor_network_params.module.0.module.0.4.bias"] += 1.0
    torch.save(state, path)
    listed = entry(own, load_user_file(path, loader, rows))
    assert (listed.state, "parameters['4.bias']" in listed.reason) == (model.DIFFERS, True)


CLEANRL_LOADER = """
import torch
from torch import nn


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.critic = nn.Sequential(
            nn.Linear(3, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1)
        )
        self.actor_mean = nn.Sequential(
            nn.Linear(3, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 2)
        )
        self.actor_logstd = nn.Parameter(torch.zeros(1, 2))


def load(path):
    agent = Agent()
    agent.load_state_dict(torch.load(path))
    return agent
"""
ACT = """

def act(agent, observations):
    return agent.actor_mean(torch.as_tensor(observations, dtype=torch.float32))
"""


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    """Return the file of a CleanRL script, and observations for it."""
    folder = tmp_path_factory.mktemp("weights")
    saving = frameworks.get_adapter("cleanrl").load.list_saved_files()
    if "ppo" not in saving:
        pytest.skip("this copy of CleanRL trains no PPO; CLEANRL_HOME names a checkout that does")
    (training,) = saving["ppo"]
    (kind,) = training.kinds
    kind.save(training.train(lambda discrete=False: Ends(discrete=discrete), 1), str(folder))
    (path,) = folder.iterdir()
    np.save(folder / "rows.npy", np.ones((4, 3)))
    return path, folder / "rows.npy"


def test_a_loader_tells_how_a_policy_of_cleanrl_acts(weights, tmp_path):
    """It has no ``forward``: without a function for it, its parameters alone are compared."""
    path, rows = weights
    for name, text in (("silent.py", CLEANRL_LOADER), ("acting.py", CLEANRL_LOADER + ACT)):
        (tmp_path / name).write_text(text)
    own = load_user_file(path, tmp_path / "silent.py", rows)
    listed = entry(own, own)
    assert (listed.state, "parameters['actor_logstd']" in str(own)) == (model.SAME, True)
    own = load_user_file(path, tmp_path / "acting.py", rows)
    assert entry(own, own).state == model.SAME
    items = dict(row[:2] for row in own["kinds"][path.name]["items"][0])
    assert "[4, 2]" in items["deterministic actions"]
    (tmp_path / "other.py").write_text(CLEANRL_LOADER + ACT.replace("actor_mean(", "actor_mean(-"))
    listed = entry(own, load_user_file(path, tmp_path / "other.py", rows))
    assert (listed.state, listed.reason.startswith("deterministic actions")) == (
        model.DIFFERS,
        True,
    )


@pytest.mark.nightly
def test_a_loader_acts_in_the_environment_of_its_user(tmp_path):
    """Returns of episodes are compared without a ``predict``, too."""
    path, loader = tmp_path / "weights.pt", tmp_path / "loader.py"
    torch.save(torch.nn.Linear(4, 2).state_dict(), path)
    text = LOADER.replace("Linear(3, 2)", "Linear(4, 2)")
    loader.write_text(f"{text}\n\ndef act(made, rows):\n    return made(rows).argmax(1)\n")
    loader.write_text(loader.read_text().replace("made(rows)", "made(torch.as_tensor(rows))"))
    own = load_user_file(path, loader, environment="CartPole-v1")
    items = dict(row[:2] for row in own["kinds"]["weights.pt"]["items"][0])
    assert "[20]" in items["returns of episodes"]


@pytest.fixture
def run(command):
    """Return a function that runs an upgrade, and returns its exit code and message."""

    def run_command(*arguments):
        code, _, error = command("upgrade", "stable-baselines3==2.8.0", *map(str, arguments))
        return code, error

    return run_command


def test_a_file_is_not_loaded_before_it_is_trusted(tmp_path, monkeypatch, run):
    """One sentence, exit code 2, and nothing of it has run."""
    monkeypatch.delenv(checkpoint.TRUST, raising=False)
    mark, path = tmp_path / "mark", tmp_path / "agent.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("data", pickle.dumps(Hostile(str(mark))))
    code, message = run("--checkpoint", path)
    assert code == 2
    assert "--trust-pickle" in message
    assert message.count("\n") == 1
    assert not mark.exists()
    # as it would have without
    pickle.loads(pickle.dumps(Hostile(str(mark))))
    assert mark.exists()


def test_what_is_not_there_is_named(run):
    """One sentence, exit code 2."""
    for option, value, part in (
        ("--checkpoint", "none.zip", "no such file"), ("--loader", "none.py", "--checkpoint"),
        ("--environment", "Pendulum-v1", "--checkpoint"),
    ):  # fmt: skip
        code, message = run(option, value)
        assert (code, part in message) == (2, True)
