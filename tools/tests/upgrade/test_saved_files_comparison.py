"""Saved files of both versions, and a user's own: faults are found, rewrites are not."""

from __future__ import annotations

import importlib
import json
import pickle
import zipfile
from dataclasses import replace
from operator import itemgetter
from pathlib import Path

import numpy as np
import pytest
import stable_baselines3
import torch
from gymnasium.envs.classic_control import CartPoleEnv

from rlregress import frameworks
from rlregress.frameworks.sb3 import load
from rlregress.inside import checkpoint, saved_files_worker, saved_items
from rlregress.model import differences as model
from rlregress.model.loaded_files import LoadedFile, LoadError
from rlregress.probing.toys import MixedEndsEnv
from rlregress.trace.recording_processes import make_current_runtime
from rlregress.upgrade.evidence import saved_files_comparison
from rlregress.upgrade.verdict import entries
from tools.tests.nightly import every
from tools.tests.small_files import Hostile, edit_copy
from tools.tests.upgrade.faults_of_files import TABLE, in_a_fork, put_in


def job(framework, kind, folder, **more):
    """Return a worker's job: the training of one kind."""
    return {"framework": framework, "algorithms": [kind.split()[0]], "files": str(folder),
            "write": False, "times": 1, "again": True, "trusted": [], **more}  # fmt: skip


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Return a function that writes files of a kind and loads them again; each training once."""
    folders = {}

    def write_files(framework, kind):
        algorithm = kind.split()[0]
        if (framework, algorithm) not in folders:
            folder = tmp_path_factory.mktemp("files")
            worker_job = job(framework, kind, folder, write=True, times=2)
            folders[framework, algorithm] = folder, saved_files_worker.save_and_load(worker_job)
        folder, own = folders[framework, algorithm]
        return folder, {**own, "kinds": {kind: own["kinds"][kind]}}

    return write_files


def loaded(change, folder, output):
    """Load the files of one kind with a function changed, in this process."""
    adapter = frameworks.get_adapter(change["framework"])

    def keep_kind(training):
        kinds = tuple(kind for kind in training.kinds if kind.name == change["kind"])
        return replace(training, kinds=kinds)

    trainings_of_kind = {
        algorithm: [*map(keep_kind, trainings)]
        for algorithm, trainings in adapter.load.list_trainings_with_files().items()
    }
    module = importlib.import_module(f"{adapter.package}.load")
    module.list_trainings_with_files = lambda **worker_job: trainings_of_kind
    put_in(change)
    worker_job = job(change["framework"], change["kind"], folder)
    output.write_text(json.dumps(saved_files_worker.save_and_load(worker_job)))


@pytest.fixture
def entry(written, tmp_path):
    """The entry of a kind that is loaded with a function changed."""

    def load(change):
        pytest.importorskip(frameworks.get_adapter(change["framework"]).framework.modules[0])
        folder, own = written(change["framework"], change["kind"])
        output = tmp_path / "answers.json"
        in_a_fork(loaded, change, folder, output)
        files = saved_files_comparison.compare_loaded_file_kinds(
            own, json.loads(output.read_text())
        )
        (listed,) = entries.make_saved_file_entries(files)
        return listed

    return load


@pytest.mark.parametrize("change", every(27, TABLE["fault"], itemgetter("name")))
def test_a_fault_is_found(entry, change):
    """The entry differs, and names the first thing that does."""
    listed = entry(change)
    assert listed.state == model.DIFFERS, listed.reason
    assert change["shows"] in listed.reason


@pytest.mark.parametrize("change", every(13, TABLE["same"], itemgetter("name")))
def test_a_rewrite_is_none(entry, change):
    """Code with the same effect has the same entry."""
    listed = entry(change)
    assert listed.state == model.SAME, listed.reason


ERROR = LoadError(
    when="load", error="KeyError: 'x'", at="agent.py:3 load", raised_by_framework=True
)
USED, OURS = replace(ERROR, when="use"), replace(ERROR, raised_by_framework=False)
DIFFERING = {"compared": 9, "differing": 2, "item": "parameters['w']", "writer": "0.5",
             "reader": "1.0", "function": "agent.py:3 load"}  # fmt: skip


@pytest.mark.parametrize(
    ("fields", "state", "part"),
    [
        ({"compared": 9}, model.SAME, "9 items"),
        ({"unstable": ("next update['w']",)}, model.NOT_COMPARED, "repeats itself"),
        ({**DIFFERING}, model.DIFFERS, "parameters['w'], agent.py:3 load: 0.5 -> 1.0 (and 1 more)"),
        ({**DIFFERING, "rounding": True}, model.CLOSE, "0.5 -> 1.0"),
        ({"error": ERROR}, model.DIFFERS, "old files do not load: KeyError: 'x' at agent.py:3"),
        ({"error": USED, **DIFFERING}, model.DIFFERS, "1.0 (and 1 more); the new version loads"),
        (
            {"own_error": ERROR, "error": ERROR},
            model.NO_EFFECT,
            "neither version loads it: KeyError",
        ),
        (
            {"own_error": OURS, "error": OURS},
            model.CANNOT,
            "does not load its own",
        ),
        (
            {"own_error": ERROR, "error": replace(ERROR, error="KeyError: 'y'")},
            model.CANNOT,
            "load",
        ),
        ({"own_error": USED, "error": USED}, model.CANNOT, "and then fails"),
        ({"own_error": ERROR}, model.OLD_FAILED, "does not load its own"),
        ({"own_error": replace(ERROR, when="write")}, model.CANNOT, "does not write it"),
        ({"unsupported": "no policy"}, model.NO_EFFECT, "does not offer it: no policy"),
    ],
)
def test_what_became_of_a_file_is_one_state(fields, state, part):
    """A file that fails to load is never the same; a failure of the old version is its own."""
    (row,) = entries.make_saved_file_entries([LoadedFile(name="sac model", **fields)])
    assert row.state == state
    assert part in row.reason


def test_the_verdict_names_files_that_do_not_load():
    """They make it changed; the headline tells them from those that differ, and from those that
    are sound, of a version that trains in another way."""
    files = [
        LoadedFile(name="sac model", error=ERROR),
        LoadedFile(name="ppo model", **DIFFERING),
        LoadedFile(name="dqn model", **{**DIFFERING, "item": "next update['w']"}),
    ]
    judged = model.judge_entries_of_upgrade([*entries.make_saved_file_entries(files)])
    assert judged.verdict == model.CHANGED
    assert "Old files do not load: sac model. Saved files differ: ppo model." in judged.headline
    assert "Saved files load alike, then training differs: dqn model." in judged.headline


@pytest.mark.nightly
def test_a_fault_in_saving_shows_in_what_is_saved_again(tmp_path):
    """In processes of their own; other kinds of files are the same."""
    adapter = frameworks.get_adapter("sb3")
    file = "stable_baselines3/common/policies.py"
    halved = '"state_dict": {k: v.half() for k, v in self.state_dict().items()}'
    edit = ('"state_dict": self.state_dict()', halved)
    branch = edit_copy(adapter, file, tmp_path / "branch", edit)
    old, new = make_current_runtime("old"), replace(make_current_runtime("new"), paths=[branch])
    folders = tmp_path / "a", tmp_path / "b"
    for folder in folders:
        folder.mkdir()
    files = saved_files_comparison.save_load_and_compare_files(
        (old, new), folders, adapter, ["a2c"]
    )
    states = {row.name: row.state for row in entries.make_saved_file_entries(files)}
    assert {name for name, state in states.items() if state == model.DIFFERS} == {"a2c policy"}
    assert {*states} == {"a2c policy", "a2c model", "a2c parameters"}


def words(value):
    """Return the compared items of a value."""
    return [(path, text) for path, text, _ in saved_items.describe_items("it", value)]


class Falling:
    """A schedule that is an object."""

    def __call__(self, progress):
        """Half of the progress."""
        return 0.5 * progress


@pytest.mark.parametrize(
    ("first", "second", "is_same"),
    [
        (0.5, torch.tensor(0.5), False),
        (0.5, lambda progress: 0.5, False),
        (1, True, False),
        (np.zeros(2, "<f4"), np.zeros(2, ">f4"), False),
        (np.zeros((2, 3)), np.zeros((3, 2)), False),
        (torch.tensor([0.0]), torch.tensor([-0.0]), False),
        (lambda progress: progress, lambda progress: 1.0, False),
        (Falling(), lambda progress: progress / 2, True),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        (float("nan"), float("nan"), True),
    ],
)
def test_values_that_are_others(first, second, is_same):
    """By type, dtype, byte order, shape, bit or order; a schedule is its values."""
    assert (words(first) == words(second)) is is_same


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


def compare_user_files(old, new):
    """Return the one entry of what two versions loaded."""
    files = saved_files_comparison.compare_loaded_file_kinds(old, new)
    (listed,) = entries.make_saved_file_entries(files)
    return listed


@pytest.mark.parametrize("name", ["ppo", "dqn"])
def test_the_file_of_an_agent_tells_its_algorithm(tmp_path, name):
    """The class that wrote it loads it; parameters, settings and actions are compared."""
    (saving,) = frameworks.get_adapter("sb3").load.list_trainings_with_files()[name]
    path = tmp_path / f"{name}.zip"
    saving.train(lambda discrete=False: MixedEndsEnv(discrete=discrete), 1).save(path)
    assert type(load.load_user_agent(str(path))) is getattr(stable_baselines3, name.upper())
    # what neither version loads is not compared: by an error of the framework, and by ours
    loader = tmp_path / "loader.py"
    other = {"ppo": "DQN", "dqn": "PPO"}[name]
    loader.write_text(f"from stable_baselines3 import {other}\n\nload = {other}.load\n")
    (tmp_path / "no.zip").write_bytes(b"no archive")
    for unread in (load_user_file(path, loader), load_user_file(tmp_path / "no.zip")):
        listed = compare_user_files(unread, unread)
        assert listed.state == model.CANNOT, listed.reason
    own = load_user_file(path)
    listed = compare_user_files(own, own)
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
    assert compare_user_files(own, own).state == model.SAME
    reset = CartPoleEnv.reset

    def slippery(self, **options):
        self.tau = 0.04
        return reset(self, **options)

    monkeypatch.setattr(CartPoleEnv, "reset", slippery)
    changed = load_user_file(path, environment="CartPole-v1")
    assert compare_user_files(own, changed).state == model.DIFFERS
    after = dict(row[:2] for row in changed["kinds"]["agent.zip"]["items"][0])
    assert after["returns of episodes"] != items["returns of episodes"]


def test_a_loader_builds_what_the_file_does_not_tell(tmp_path, monkeypatch):
    """A ``state_dict``, with the actions of the policy on saved observations.

    A function of the loader tells how a policy without ``forward`` acts.
    """
    weights, rows = tmp_path / "weights.pt", tmp_path / "rows.npy"
    # a file of the same name in the current folder is not the user's
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    Path("weights.pt").write_text("no archive")
    torch.save(torch.nn.Linear(3, 2).state_dict(), weights)
    np.save(rows, np.ones((4, 3), np.float32))

    def load_with(name, text):
        (tmp_path / name).write_text(text)
        own = load_user_file(weights, tmp_path / name, rows)
        return own, own["kinds"]["weights.pt"]

    silent, kind = load_with("silent.py", SILENT)
    assert compare_user_files(silent, silent).state == model.SAME
    assert not any(path == "deterministic actions" for path, *_ in kind["items"][0])
    for name, text in (("plain.py", LOADER), ("acting.py", LOADER + ACT)):
        acting, kind = load_with(name, text)
        assert compare_user_files(acting, acting).state == model.SAME
        assert "[4, 2]" in dict(row[:2] for row in kind["items"][0])["deterministic actions"]
    other, _ = load_with("other.py", LOADER + ACT.replace("made(", "-made("))
    listed = compare_user_files(acting, other)
    assert listed.state == model.DIFFERS
    assert listed.reason.startswith("deterministic actions")
    torch.save(torch.nn.Linear(3, 2).state_dict(), weights)
    listed = compare_user_files(silent, load_with("silent.py", SILENT)[0])
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
